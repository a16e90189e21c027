"""How far each lane is served. Behind a floor lie only rows that were leased: reading can start past them.

While anybody holds an old snapshot of the database (a dump, a report), PostgreSQL cannot forget leased rows, and
whoever starts at the front of a lane walks over all of them. A floor is a hint: a row that comes to wait behind it
(a requeue, a slow transaction) is found when the floor is lowered, or with the next look that ignores floors.
"""

from collections.abc import Collection, Iterable, Sequence

from comfyfleet.dispatch.matching import Head
from comfyfleet.dispatch.model import Place
from comfyfleet.kernel.ids import LaneId

GROUND = (-1.0, -1)


class Floors:
    def __init__(self) -> None:
        self._floors: dict[LaneId, tuple[float, int]] = {}

    def of(self, lane: LaneId) -> tuple[float, int]:
        return self._floors.get(lane, GROUND)

    def rise(self, heads: Sequence[Head], taken: Collection[Head]) -> None:
        """`heads` are the first rows of their lanes, in order. Up to the first that still waits, all are gone."""
        standing: set[LaneId] = set()
        for head in heads:
            if head not in taken:
                standing.add(head.lane)
            elif head.lane not in standing:
                self._floors[head.lane] = (head.fair_tag, head.seq)

    def make_room(self, places: Iterable[Place]) -> None:
        """Somebody new may stand behind the floor: two who came at once, and the later one was served first."""
        for place in places:
            if (place.fair_tag, place.seq) <= self.of(place.lane):
                self._floors.pop(place.lane, None)

    def drop(self, lanes: Iterable[LaneId]) -> None:
        """Somebody came back to an old place."""
        for lane in lanes:
            self._floors.pop(lane, None)

    def clear(self) -> None:
        self._floors.clear()
