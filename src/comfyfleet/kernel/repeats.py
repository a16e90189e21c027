"""What is said again and again is said once and then counted. Pure: time comes in as a value."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from comfyfleet.kernel.durations import seconds_text

COUNTED_MAX = 1_000
T = TypeVar("T")


@dataclass(slots=True)
class _Counted(Generic[T]):
    since_s: float
    count: int
    latest: T


@dataclass(frozen=True, slots=True)
class Again(Generic[T]):
    """`latest` was said `count` more times within `seconds`."""

    latest: T
    count: int
    seconds: float

    def __str__(self) -> str:
        times = "time" if self.count == 1 else "times"
        return f"said {self.count} more {times} in the last {seconds_text(max(1.0, self.seconds))}"


class Repeats(Generic[T]):
    def __init__(self, *, every_s: float, counted_max: int = COUNTED_MAX) -> None:
        self._every_s, self._counted_max = every_s, counted_max
        self._counted: OrderedDict[Hashable, _Counted[T]] = OrderedDict()

    def admit(self, key: Hashable, latest: T, *, now_s: float) -> bool:
        """True: to be said now. False: it was said already, and is counted."""
        known = self._counted.get(key)
        if known is not None and (known.count > 0 or now_s - known.since_s < self._every_s):
            known.count += 1
            known.latest = latest
            return False
        self._counted[key] = _Counted(now_s, 0, latest)
        self._counted.move_to_end(key)
        while len(self._counted) > self._counted_max:
            # For want of room: it is said in full when it comes again.
            self._counted.popitem(last=False)
        return True

    def due(self, *, now_s: float, at_last: bool = False) -> list[Again[T]]:
        """Those to be told of. What was not said again meanwhile has ended, and is said in full when it returns."""
        told = []
        for key, found in list(self._counted.items()):
            passed_s = now_s - found.since_s
            if passed_s < self._every_s and not at_last:
                continue
            if found.count == 0:
                del self._counted[key]
                continue
            told.append(Again(found.latest, found.count, passed_s))
            found.since_s, found.count = now_s, 0
        return told

    def next_due_s(self) -> float | None:
        """When to ask again. None: nothing is counted."""
        return min((found.since_s + self._every_s for found in self._counted.values()), default=None)
