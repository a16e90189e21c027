"""Where workers wait for work without asking again. One job wakes one of them: an idle one first, a warm one first."""

import asyncio
from collections import Counter
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


NOTHING_UNHEARD = (0, Wake())


@dataclass(eq=False, slots=True)
class Waiter:
    worker_id: WorkerId
    routings: Collection[Routing]
    warm: Collection[str]
    idle: bool  # could start now; one that is busy only looks ahead
    vouches: bool  # nothing waited that it could not take: who comes after it need not ask
    woken: "asyncio.Future[Wake]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


@dataclass(slots=True)
class _Bench:
    """Dicts as ordered sets: who came first is woken first."""

    by_routing: dict[Routing, dict[Waiter, None]] = field(default_factory=dict)
    by_warmth: dict[tuple[Routing, str], dict[Waiter, None]] = field(default_factory=dict)

    def seat(self, waiter: Waiter) -> None:
        for routing in waiter.routings:
            self.by_routing.setdefault(routing, {})[waiter] = None
            for structure_hash in waiter.warm:
                self.by_warmth.setdefault((routing, structure_hash), {})[waiter] = None

    def free(self, waiter: Waiter) -> None:
        for routing in waiter.routings:
            _discard(self.by_routing, routing, waiter)
            for structure_hash in waiter.warm:
                _discard(self.by_warmth, (routing, structure_hash), waiter)

    def first(self, routing: Routing, structure_hash: str) -> Waiter | None:
        waiters = self.by_warmth.get((routing, structure_hash)) or self.by_routing.get(routing)
        return next(iter(waiters)) if waiters else None


class WaitingRoom:
    def __init__(self) -> None:
        self._idle = _Bench()
        self._busy = _Bench()
        self._waiters: set[Waiter] = set()
        self._vouched: Counter[Routing] = Counter()
        # Calls that nobody stood here to hear, by the time they came: see `park`.
        self._unheard: dict[Routing, tuple[int, Wake]] = {}
        self.calls = 0
        self._dismissed = 0  # the call at which all were sent away
        self._closed = False

    def __len__(self) -> int:
        return len(self._waiters)

    @property
    def routings(self) -> Collection[Routing]:
        """What somebody waits for."""
        return self._idle.by_routing.keys() | self._busy.by_routing.keys()

    def park(
        self,
        worker_id: WorkerId,
        routings: Collection[Routing],
        warm: Collection[str],
        *,
        idle: bool = True,
        vouches: bool = True,
        since: int | None = None,
    ) -> Waiter:
        """`since`: the count of calls when it looked at the queue. What came after that, and before it stood here, it
        has neither seen nor heard: it is woken at once."""
        waiter = Waiter(worker_id, routings, warm, idle, vouches)
        missed = None if since is None else self._missed(routings, since)
        if self._closed or missed is not None or (since is not None and since < self._dismissed):
            waiter.woken.set_result(missed if missed is not None and not self._closed else Wake())
            return waiter
        self._waiters.add(waiter)
        self._vouched.update(routings if vouches else ())
        self._bench(waiter).seat(waiter)
        return waiter

    def _bench(self, waiter: Waiter) -> _Bench:
        return self._idle if waiter.idle else self._busy

    def leave(self, waiter: Waiter) -> None:
        self._remove(waiter)
        waiter.woken.cancel()

    def wake(self, lane: Lane, *, count: int = 1, hops: int = 0) -> int:
        """How many were there to be woken."""
        routing: Routing = (lane.workflow_id, lane.provider.value)
        self.calls += 1
        woken = 0
        while woken < count:
            # Whoever is busy would only hold it until the idle one's turn: see `wants`.
            waiter = self._idle.first(routing, lane.structure_hash) or self._busy.first(routing, lane.structure_hash)
            if waiter is None:
                self._unheard[routing] = (self.calls, Wake(lane.id, hops))
                break
            self._remove(waiter)
            # One whose time is over at this very moment takes nothing, and must not count.
            if not waiter.woken.done():
                waiter.woken.set_result(Wake(lane.id, hops))
                woken += 1
        return woken

    def _missed(self, routings: Collection[Routing], since: int) -> Wake | None:
        """The last call for any of these that nobody heard, if it came after `since`."""
        at, wake = max(
            (self._unheard.get(routing, NOTHING_UNHEARD) for routing in routings), key=_time_of, default=NOTHING_UNHEARD
        )
        return wake if at > since else None

    def nothing_waits_for(self, routings: Collection[Routing]) -> bool:
        """Had something come, one of those who stand here for it would have been woken, and have taken it."""
        return not self._closed and all(self._vouched[routing] > 0 for routing in routings)

    def wants(self, lane: Lane, *, but: WorkerId) -> bool:
        """Does somebody else stand idle who could run this?"""
        waiters = self._idle.by_routing.get((lane.workflow_id, lane.provider.value), {})
        return any(waiter.worker_id != but for waiter in waiters)

    def dismiss(self, worker_id: WorkerId) -> None:
        """It goes away with empty hands: something about it has changed, and its next call will tell it."""
        for waiter in [each for each in self._waiters if each.worker_id == worker_id]:
            self._send_away(waiter)

    def dismiss_all(self) -> None:
        """All ask anew; also those who have looked already, and do not stand here yet."""
        self.calls += 1
        self._dismissed = self.calls
        for waiter in list(self._waiters):
            self._send_away(waiter)

    def close(self) -> None:
        """The server stops: all go away with empty hands, and ask another replica."""
        self._closed = True
        self.dismiss_all()

    def _send_away(self, waiter: Waiter) -> None:
        self._remove(waiter)
        if not waiter.woken.done():
            waiter.woken.set_result(Wake())

    def _remove(self, waiter: Waiter) -> None:
        if waiter not in self._waiters:
            return
        self._waiters.discard(waiter)
        if waiter.vouches:
            self._vouched -= Counter(waiter.routings)
        self._bench(waiter).free(waiter)


def _time_of(unheard: tuple[int, Wake]) -> int:
    return unheard[0]


def _discard(index: "dict[_Key, dict[Waiter, None]]", key: "_Key", waiter: Waiter) -> None:
    waiters = index.get(key)
    if waiters is not None:
        waiters.pop(waiter, None)
        if not waiters:
            del index[key]
