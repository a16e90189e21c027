"""Which job goes next, and where. Warm jobs may overtake cold ones of their priority, a few times in a row."""

from collections.abc import Sequence
from dataclasses import dataclass

from comfyfleet.pool.blocks import Blocks
from comfyfleet.pool.choose import Candidate, choose, is_free, warmth
from comfyfleet.pool.model import QueuedJob
from comfyfleet.pool.queue import QueueAdapter
from comfyfleet.pool.roster import Roster

OVERTAKES_MAX = 8  # warm jobs that pass an older cold one in a row; then the cold one goes


@dataclass(frozen=True, slots=True)
class Assignment:
    job: QueuedJob
    server: str


class Router:
    def __init__(self, queue: QueueAdapter, roster: Roster, blocks: Blocks) -> None:
        self._queue = queue
        self._roster = roster
        self._blocks = blocks
        self._overtakes = 0
        self.skips = blocks.skips

    async def next(self, *, now: float) -> Assignment | None:
        """Reserves a job for a server that is free; None: no server is, or no job may run on those that are."""
        candidates = self._roster.candidates()
        if not any(is_free(each, now=now) for each in candidates):
            return None
        job = await self._reserve(candidates, now)
        if job is None:
            return None
        server = self._choose(job, self._roster.candidates(), now)
        if server is None:  # a server went while the queue was asked
            await self._queue.retry(job)
            return None
        return Assignment(job, server)

    async def _reserve(self, candidates: Sequence[Candidate], now: float) -> QueuedJob | None:
        def wanted(job: QueuedJob) -> bool:
            return self._choose(job, candidates, now) is not None

        head = await self._queue.peek(wanted)
        if head is None:
            return None
        if not self._is_warm(head, candidates, now) and self._overtakes < OVERTAKES_MAX:
            priority = head.priority
            warm = await self._queue.reserve(
                lambda job: job.priority == priority and self._is_warm(job, candidates, now)
            )
            if warm is not None:
                self._overtakes += 1
                return warm
        self._overtakes = 0
        return await self._queue.reserve(wanted)

    def _choose(self, job: QueuedJob, candidates: Sequence[Candidate], now: float) -> str | None:
        ran_last_on = self._roster.ran_last_on(job.structure_hash)
        return choose(job, candidates, ran_last_on=ran_last_on, skips=self._blocks.skips, now=now)

    def _is_warm(self, job: QueuedJob, candidates: Sequence[Candidate], now: float) -> bool:
        server = self._choose(job, candidates, now)
        ran_last_on = self._roster.ran_last_on(job.structure_hash)
        return any(each.name == server and warmth(job, each, ran_last_on) > 0 for each in candidates)
