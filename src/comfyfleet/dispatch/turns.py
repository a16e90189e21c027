"""Whose turn it is between lanes of one priority.

Fair tags order the rows of one lane; those of two lanes count from different beginnings. Here each lane's tags are
laid beside the others': the lane that is behind goes first, so that over all lanes everybody gets GPU time by weight,
and a long row of one tenant in one lane does not hold up another's first job in the next.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from comfyfleet.kernel.ids import DispatchId, LaneId

# Lanes that no worker compared so far may lie far apart. Catching up ends here, or one would starve the other.
LAG_MAX_S = 3600.0
# A row that was leased and came back had its turn already: it goes first, and moves nothing.
RETURNED = -math.inf


class Front(Protocol):
    """The first row of a lane, as far as its turn is concerned."""

    @property
    def id(self) -> DispatchId: ...
    @property
    def lane(self) -> LaneId: ...
    @property
    def fair_tag(self) -> float: ...
    @property
    def waited_s(self) -> float: ...
    @property
    def epoch(self) -> int: ...


@dataclass(slots=True)
class Turns:
    """What one process remembers from choice to choice. Forgetting it costs each lane about one turn."""

    # For each lane the tag that counts as zero: of those that run, and of those that nothing waited in for a while.
    _running: dict[LaneId, float] = field(default_factory=dict)
    _resting: dict[LaneId, float] = field(default_factory=dict)
    _passed: dict[LaneId, tuple[DispatchId, float]] = field(default_factory=dict)

    def rest(self, lanes: Iterable[LaneId]) -> None:
        """Nothing waits in these. When something does again it starts level with the others, without arrears."""
        for lane in self._running.keys() & lanes:
            self._resting[lane] = self._running.pop(lane)

    def places(self, fronts: Sequence[Front]) -> list[float]:
        """Where each front stands against the others, in seconds of GPU time over weight: the smallest is next."""
        running = self._running
        try:
            # Every lease passes here, so it is one loop; all else is for when something has changed.
            found = [front.fair_tag - running[front.lane] if front.epoch == 0 else RETURNED for front in fronts]
        except KeyError:
            self._join([front for front in fronts if front.epoch == 0])
            return self.places(fronts)
        last = max(found)
        if last - min(found) <= LAG_MAX_S:
            return found
        return [self._close_up(front, last) if front.epoch == 0 else RETURNED for front in fronts]

    def passed_over_s(self, front: Front) -> float:
        """How much longer this front has waited since it was first passed over for another."""
        first = self._passed.get(front.lane)
        if first is None or first[0] != front.id:
            self._passed[front.lane] = first = (front.id, front.waited_s)
        return front.waited_s - first[1]

    def _join(self, fronts: Sequence[Front]) -> None:
        """At the level of those that kept running, or where its own last job ends, if that is later."""
        fresh = [front for front in fronts if front.lane not in self._running]
        level = self._level(fronts)
        for front in fresh:
            began = self._resting.pop(front.lane, front.fair_tag - level)
            self._running[front.lane] = min(began, front.fair_tag - level)

    def _level(self, fronts: Sequence[Front]) -> float:
        places = [front.fair_tag - self._running[front.lane] for front in fronts if front.lane in self._running]
        if places:
            return min(places)
        # All of them rested: they go on from the furthest that any had come.
        rested = [front.fair_tag - self._resting[front.lane] for front in fronts if front.lane in self._resting]
        return max(rested, default=0.0)

    def _close_up(self, front: Front, last: float) -> float:
        place = max(front.fair_tag - self._running[front.lane], last - LAG_MAX_S)
        self._running[front.lane] = front.fair_tag - place
        return place
