"""The jobs of a pool on their way: accepted, started, seen through, cancelled, given back."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import structlog

from comfyfleet.comfy.errors import OutputGone
from comfyfleet.comfy.model import Completed, Failed, FailureClass, FetchedFile, Preview, Progress, Submitted
from comfyfleet.comfy.node_times import NodeTimes
from comfyfleet.kernel.errors import FleetError
from comfyfleet.pool.attempt import CANCEL_S, Attempt, Heard
from comfyfleet.pool.blocks import Blocks
from comfyfleet.pool.choose import Waiting, pick_move, waits_for
from comfyfleet.pool.errors import PoolClosed
from comfyfleet.pool.events import JobCancelled, JobPreview, JobProgress, JobQueued, JobStarted, JobWaiting
from comfyfleet.pool.judge import Ending
from comfyfleet.pool.lifecycle import JobMove, JobState
from comfyfleet.pool.model import Job, QueuedJob
from comfyfleet.pool.outputs import fetch_outputs
from comfyfleet.pool.presence import Presence
from comfyfleet.pool.queue import QueueAdapter
from comfyfleet.pool.refusals import outcome_of
from comfyfleet.pool.roster import Member, Roster
from comfyfleet.pool.route import Assignment, Router
from comfyfleet.pool.run import Run
from comfyfleet.pool.settle import Settler
from comfyfleet.pool.subscribe import Feed

log = structlog.get_logger()

MOVE_AFTER_S = 1.0  # a prompt that waits no longer than this at its server will run there sooner than elsewhere


class Conductor:
    def __init__(
        self,
        *,
        queue: QueueAdapter,
        roster: Roster,
        blocks: Blocks,
        presence: Presence,
        feed: Feed,
        outputs: Path | None,
        now: Callable[[], float],
        chance: Callable[[], float],
        freed: Callable[[], None],
    ) -> None:
        self._queue = queue
        self._roster = roster
        self._feed = feed
        self._outputs = outputs
        self._now = now
        self._freed = freed
        self._blocks = blocks
        self._router = Router(queue, roster, blocks)
        self._node_times = NodeTimes()
        self._settler = Settler(
            queue=queue,
            roster=roster,
            blocks=blocks,
            presence=presence,
            feed=feed,
            now=now,
            chance=chance,
            ended=self._forget,
            node_times=self._node_times,
        )
        self._runs: dict[str, Run] = {}
        self._looked_at: tuple[object, ...] = ()  # servers and blocks, when each waiting job was last looked at
        self._unlooked: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def knows(self, job_id: str) -> bool:
        return job_id in self._runs

    def jobs(self) -> tuple[Job, ...]:
        return tuple(run.snapshot() for run in self._runs.values())

    async def accept(self, job: QueuedJob) -> Run:
        run = self._track(job)
        self._feed.tell(JobQueued(run.snapshot(), self._now()))
        try:
            await self._queue.put(job)
        except BaseException as error:
            run.move(JobMove.CANCEL)
            self._forget(run)
            self._feed.tell(JobCancelled(run.snapshot(), self._now(), f"not queued: {error}"))
            raise
        return run

    async def start_next(self) -> bool:
        """False: no job can be started now."""
        assignment = await self._router.next(now=self._now())
        if assignment is None:
            return False
        # A queue that others fill, too, may hold jobs that this pool has never seen.
        run = self._runs.get(assignment.job.id) or self._track(assignment.job)
        if run.cancel_reason is not None:
            await self._queue.discard(run.job.id, run.cancel_reason)
            self._settler.end_cancelled(run)
        else:
            self._start(run, assignment)
        return True

    def level(self) -> float | None:
        """Takes back a prompt that waits behind a long one while another server has nothing to do.

        Called when no waiting job can be started. Gives the seconds until it is worth asking again.
        """
        found = [
            Waiting(run.job, member.name, attempt.waits_since)
            for run, member, attempt in self._occupied()
            if attempt.waits_since is not None and not run.moved and len(member.attempts) > 1
        ]
        move = pick_move(found, self._roster.candidates(), skips=self._router.skips, now=self._now())
        if move is None:
            return None
        wait_s = move.since + MOVE_AFTER_S - asyncio.get_running_loop().time()
        if wait_s > 0:
            return wait_s
        run = self._runs[move.job.id]
        if run.attempt is not None:
            run.moved = True
            run.attempt.stop("give back")
        return None

    async def look_at_those_that_wait(self) -> None:
        """Called when no waiting job can be started: ends those whose graph every server that is left has refused,
        and tells what the others wait for. All of them when a server or a block has changed, else the new ones."""
        standing = (*((each.name, each.state) for each in self._roster.candidates()), self._blocks.changes)
        ids = self._unlooked if standing == self._looked_at else set(self._runs)
        self._looked_at, self._unlooked = standing, set()
        for run in [self._runs[each] for each in ids if each in self._runs]:
            if run.state is JobState.QUEUED and not await self._has_failed_everywhere(run):
                self._tell_what_it_waits_for(run)

    async def _has_failed_everywhere(self, run: Run) -> bool:
        if run.refused_by is None or not self._roster.hosts(run.job) <= run.job.refused_by:
            return False
        if not await self._queue.remove(run.job.id):
            return False
        self._settler.fail_refused(run)
        return True

    def _tell_what_it_waits_for(self, run: Run) -> None:
        found = waits_for(run.job, self._roster.candidates(), skips=self._router.skips)
        if found == run.waits_for:
            return
        run.change(waits_for=found)
        if found is not None:
            self._feed.tell(JobWaiting(run.snapshot(), self._now(), found))

    async def cancel(self, job_id: str, *, reason: str) -> bool:
        run = self._runs.get(job_id)
        if run is None:
            return False
        run.cancel_reason = reason
        if await self._queue.remove(job_id):
            self._settler.end_cancelled(run)
        elif run.attempt is not None:
            run.attempt.stop("cancel")
        await run.ended.wait()
        return run.state is JobState.CANCELLED

    async def drained(self) -> None:
        await self._idle.wait()

    async def clear_out(self, member: Member, *, grace_s: float) -> None:
        """Comes back when the server has nothing of ours any more."""
        try:
            async with asyncio.timeout(grace_s):
                await member.quiet.wait()
        except TimeoutError:
            for attempt in tuple(member.attempts):
                attempt.stop("give back")
            await member.quiet.wait()

    async def close(self, *, grace_s: float) -> tuple[QueuedJob, ...]:
        await asyncio.gather(*(self.clear_out(member, grace_s=grace_s) for member in self._roster))
        if self._tasks:  # files that are still on their way
            await asyncio.wait(self._tasks, timeout=max(grace_s, CANCEL_S))
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        left = await self._queue.close()
        for job in left:
            if (run := self._runs.get(job.id)) is not None:
                run.cancel_reason = "the pool was closed"
                self._settler.end_cancelled(run)
        for run in tuple(self._runs.values()):
            run.end(PoolClosed())
            self._forget(run)
        return left

    def _start(self, run: Run, assignment: Assignment) -> None:
        member = self._roster[assignment.server]
        job = replace(assignment.job, attempts=assignment.job.attempts + 1)
        attempt = Attempt(
            member.connector, member.uploads, job, tell=partial(self._heard, run), node_times=self._node_times
        )
        run.change(
            job=job,
            server=member.name,
            attempt=attempt,
            prompt_id=None,
            assigned_at=self._now(),
            started_at=None,
            waits_for=None,
        )
        run.move(JobMove.START)
        self._roster.occupy(member, attempt)
        self._spawn(self._see_through(run, member, attempt))

    async def _see_through(self, run: Run, member: Member, attempt: Attempt) -> None:
        files: tuple[FetchedFile, ...] = ()
        try:
            ending = await attempt.start()
            if isinstance(ending.outcome, Completed):
                run.completed_at = self._now()
                # While files are on their way the server runs the next job, but not any number of next jobs.
                async with member.collecting:
                    self._vacate(member, attempt)
                    ending, files = await self._collect(run, member, ending, ending.outcome)
        except asyncio.CancelledError:
            await self._queue.retry(replace(run.job, attempts=run.job.attempts - 1))
            raise
        except Exception as error:
            # A fault of ours or of a connector's: this attempt is over, and the job must come to its end.
            log.exception("pool.attempt_broke", job=run.job.id, server=member.name)
            ending = Ending(Failed(FailureClass.INFRA, f"{type(error).__name__} in the pool; see its log"))
        finally:
            self._vacate(member, attempt)
        run.attempt = None
        submitted = attempt.submitted
        node_errors = submitted.node_errors if submitted else ()
        await self._settler.settle(run, member, ending, files=files, node_errors=node_errors)
        self._unlooked.add(run.job.id)
        self._freed()  # a job that waits again is looked at
        if isinstance(ending.outcome, Failed) and ending.outcome.failure is FailureClass.OUT_OF_MEMORY:
            await _free(member)

    async def _collect(
        self, run: Run, member: Member, ending: Ending, done: Completed
    ) -> tuple[Ending, tuple[FetchedFile, ...]]:
        folder = run.job.save_to or (self._outputs / run.job.id if self._outputs else None)
        if folder is None:
            return ending, ()
        try:
            return ending, await fetch_outputs(member.connector, done.outputs, folder)
        except OutputGone as error:
            await _free(member)  # it answered from its cache; without that it makes the file anew
            return Ending(outcome_of(error), stop=ending.stop), ()
        except FleetError as error:
            return Ending(outcome_of(error), stop=ending.stop), ()
        except OSError as error:
            return Ending(Failed(FailureClass.INFRA, f"cannot write to {folder}: {error.strerror}")), ()

    def _heard(self, run: Run, heard: Heard) -> None:
        at = self._now()
        match heard:
            case Submitted(prompt_id=prompt_id):
                run.change(prompt_id=prompt_id, started_at=at)
                self._feed.tell(JobStarted(run.snapshot(), at))
            case Progress():
                self._feed.tell(JobProgress(run.snapshot(), at, heard))
            case Preview():
                self._feed.tell(JobPreview(run.snapshot(), at, heard))
            case _:
                pass

    def _occupied(self) -> Iterator[tuple[Run, Member, Attempt]]:
        for member in self._roster:
            for attempt in member.attempts:
                if (run := self._runs.get(attempt.job.id)) is not None:
                    yield run, member, attempt

    def _vacate(self, member: Member, attempt: Attempt) -> None:
        self._roster.vacate(member, attempt)
        self._freed()

    def _track(self, job: QueuedJob) -> Run:
        run = self._runs[job.id] = Run(job)
        self._unlooked.add(job.id)
        self._idle.clear()
        return run

    def _forget(self, run: Run) -> None:
        self._runs.pop(run.job.id, None)
        if not self._runs:
            self._idle.set()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _free(member: Member) -> None:
    with suppress(FleetError):
        await member.connector.free()
