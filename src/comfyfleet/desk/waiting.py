"""Where workers wait for work without asking again. One job wakes one of them: a warm one first."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TypeVar

from comfyfleet.dispatch import Lane
from comfyfleet.kernel.ids import LaneId, WorkerId, WorkflowId

Routing = tuple[WorkflowId, str]
_Key = TypeVar("_Key")
# A woken worker that may not take the job after all (blocked, full) wakes another; not all of them in turn.
HOPS_MAX = 8


@dataclass(frozen=True, slots=True)
class Wake:
    """What somebody was woken for."""

    lane: LaneId | None = None
    hops: int = 0


@dataclass(eq=False, slots=True)
class Waiter:
    worker_id: WorkerId
    routings: Collection[Routing]
    warm: Collection[str]
    woken: "asyncio.Future[Wake]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class WaitingRoom:
    def __init__(self) -> None:
        # Dicts as ordered sets: who came first is woken first.
        self._by_routing: dict[Routing, dict[Waiter, None]] = {}
        self._by_warmth: dict[tuple[Routing, str], dict[Waiter, None]] = {}
        self._count = 0
        self._closed = False

    def __len__(self) -> int:
        return self._count

    @property
    def routings(self) -> Collection[Routing]:
        """What somebody waits for."""
        return self._by_routing.keys()

    def park(self, worker_id: WorkerId, routings: Collection[Routing], warm: Collection[str]) -> Waiter:
        waiter = Waiter(worker_id, routings, warm)
        if self._closed:
            waiter.woken.set_result(Wake())
            return waiter
        self._count += 1
        for routing in routings:
            self._by_routing.setdefault(routing, {})[waiter] = None
            for structure_hash in warm:
                self._by_warmth.setdefault((routing, structure_hash), {})[waiter] = None
        return waiter

    def leave(self, waiter: Waiter) -> None:
        self._remove(waiter)
        waiter.woken.cancel()

    def wake(self, lane: Lane, *, count: int = 1, hops: int = 0) -> int:
        """How many were there to be woken."""
        routing: Routing = (lane.workflow_id, lane.provider.value)
        for done in range(count):
            waiters = self._by_warmth.get((routing, lane.structure_hash)) or self._by_routing.get(routing)
            if not waiters:
                return done
            waiter = next(iter(waiters))
            self._remove(waiter)
            if not waiter.woken.done():
                waiter.woken.set_result(Wake(lane.id, hops))
        return count

    def somebody_waits_for_each(self, routings: Collection[Routing]) -> bool:
        return not self._closed and all(routing in self._by_routing for routing in routings)

    def wants(self, lane: Lane, *, but: WorkerId) -> bool:
        """Does somebody else stand idle who could run this?"""
        waiters = self._by_routing.get((lane.workflow_id, lane.provider.value), {})
        return any(waiter.worker_id != but for waiter in waiters)

    def close(self) -> None:
        """The server stops: all go away with empty hands, and ask another replica."""
        self._closed = True
        for waiter in {waiter for waiters in self._by_routing.values() for waiter in waiters}:
            self._remove(waiter)
            if not waiter.woken.done():
                waiter.woken.set_result(Wake())

    def _remove(self, waiter: Waiter) -> None:
        found = False
        for routing in waiter.routings:
            found |= _discard(self._by_routing, routing, waiter)
            for structure_hash in waiter.warm:
                _discard(self._by_warmth, (routing, structure_hash), waiter)
        self._count -= found


def _discard(index: "dict[_Key, dict[Waiter, None]]", key: "_Key", waiter: Waiter) -> bool:
    waiters = index.get(key)
    if waiters is None or waiter not in waiters:
        return False
    del waiters[waiter]
    if not waiters:
        del index[key]
    return True
