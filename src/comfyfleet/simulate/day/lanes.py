"""The queue of a simulation. Fair tags come from the product's own functions; rows are kept in memory, not in SQL."""

import heapq
from bisect import insort
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from comfyfleet.dispatch.fairness import finish_tag, share_cost, start_tags, virtual_now


class Queued(Protocol):
    """What fair tags are made from."""

    @property
    def tenant(self) -> int: ...
    @property
    def cost_s(self) -> float: ...
    @property
    def weight(self) -> int: ...


Item = TypeVar("Item", bound=Queued)
Row = tuple[float, int, float, Item]  # tag, number, when it was queued, what


@dataclass(slots=True)
class SimulatedLane(Generic[Item]):
    """Rows by (tag, number): the first few in order, the others in a heap until they are looked at."""

    front: list[Row[Item]] = field(default_factory=list)
    others: list[Row[Item]] = field(default_factory=list)
    finish: dict[int, float] = field(default_factory=dict)
    # Finish tags only grow: the latest need not be looked for.
    latest: float | None = None

    def __len__(self) -> int:
        return len(self.front) + len(self.others)

    def add(self, item: Item, number: int, queued_s: float) -> float:
        """Returns its tag."""
        if not self.front and self.others:
            self.first(1)
        now = virtual_now(self.front[0][0] if self.front else None, self.latest)
        cost = share_cost(item.cost_s, item.weight)
        finish = self.finish[item.tenant] = finish_tag(self.finish.get(item.tenant), now, cost)
        self.latest = finish if self.latest is None else max(self.latest, finish)
        (tag,) = start_tags(finish, [cost])
        self.put((tag, number, queued_s, item))
        return tag

    def put(self, row: Row[Item]) -> None:
        """In its place: a row that was leased and came back keeps its tag."""
        if self.front and row[:2] < self.front[-1][:2]:
            insort(self.front, row, key=_place)
        else:
            heapq.heappush(self.others, row)

    def first(self, rows: int) -> list[Row[Item]]:
        front, others = self.front, self.others
        while others and (len(front) < rows or others[0][:2] < front[-1][:2]):
            insort(front, heapq.heappop(others), key=_place)
        return front[:rows]

    def take(self, number: int) -> Row[Item]:
        at = next(at for at, row in enumerate(self.front) if row[1] == number)
        return self.front.pop(at)


def _place(row: Row[Item]) -> tuple[float, int]:
    return row[:2]
