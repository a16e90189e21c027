"""One job on its way through the pool, and the handle its owner holds."""

import asyncio
from collections.abc import Generator
from typing import Any, Protocol

from comfyfleet.comfy.model import Failed
from comfyfleet.kernel.errors import FleetError
from comfyfleet.pool.attempt import Attempt
from comfyfleet.pool.errors import PoolClosed
from comfyfleet.pool.lifecycle import POOL_JOB, JobMove
from comfyfleet.pool.model import Job, JobResult, QueuedJob
from comfyfleet.pool.subscribe import Subscription


class Run:
    """The pool's own record. Its state moves by the table only, so a job ends once."""

    def __init__(self, job: QueuedJob) -> None:
        self.job = job
        self.state = POOL_JOB.initial
        self.server: str | None = None
        self.prompt_id: str | None = None
        self.assigned_at: float | None = None
        self.started_at: float | None = None
        self.completed_at: float | None = None  # by the server; its files may still be on their way
        self.ended_at: float | None = None
        self.last_failure: Failed | None = None
        self.refused_by: str | None = None  # the last server that refused its graph, until another takes it
        self.waits_for: str | None = None
        self.attempt: Attempt | None = None
        self.moved = False  # taken back once from behind a long job; not a second time
        self.cancel_reason: str | None = None  # set: somebody wants it cancelled
        self.ended = asyncio.Event()
        self._result: JobResult | FleetError | None = None
        self._seen: Job | None = None

    def move(self, move: JobMove) -> None:
        self.state = POOL_JOB.next(self.state, move)
        self._seen = None

    def change(self, **facts: Any) -> None:
        for name, value in facts.items():
            setattr(self, name, value)
        self._seen = None

    def end(self, result: JobResult | FleetError) -> None:
        if self._result is None:
            self._result = result
            self.attempt = None
            self.ended.set()

    async def result(self) -> JobResult:
        await self.ended.wait()
        if isinstance(self._result, JobResult):
            return self._result
        raise self._result or PoolClosed()

    def snapshot(self) -> Job:
        """The same value until something changes: a hundred progress events share one."""
        if self._seen is None:
            job = self.job
            self._seen = Job(
                id=job.id,
                state=self.state,
                structure_hash=job.structure_hash,
                content_hash=job.content_hash,
                priority=job.priority,
                metadata=job.metadata,
                attempts=job.attempts,
                attempts_max=job.attempts_max,
                queued_at=job.queued_at,
                server=self.server,
                prompt_id=self.prompt_id,
                started_at=self.started_at,
                ended_at=self.ended_at,
                last_failure=self.last_failure,
                waits_for=self.waits_for,
            )
        return self._seen


class Cancels(Protocol):
    async def cancel(self, job_id: str, *, reason: str = ...) -> bool: ...

    def events(self, *names: str, job_id: str | None = ...) -> Subscription: ...


class JobHandle:
    """`await handle` gives the result, or raises RunFailed, RunCancelled or PoolClosed."""

    def __init__(self, run: Run, pool: Cancels) -> None:
        self._run = run
        self._pool = pool

    @property
    def id(self) -> str:
        return self._run.job.id

    @property
    def job(self) -> Job:
        return self._run.snapshot()

    @property
    def done(self) -> bool:
        return self._run.ended.is_set()

    async def result(self) -> JobResult:
        return await self._run.result()

    def __await__(self) -> Generator[Any, None, JobResult]:
        return self.result().__await__()

    async def cancel(self, *, reason: str = "asked for") -> bool:
        return await self._pool.cancel(self.id, reason=reason)

    def events(self) -> Subscription:
        """From now to the job's last event."""
        return self._pool.events(job_id=self.id)

    def __repr__(self) -> str:
        return f"<JobHandle {self.id} {self._run.state.value}>"
