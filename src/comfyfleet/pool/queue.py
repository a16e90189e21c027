"""Where jobs wait. Another kind of queue is a class with these methods; the pool cannot tell it from `MemoryQueue`.

put ──► waiting ──reserve──► reserved ──commit───► gone (the job has ended well)
           ▲                    ├──────discard───► gone (it has ended otherwise)
           └──── after delay ───┴──────retry
"""

import asyncio
from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Protocol, TypeAlias

from comfyfleet.kernel.errors import NotFound
from comfyfleet.pool.errors import QueueFull
from comfyfleet.pool.model import QueuedJob

Wanted: TypeAlias = Callable[[QueuedJob], bool]


@dataclass(frozen=True, slots=True)
class QueueDepth:
    waiting: int
    delayed: int
    reserved: int


class QueueAdapter(Protocol):
    def attach(self, wake: Callable[[], None]) -> None:
        """`wake` is to be called whenever a job may have become ready: put, retried, its delay over."""
        ...

    async def put(self, job: QueuedJob) -> None: ...

    async def peek(self, wanted: Wanted) -> QueuedJob | None:
        """What `reserve` would give."""
        ...

    async def reserve(self, wanted: Wanted) -> QueuedJob | None:
        """The first that is wanted: highest priority, then longest waiting. Nobody else gets it until it is retried.

        `wanted` gives the same answer for all jobs of one lane, so a queue may ask once a lane.
        """
        ...

    async def commit(self, job_id: str) -> None: ...

    async def retry(self, job: QueuedJob, *, delay_s: float = 0.0) -> None:
        """Puts a reserved one back, with what has been learnt; it keeps its place among its like."""
        ...

    async def discard(self, job_id: str, reason: str) -> None: ...

    async def remove(self, job_id: str) -> bool:
        """Takes out one that waits. False: it does not wait here (any more)."""
        ...

    async def depth(self) -> QueueDepth: ...

    async def close(self) -> tuple[QueuedJob, ...]:
        """What is left and lost with this process; a queue that keeps its jobs elsewhere answers with nothing."""
        ...


_Place: TypeAlias = tuple[int, int, str]  # minus the priority, number, job id


class MemoryQueue:
    """One sorted line a lane: a lane that no free server may run costs one question, however long it is."""

    def __init__(self, *, waiting_max: int = 100_000) -> None:
        self.waiting_max = waiting_max
        self._jobs: dict[str, QueuedJob] = {}
        self._places: dict[str, _Place] = {}
        self._lanes: dict[tuple[object, ...], list[_Place]] = {}
        self._heads: list[_Place] = []  # the first of each lane, in order
        self._delayed: dict[str, asyncio.TimerHandle] = {}
        self._reserved: set[str] = set()
        self._numbers = count()
        self._wake: Callable[[], None] = lambda: None

    def attach(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    async def put(self, job: QueuedJob) -> None:
        if len(self._jobs) - len(self._reserved) >= self.waiting_max:
            raise QueueFull(limit=self.waiting_max)
        self._jobs[job.id] = job
        self._places[job.id] = (-job.priority, next(self._numbers), job.id)
        self._line_up(job)

    async def peek(self, wanted: Wanted) -> QueuedJob | None:
        place = self._first(wanted)
        return None if place is None else self._jobs[place[2]]

    async def reserve(self, wanted: Wanted) -> QueuedJob | None:
        place = self._first(wanted)
        if place is None:
            return None
        job = self._jobs[place[2]]
        self._leave_line(job)
        self._reserved.add(job.id)
        return job

    async def commit(self, job_id: str) -> None:
        self._release(job_id)

    async def discard(self, job_id: str, reason: str) -> None:
        self._release(job_id)

    async def retry(self, job: QueuedJob, *, delay_s: float = 0.0) -> None:
        if job.id not in self._reserved:
            raise NotFound("reserved job", job.id)
        self._reserved.remove(job.id)
        self._jobs[job.id] = job
        if delay_s > 0:
            self._delayed[job.id] = asyncio.get_running_loop().call_later(delay_s, self._due, job.id)
        else:
            self._line_up(job)

    async def remove(self, job_id: str) -> bool:
        job = self._jobs.get(job_id)
        if job is None or job_id in self._reserved:
            return False
        timer = self._delayed.pop(job_id, None)
        if timer is None:
            self._leave_line(job)
        else:
            timer.cancel()
        self._forget(job_id)
        return True

    async def depth(self) -> QueueDepth:
        delayed, reserved = len(self._delayed), len(self._reserved)
        return QueueDepth(len(self._jobs) - delayed - reserved, delayed, reserved)

    async def close(self) -> tuple[QueuedJob, ...]:
        for timer in self._delayed.values():
            timer.cancel()
        left = tuple(self._jobs[place[2]] for place in sorted(self._places.values()))
        for kept in (self._jobs, self._places, self._lanes, self._heads, self._delayed, self._reserved):
            kept.clear()
        return left

    def _first(self, wanted: Wanted) -> _Place | None:
        return next((place for place in self._heads if wanted(self._jobs[place[2]])), None)

    def _due(self, job_id: str) -> None:
        del self._delayed[job_id]
        self._line_up(self._jobs[job_id])

    def _line_up(self, job: QueuedJob) -> None:
        line = self._lanes.setdefault(job.lane, [])
        before = line[0] if line else None
        insort(line, self._places[job.id])
        self._replace_head(before, line[0])
        self._wake()

    def _leave_line(self, job: QueuedJob) -> None:
        line = self._lanes[job.lane]
        before = line[0]
        _take_out(line, self._places[job.id])
        if not line:
            del self._lanes[job.lane]
        self._replace_head(before, line[0] if line else None)

    def _replace_head(self, before: _Place | None, after: _Place | None) -> None:
        if before == after:
            return
        if before is not None:
            _take_out(self._heads, before)
        if after is not None:
            insort(self._heads, after)

    def _release(self, job_id: str) -> None:
        if job_id not in self._reserved:
            raise NotFound("reserved job", job_id)
        self._reserved.remove(job_id)
        self._forget(job_id)

    def _forget(self, job_id: str) -> None:
        del self._jobs[job_id]
        del self._places[job_id]


def _take_out(line: list[_Place], place: _Place) -> None:
    del line[bisect_left(line, place)]
