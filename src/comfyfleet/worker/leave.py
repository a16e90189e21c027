"""How a worker leaves: what is ahead goes back at once; what runs may finish, if the time left allows."""

import asyncio
import time

from comfyfleet.worker.interruption.model import Notice
from comfyfleet.worker.stages import Force, Stop
from comfyfleet.worker.under_way import UnderWay

RETURN_S = 10.0  # what it takes to withdraw a prompt and give its job back
DELIVER_S = 10.0  # what a finished job may take to be delivered
FRACTION_MIN = 0.05  # below it, progress says nothing about the time left


def remaining_s(*, ran_s: float, fraction: float, took_last_s: float | None) -> float | None:
    """By its progress so far, or by what the same workflow took last. None: nobody can say. Pure."""
    if fraction >= FRACTION_MIN:
        return ran_s * (1.0 - fraction) / fraction
    return None if took_last_s is None else max(0.0, took_last_s - ran_s)


class Leaving:
    def __init__(self, under_way: UnderWay) -> None:
        self._under_way = under_way
        self._notice: Notice | None = None
        self._ends_at: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_leaving(self) -> bool:
        return self._notice is not None

    @property
    def reason(self) -> str:
        return self._notice.reason if self._notice is not None else ""

    def heed(self, notice: Notice) -> None:
        self.return_ahead(notice.reason)
        self._notice = self._notice or notice
        if notice.seconds_left is None:
            return
        ends_at = time.monotonic() + notice.seconds_left
        if self._ends_at is not None and self._ends_at <= ends_at:
            return
        self._notice, self._ends_at = notice, ends_at
        self._return_those_too_slow(notice)
        if self._timer is not None:
            self._timer.cancel()
        wait_s = max(0.0, notice.seconds_left - min(RETURN_S, notice.seconds_left / 2))
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._return_all, notice)

    def return_ahead(self, reason: str) -> None:
        for run in self._under_way:
            if run.ahead and not run.course.is_delivering:
                run.stop(Stop(Force.RETURN, reason))

    def _return_those_too_slow(self, notice: Notice) -> None:
        """At once, so that another worker can begin, not when our time is over."""
        left_s = notice.seconds_left or 0.0
        for run in self._under_way:
            course = run.course
            needed_s = remaining_s(
                ran_s=course.ran_s,
                fraction=course.fraction,
                took_last_s=self._under_way.took_last_s(course.job.structure_hash),
            )
            if course.is_delivering or needed_s is None:
                continue
            if needed_s + DELIVER_S > left_s:
                run.stop(Stop(Force.RETURN, notice.reason))

    def _return_all(self, notice: Notice) -> None:
        for run in self._under_way:
            run.stop(Stop(Force.RETURN_NOW, notice.reason))
