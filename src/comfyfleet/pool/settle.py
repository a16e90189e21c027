"""After an attempt: what is learnt about the server, and what becomes of the job. One ending each, told once."""

from collections.abc import Awaitable, Callable

import structlog

from comfyfleet.comfy.model import Completed, Failed, FailureClass, FetchedFile, NodeError, Returned
from comfyfleet.comfy.node_times import NodeTimes
from comfyfleet.kernel.errors import FleetError
from comfyfleet.pool.blocks import Blocks
from comfyfleet.pool.errors import RunCancelled, RunFailed
from comfyfleet.pool.events import JobCancelled, JobCompleted, JobFailed, JobRetrying
from comfyfleet.pool.judge import Cancel, Complete, Ending, GiveUp, Retry, judge
from comfyfleet.pool.lifecycle import JobMove
from comfyfleet.pool.model import JobResult
from comfyfleet.pool.presence import Presence
from comfyfleet.pool.profile import profile_of
from comfyfleet.pool.queue import QueueAdapter
from comfyfleet.pool.roster import Member, Roster
from comfyfleet.pool.run import Run
from comfyfleet.pool.subscribe import Feed

log = structlog.get_logger()


class Settler:
    def __init__(
        self,
        *,
        queue: QueueAdapter,
        roster: Roster,
        blocks: Blocks,
        presence: Presence,
        feed: Feed,
        now: Callable[[], float],
        chance: Callable[[], float],
        ended: Callable[[Run], None],
        node_times: NodeTimes,
    ) -> None:
        self._node_times = node_times
        self._queue = queue
        self._roster = roster
        self._blocks = blocks
        self._presence = presence
        self._feed = feed
        self._now = now
        self._chance = chance
        self._ended = ended

    async def settle(
        self,
        run: Run,
        member: Member,
        ending: Ending,
        *,
        files: tuple[FetchedFile, ...],
        node_errors: tuple[NodeError, ...],
    ) -> None:
        others = self._roster.hosts(run.job)
        verdict = judge(run.job, member.name, ending, others=others, chance=self._chance())
        if run.cancel_reason is not None and isinstance(verdict, Retry):
            verdict = Cancel()
        try:
            self._learn(run, member, ending)
        except Exception:
            # A strategy of somebody else's: what it makes of an attempt must not keep the job from its end.
            log.exception("pool.strategy_failed", job=run.job.id, server=member.name)
        match verdict:
            case Complete(done=done):
                await self._complete(run, member, done, files, node_errors)
            case Retry():
                run.refused_by = member.name if ending.lacks else None
                await self._retry(run, member, verdict)
            case GiveUp(failure=failure):
                await self._discard(run, failure.message)
                self._end_failed(run, member.name, failure)
            case Cancel():
                await self._discard(run, "cancelled")
                self.end_cancelled(run)

    def end_cancelled(self, run: Run) -> None:
        reason = run.cancel_reason or "cancelled on the server"
        run.change(ended_at=self._now())
        run.move(JobMove.CANCEL)
        self._end(run, RunCancelled(run.job.id, reason=reason))
        self._feed.tell(JobCancelled(run.snapshot(), self._now(), reason))

    def _learn(self, run: Run, member: Member, ending: Ending) -> None:
        if member.name not in self._roster:
            return
        structure = run.job.block_key
        match ending.outcome:
            case Completed():
                member.trouble_count = 0
                self._blocks.record_success(member.name, structure)
            case _ if ending.stop is not None or ending.lacks:
                pass
            case Returned(reason=reason):
                self._presence.rest(member, reason)
            case Failed(failure=FailureClass.INFRA, message=message):
                member.uploads.forget()  # an input that vanished fails like this, too
                self._presence.rest(member, message)
            case Failed(failure=failure):
                self._blocks.record_failure(member.name, structure, failure)

    async def _complete(
        self,
        run: Run,
        member: Member,
        done: Completed,
        files: tuple[FetchedFile, ...],
        node_errors: tuple[NodeError, ...],
    ) -> None:
        at = self._now()
        assigned_at = run.assigned_at or at
        self._node_times.learn(run.job.structure_hash, run.job.graph, done)
        profile = profile_of(
            run.job.graph,
            done,
            waited_s=assigned_at - run.job.queued_at,
            took_s=(run.completed_at or at) - (run.started_at or assigned_at),
        )
        run.change(ended_at=at, last_failure=None)
        run.move(JobMove.COMPLETE)
        result = JobResult(run.snapshot(), member.name, done.outputs, files, profile, node_errors)
        await self._safely(run, self._queue.commit(run.job.id))
        self._end(run, result)
        self._feed.tell(JobCompleted(run.snapshot(), at, result))

    async def _retry(self, run: Run, member: Member, verdict: Retry) -> None:
        run.change(job=verdict.job, last_failure=verdict.failure, server=None, prompt_id=None)
        run.move(JobMove.RETRY)
        # Told before it waits again: a queue may hand it out at once, and then it is started already.
        told = JobRetrying(run.snapshot(), self._now(), verdict.failure, member.name, verdict.delay_s)
        self._feed.tell(told)
        await self._safely(run, self._queue.retry(verdict.job, delay_s=verdict.delay_s))

    def fail_refused(self, run: Run) -> None:
        """Taken out of the queue: the servers that are left have all refused its graph."""
        failure = run.last_failure or Failed(FailureClass.WORKFLOW_INVALID, "every server refuses the graph")
        self._end_failed(run, run.refused_by or "", failure)

    def _end_failed(self, run: Run, server: str, failure: Failed) -> None:
        run.change(ended_at=self._now(), last_failure=failure)
        run.move(JobMove.FAIL)
        error = RunFailed(run.job.id, failure=failure, server=server, attempts=run.job.attempts)
        self._end(run, error)
        self._feed.tell(JobFailed(run.snapshot(), self._now(), failure, server))

    async def _discard(self, run: Run, reason: str) -> None:
        await self._safely(run, self._queue.discard(run.job.id, reason))

    async def _safely(self, run: Run, asked: Awaitable[None]) -> None:
        try:
            await asked
        except Exception:
            # What happened to the job has happened; a queue that cannot be told must not undo it.
            log.exception("pool.queue_failed", job=run.job.id)

    def _end(self, run: Run, result: JobResult | FleetError) -> None:
        run.end(result)
        self._ended(run)
