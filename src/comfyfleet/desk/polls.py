"""Workers ask for work. Those that find none wait, and are woken when some comes."""

import asyncio
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct

from comfyfleet import dispatch, fleet
from comfyfleet.db import ControlTx, Database
from comfyfleet.desk.coalesce import Coalescer
from comfyfleet.desk.roster import Roster
from comfyfleet.desk.waiting import HOPS_MAX, Routing, Waiter, WaitingRoom, Wake
from comfyfleet.dispatch import Ask, Grant, Holder, Leased, LeaseProof, Leasing, Place, Report
from comfyfleet.fleet import Standing, Worker, WorkerStatus
from comfyfleet.kernel.errors import DatabaseUnavailable, FleetError
from comfyfleet.kernel.ids import LaneId, WorkerId, WorkflowId
from comfyfleet.metrics.facts import FactSink, PollsAnswered

NOTHING: frozenset[WorkflowId] = frozenset()
Assigned = Mapping[WorkerId, frozenset[WorkflowId]]

# Rows that came to wait behind a floor are found this much later at most.
FLOORS_LAST_S = 1.0
LOOK_AHEAD = 8
NO_WAKE = Wake()


class Poll(Struct, frozen=True, eq=False):
    """One call. Two calls of the same worker are two polls."""

    worker: Worker
    providers: frozenset[str]
    leases_max: int
    warm: frozenset[str] = frozenset()
    poll_id: str | None = None
    idle: bool = True  # it could start at once; else it looks ahead while it runs another
    tells_begin: bool = False  # it will say when a server has begun what it gets

    @property
    def begins(self) -> bool:
        return self.idle and not self.tells_begin


class Served(Struct, frozen=True, eq=False):
    grant: Grant | None
    workflows: frozenset[WorkflowId]  # what it may run: nothing, for one that drains or has not been approved
    waiting: frozenset[LaneId]  # where somebody still waits, or may: not every lane is looked at for everybody
    since: int  # the waiting room's count of calls before the queue was looked at
    changed: bool = False  # it drains, say, and was remembered otherwise: it is told so, and does not wait


def _routings(poll: Poll, workflows: frozenset[WorkflowId]) -> list[Routing]:
    return [(workflow_id, provider) for workflow_id in workflows for provider in poll.providers]


class Polls:
    def __init__(self, central: Database, roster: Roster, leasing: Leasing, facts: FactSink) -> None:
        self._central = central
        self._roster = roster
        self._leasing = leasing
        self._facts = facts
        self.room = WaitingRoom()
        self._served: Coalescer[Poll, Served] = Coalescer(self._serve, on_unclaimed=self._take_back)
        self._holding: Coalescer[WorkerId, bool] = Coalescer(self._hold)
        self._floors_until = 0.0
        self._strange: set[LaneId] = set()  # lanes that work came to and that the book does not know yet
        self._chores: set[asyncio.Task[None]] = set()

    @property
    def batches(self) -> int:
        """How often the queue was asked, however many asked at once."""
        return self._served.batches

    async def poll(self, poll: Poll, *, wait_s: float) -> Grant | None:
        """A lease, at once or when work comes; None when the time is over. Holds no connection while it waits."""
        ends, wake, since = time.monotonic() + wait_s, NO_WAKE, self.room.calls
        if wait_s > 0 and (workflows := await self._nothing_to_ask_for(poll)):
            wake = await self._wait(poll, workflows, wait_s, since=since)
            if wake.lane is None:
                return None
        while True:
            served = await self._ask_for(poll, wake)
            if served.grant is not None:
                return served.grant
            left = ends - time.monotonic()
            if left <= 0 or served.changed:
                return None
            vouches = not self._left_for_others(poll, served)
            wake = await self._wait(poll, served.workflows, left, vouches=vouches, since=served.since)
            if wake.lane is None:
                return None

    async def _nothing_to_ask_for(self, poll: Poll) -> frozenset[WorkflowId] | None:
        """Where others wait already for all that this worker may run, there is nothing: had something come, one of
        them would have been woken. What it may run, then; unless it holds a lease, which a lost reply may have been."""
        workflows = self._roster.remembered(poll.worker)
        if not workflows or not self.room.nothing_waits_for(_routings(poll, workflows)):
            return None
        if poll.poll_id is not None and await self._holding.ask(poll.worker.id):
            return None
        return workflows

    async def _hold(self, workers: list[WorkerId]) -> Sequence[bool]:
        async with self._central.control_tx(read_only=True) as tx:
            holding = await dispatch.workers_with_leases(tx, workers)
        return [worker in holding for worker in workers]

    async def _ask_for(self, poll: Poll, wake: Wake) -> Served:
        try:
            served = await self._served.ask(poll)
        except BaseException:
            # Refused, or its caller hung up: what it was woken for is still there.
            self._pass_on(wake, {wake.lane})
            raise
        if served.grant is None:
            self._pass_on(wake, served.waiting if served.workflows else {wake.lane})
        return served

    def _left_for_others(self, poll: Poll, served: Served) -> frozenset[LaneId]:
        """Where something waits, or may, that was not for it just now: it is full, or blocked."""
        return served.waiting & self._leasing.book.lanes_for(served.workflows, poll.providers)

    async def _wait(
        self, poll: Poll, workflows: frozenset[WorkflowId], left_s: float, *, since: int, vouches: bool = True
    ) -> Wake:
        routings = _routings(poll, workflows)
        waiter = self.room.park(poll.worker.id, routings, poll.warm, idle=poll.idle, vouches=vouches, since=since)
        try:
            async with asyncio.timeout(left_s):
                return await waiter.woken
        except TimeoutError:
            return _wake_of(waiter)
        except asyncio.CancelledError:
            self._pass_on(_wake_of(waiter), {_wake_of(waiter).lane})
            raise
        finally:
            self.room.leave(waiter)

    def _pass_on(self, wake: Wake, waiting: Collection[LaneId | None]) -> None:
        """Woken in vain, for it was full, blocked or gone: if the job is still there, somebody else may take it."""
        if wake.lane is not None and wake.lane in waiting and wake.hops < HOPS_MAX:
            self.room.wake(self._leasing.book[wake.lane], hops=wake.hops + 1)

    # ── one batch of polls ──

    async def _serve(self, polls: list[Poll]) -> Sequence[Served | FleetError]:
        self._lower_floors_now_and_then()
        since = self.room.calls
        async with self._central.control_tx() as tx:
            if self._strange:
                await self._learn(tx)
            now = await fleet.hold_workers(tx, {poll.worker.id for poll in polls})
            able = [worker for worker in now.values() if worker.status == WorkerStatus.APPROVED]
            assigned = await self._roster.assignments(tx, able)
            asks = [self._ask(poll, now.get(poll.worker.id), assigned) for poll in polls]
            leased = await dispatch.lease_dispatches(tx, [ask for ask in asks if isinstance(ask, Ask)], self._leasing)
        self._facts.note(PollsAnswered(len(polls)))
        changed = {each.worker.id for each in polls if self._has_changed(each.worker, now.get(each.worker.id))}
        return [
            self._answer(poll, ask, leased, assigned, since, changed=poll.worker.id in changed)
            for poll, ask in zip(polls, asks, strict=True)
        ]

    def _has_changed(self, known: Worker, now: Standing | None) -> bool:
        if now is None or now.status == known.status:
            return False
        self._roster.forget(known.worker_id)
        return True

    async def _learn(self, tx: ControlTx) -> None:
        await self._leasing.book.learn(tx)
        self._strange = {lane for lane in self._strange if lane not in self._leasing.book}

    def _ask(self, poll: Poll, now: Standing | None, assigned: Assigned) -> Ask | FleetError:
        worker = poll.worker
        if error := fleet.refusal(now, worker):
            return error
        return Ask(
            holder=Holder(worker.id, worker.incarnation),
            lanes=self._leasing.book.lanes_for(assigned.get(worker.id, NOTHING), poll.providers),
            leases_max=poll.leases_max,
            warm=poll.warm,
            poll_id=poll.poll_id,
            begins=poll.begins,
        )

    def _answer(
        self, poll: Poll, ask: Ask | FleetError, leased: Leased, assigned: Assigned, since: int, *, changed: bool
    ) -> Served | FleetError:
        if not isinstance(ask, Ask):
            self._roster.forget(poll.worker.worker_id)
            return ask
        grant = leased.grants.get(ask)
        # What it may run is only asked of those that go on to wait.
        workflows = NOTHING if grant else assigned.get(poll.worker.id, NOTHING)
        return Served(grant, workflows, leased.waiting, since, changed)

    def _lower_floors_now_and_then(self) -> None:
        if self._leasing.floors is not None and self._floors_until < time.monotonic():
            self._leasing.floors.clear()
            self._floors_until = time.monotonic() + FLOORS_LAST_S

    def _take_back(self, poll: Poll, served: Served) -> None:
        """Its caller hung up while the lease was made: back to the queue, not idle until it runs out."""
        if served.grant is not None:
            task = asyncio.create_task(self._return(poll, served.grant))
            self._chores.add(task)
            task.add_done_callback(self._chores.discard)

    async def _return(self, poll: Poll, grant: Grant) -> None:
        proof = LeaseProof(grant.dispatch_id, grant.token, Holder(poll.worker.id, poll.worker.incarnation))
        report = Report(proof, digest="hung up", error="the worker hung up before it got the job")
        with suppress(DatabaseUnavailable):  # then the lease runs out by itself
            async with self._central.control_tx() as tx:
                await dispatch.requeue_dispatch(
                    tx, report, signer=self._leasing.signer, rules=self._leasing.rules, chance=0.5
                )
            self.came_back([grant.lane.id])

    def somebody_waits_for(self, lane: LaneId, *, but: WorkerId) -> bool:
        book = self._leasing.book
        return lane in book and self.room.wants(book[lane], but=but)

    # ── work has come ──

    def queued(self, places: Collection[Place]) -> None:
        """New dispatches, committed: for each, one who waits."""
        if self._leasing.floors is not None:
            self._leasing.floors.make_room(places)
        self.wake(Counter(place.lane for place in places))

    def came_back(self, lanes: Collection[LaneId]) -> None:
        """Dispatches that wait again, at their old places."""
        if self._leasing.floors is not None:
            self._leasing.floors.drop(lanes)
        self.wake(Counter(lanes))

    def wake(self, counts: Mapping[LaneId, int]) -> None:
        book = self._leasing.book
        for lane, count in counts.items():
            if lane in book:
                self.room.wake(book[lane], count=count)
        strange = {lane: count for lane, count in counts.items() if lane not in book}
        if strange:
            # The first job of its kind: whoever asks meanwhile learns of its lane first, whoever waits is woken after.
            self._strange |= strange.keys()
            task = asyncio.create_task(self._introduce(strange))
            self._chores.add(task)
            task.add_done_callback(self._chores.discard)

    async def _introduce(self, strange: Mapping[LaneId, int]) -> None:
        with suppress(DatabaseUnavailable):  # then the next look finds them
            async with self._central.control_tx(read_only=True) as tx:
                await self._learn(tx)
            for lane, count in strange.items():
                self._strange.discard(lane)
                if lane in self._leasing.book:
                    self.room.wake(self._leasing.book[lane], count=count)

    async def look(self) -> None:
        """The truth, whatever hints were lost: is there work for those who wait?"""
        async with self._central.control_tx(read_only=True) as tx:
            await self._learn(tx)
            wanted = [(frozenset([flow]), frozenset([provider])) for flow, provider in self.room.routings]
            lanes = {lane for each in wanted for lane in self._leasing.book.lanes_for(*each)}
            found = await dispatch.count_heads(tx, lanes, each=LOOK_AHEAD)
        for lane, count in found.items():
            self.room.wake(self._leasing.book[lane], count=count)


def _wake_of(waiter: Waiter) -> Wake:
    """It may have been woken in the moment in which its time was over."""
    return waiter.woken.result() if waiter.woken.done() and not waiter.woken.cancelled() else NO_WAKE
