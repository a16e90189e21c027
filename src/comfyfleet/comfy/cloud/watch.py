"""Following one job by asking where it stands: the cloud tells no steps and no previews this way."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, replace

from comfyfleet.comfy.cloud.client import CloudClient
from comfyfleet.comfy.cloud.clock import Clock
from comfyfleet.comfy.cloud.errors import CloudBusy
from comfyfleet.comfy.cloud.jobs import JobStatus, read_error, read_outputs, read_position, read_status
from comfyfleet.comfy.cloud.status import JobState, failed_by
from comfyfleet.comfy.model import (
    Cancelled,
    Checked,
    Completed,
    Failed,
    FailureClass,
    Outcome,
    Progress,
    Prompt,
    Queued,
    Returned,
    Update,
)
from comfyfleet.comfy.outputs import list_outputs
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import FleetError, Unavailable

LOOK_S_MIN = 5.0


@dataclass(frozen=True, slots=True)
class Polling:
    first_s: float = 2.0
    ceiling_s: float = 15.0
    unknown_s: float = 20.0  # how long a job may be unknown before it is lost: a new one is not listed at once
    outputs_s: float = 30.0  # how long a completed job may take to show what it made

    def interval_s(self, look: int, *, chance: float) -> float:
        return backoff_s(look, chance=chance, base_s=self.first_s, ceiling_s=self.ceiling_s)


@dataclass(slots=True)
class JobWatch:
    """One job, followed to its end."""

    client: CloudClient
    clock: Clock
    polling: Polling
    job_id: str
    prompt: Prompt
    ends_at: float
    we_cancelled: Callable[[], bool]
    chance: Callable[[], float] = random.random
    _state: JobState | None = None
    _look: int = 0
    _unknown_since: float | None = None

    async def updates(self) -> AsyncIterator[Update | Outcome]:
        """Ends in exactly one outcome, or in none when the deadline came first."""
        while True:
            wait_s = None
            try:
                status = await self._status()
                if (outcome := await self._outcome(status)) is not None:
                    yield outcome
                    return
                yield Checked("continue_monitoring", "unknown yet" if status is None else status.state.value)
                if status is not None and status.state is not self._state:
                    self._state, self._look = status.state, 0
                    yield await self._update()
            except CloudBusy as busy:
                wait_s = busy.retry_after_s
            except (Unavailable, TimeoutError):
                pass  # the job goes on without us: only the deadline ends our asking
            except FleetError as refusal:
                yield Failed(FailureClass.SERVER_FAULT, refusal.message)
                return
            left_s = self.ends_at - self.clock.monotonic()
            if left_s <= 0:
                return
            self._look += 1
            interval_s = self.polling.interval_s(self._look, chance=self.chance())
            await self.clock.sleep(min(left_s, interval_s if wait_s is None else wait_s + self.chance()))

    async def _status(self) -> JobStatus | None:
        # The deadline stands above a request that hangs; the last look still gets the time that a look needs.
        async with asyncio.timeout(max(LOOK_S_MIN, self.ends_at - self.clock.monotonic())):
            return await read_status(self.client, self.job_id)

    async def _update(self) -> Update:
        if self._state is JobState.WAITING:
            return Queued(await read_position(self.client, self.job_id))
        return Progress(fraction=0.0, nodes_total=len(self.prompt.graph))

    async def _outcome(self, status: JobStatus | None) -> Outcome | None:
        if status is None:
            return self._unknown()
        self._unknown_since = None
        match status.state:
            case JobState.WAITING | JobState.RUNNING:
                return None
            case JobState.COMPLETED:
                return await self._completed()
            case JobState.FAILED:
                error = await read_error(self.client, self.job_id, known=status.error)
                return replace(failed_by(error), response={"error": asdict(error)})
            case JobState.LOST:
                return Returned("Comfy Cloud lost the job.", not_found=True)
            case JobState.CANCELLED:
                return Cancelled() if self.we_cancelled() else Returned("Somebody else cancelled it on Comfy Cloud.")

    def _unknown(self) -> Outcome | None:
        now = self.clock.monotonic()
        self._unknown_since = now if self._unknown_since is None else self._unknown_since
        if now - self._unknown_since < self.polling.unknown_s:
            return None
        return Returned("Comfy Cloud does not know the job any more.", not_found=True)

    async def _completed(self) -> Outcome:
        """The word may come before what was made is listed: waited for within bounds of its own."""
        until, look = self.clock.monotonic() + self.polling.outputs_s, 0
        while True:
            try:
                told = await read_outputs(self.client, self.job_id)
                if found := list_outputs(told, first=self.prompt.output_node):
                    return Completed(found, response={"outputs": dict(told)})
                problem = "it lists no output"
            except Unavailable as error:
                problem = error.message
            look += 1
            wait_s = self.polling.interval_s(look, chance=self.chance())
            if self.clock.monotonic() + wait_s > until:
                return Failed(FailureClass.INFRA, f"Comfy Cloud says that the job is completed, but: {problem}")
            await self.clock.sleep(wait_s)
