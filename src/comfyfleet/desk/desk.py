"""What one process serves its workers with. Built once, owned by the house, started and stopped by the server."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, TypeVar
from uuid import UUID

import structlog

from comfyfleet import dispatch, fleet
from comfyfleet.db import ControlTx, Database
from comfyfleet.desk import diary
from comfyfleet.desk.bell import Bell
from comfyfleet.desk.coalesce import Coalescer
from comfyfleet.desk.diary import Diary
from comfyfleet.desk.live import Allowances, LiveEvents
from comfyfleet.desk.notices import Notices
from comfyfleet.desk.polls import Poll, Polls
from comfyfleet.desk.presence import FLUSH_EVERY_S, Presence
from comfyfleet.desk.roster import Roster
from comfyfleet.desk.starts import Starts
from comfyfleet.dispatch import (
    Beat,
    Ended,
    Extended,
    Floors,
    Grant,
    HeldLease,
    Holder,
    LeaseProof,
    LeaseSigner,
    Leasing,
    Place,
    QueueRules,
    Report,
)
from comfyfleet.fleet import AvailabilityPicture, Worker
from comfyfleet.kernel.errors import DatabaseUnavailable, FleetError, LeaseLost, NothingDelivered
from comfyfleet.kernel.ids import DispatchId, LaneId, WorkerId
from comfyfleet.kernel.secret import Secret
from comfyfleet.metrics.facts import FactSink, LeasesChanged

LOOK_EVERY_S = 2.0
HELD_S = 5.0
HELD_MAX = 10_000
# No worker is called so.
EVERYBODY = "*"
# Nor so: what one worker holds has changed, by the id of its row.
HOLDER = "holder/"
CAPABILITIES = "*capabilities"  # no worker has this name: only what can be run is asked anew
# Where no process can tell another, a cancel that came from elsewhere is found by looking.
NOTICES_LOOK_S, NOTICES_LOOK_TOLD_S = 1.0, 5.0

log = structlog.get_logger()
_Item = TypeVar("_Item")
Extensions = dict[DispatchId, Extended]


class Desk:
    def __init__(self, central: Database, *, signer: LeaseSigner, rules: QueueRules) -> None:
        """`central` is the desk's alone: a flood of other requests must not keep a heartbeat waiting."""
        self._central = central
        self._signer, self._rules = signer, rules
        self._chance = random.Random()  # noqa: S311 spreads retries, hides nothing
        self.facts = FactSink()
        self.roster = Roster(central)
        self.availability = AvailabilityPicture(self.roster.book)
        self.presence = Presence(central, again_s=rules.lease_ttl_s / 3)
        self.live = LiveEvents()
        self.allowances = Allowances()
        self.starts = Starts()
        self.diary = Diary(central)
        self.notices = Notices(central)
        self.polls = Polls(central, self.roster, Leasing(signer, rules, floors=Floors()), self.facts)
        self._beats: Coalescer[Sequence[Beat], Extensions] = Coalescer(self._extend)
        self._reports: Coalescer[Report, Ended] = Coalescer(self._complete)
        self._bell = Bell(
            central,
            on_queued=self.polls.wake,
            on_changed=self._forget,
            on_called=lambda loop, pool: self.on_called(loop, pool),
        )
        self._chores: list[asyncio.Task[None]] = []
        self._held: dict[tuple[DispatchId, Secret, Holder], tuple[HeldLease, float]] = {}
        self._said: dict[WorkerId, str | None] = {}
        self._cancels = 0
        self._telling: set[asyncio.Task[None]] = set()
        self._notices_look_s = NOTICES_LOOK_TOLD_S if self._bell.is_heard else NOTICES_LOOK_S
        # Whoever settles wants to know that there is something to settle.
        self.on_finished: Callable[[], None] = lambda: None
        # A replica that leaves upkeep to others calls; whoever does upkeep hears it.
        self.on_called: Callable[[str, str | None], None] = lambda _loop, _pool: None

    @property
    def database(self) -> Database:
        """The central one, by the desk's own connections."""
        return self._central

    def control_tx(self) -> AbstractAsyncContextManager[ControlTx]:
        """For who queues: few statements, run often, as the desk's own are."""
        return self._central.control_tx()

    # ── what workers ask ──

    async def poll(self, poll: Poll, *, wait_s: float) -> Grant | None:
        return await self.polls.poll(poll, wait_s=wait_s)

    async def change_capabilities(self, worker: Worker, capabilities: Mapping[str, Any]) -> bool:
        """It has other weights or nodes than it had. False: the same as it said before. Raises Superseded."""
        async with self._central.control_tx() as tx:
            digest = await fleet.change_capabilities(tx, worker, capabilities)
        # A worker may say the same with every poll.
        if self._said.get(worker.id) == digest:
            return False
        if len(self._said) >= HELD_MAX:
            self._said.clear()
        self._said[worker.id] = digest
        self.availability.forget()
        self._bell.ring(changed=CAPABILITIES)
        return True

    async def heartbeat(self, beats: Sequence[Beat]) -> Extensions:
        """Those that come back live on; what is missing is lost."""
        return await self._beats.ask(beats) if beats else {}

    async def complete(self, report: Report) -> Ended:
        """Raises LeaseLost. Sent again, it gets the first answer."""
        ended = await self._reports.ask(report)
        self.on_finished()
        return ended

    async def fail(self, report: Report) -> Ended:
        async with self._central.control_tx() as tx:
            ended = await dispatch.fail_dispatch(
                tx,
                report,
                signer=self._signer,
                rules=self._rules,
                chance=self._chance.random(),
                eligible=await self._eligible(tx, report),
            )
        return self._followed(ended)

    async def _eligible(self, tx: ControlTx, report: Report) -> int | None:
        """How many workers could run it: what fails on each of them is not tried for ever."""
        found = await dispatch.find_dispatch(tx, report.proof.dispatch_id)
        if found is None or report.failure is None or not dispatch.may_fail_everywhere(report.failure):
            return None
        able = await fleet.able_workers(tx, [found.workflow_id], book=self.roster.book)
        return len(able[found.workflow_id, found.provider.value])

    async def requeue(self, report: Report) -> Ended:
        async with self._central.control_tx() as tx:
            ended = await dispatch.requeue_dispatch(
                tx, report, signer=self._signer, rules=self._rules, chance=self._chance.random()
            )
        return self._followed(ended)

    def _followed(self, ended: Ended | LeaseLost) -> Ended:
        if isinstance(ended, LeaseLost):
            raise ended
        if ended.lane is not None:
            self.came_back([ended.lane])
        self.on_finished()
        return ended

    async def held(self, proof: LeaseProof) -> HeldLease | None:
        """The lease, if it stands. Remembered for a moment: reports on a job come many times a second."""
        key = (proof.dispatch_id, proof.token, proof.holder)
        known, until = self._held.get(key, (None, 0.0))
        if until > time.monotonic():
            return known
        cancels = self._cancels
        async with self._central.control_tx(read_only=True) as tx:
            found = (await dispatch.read_leases(tx, [proof])).get(proof.dispatch_id)
        # What was read while somebody cancelled may be what was true before.
        if found is not None and cancels == self._cancels:
            if len(self._held) >= HELD_MAX:
                self._held.clear()
            self._held[key] = found, time.monotonic() + HELD_S
        return found

    def somebody_waits_for(self, lane: LaneId, *, but: WorkerId) -> bool:
        """Does another worker stand idle here that could run this?"""
        return self.polls.somebody_waits_for(lane, but=but)

    # ── what others tell ──

    def queued(self, places: Collection[Place]) -> None:
        """Dispatches that were committed to the queue: those who wait are woken, here and at other replicas."""
        self.polls.queued(places)
        self._bell.ring(Counter(place.lane for place in places))

    def taken_back(self, ended: Collection[Ended]) -> None:
        """Leases that were taken from their worker."""
        self.came_back([each.lane for each in ended if each.lane is not None])
        self.on_finished()

    def cancelled(self, dispatch_id: DispatchId) -> None:
        """Its worker is told at once if it waits for that, at whichever replica; else with its next report, and at the
        latest with its next heartbeat."""
        self._cancels += 1
        for key in [key for key in self._held if key[0] == dispatch_id]:
            del self._held[key]
        task = asyncio.create_task(self._tell_holder(dispatch_id))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell_holder(self, dispatch_id: DispatchId) -> None:
        with suppress(DatabaseUnavailable):  # then the next look finds it
            async with self._central.control_tx(read_only=True) as tx:
                found = await dispatch.find_dispatch(tx, dispatch_id)
            if found is not None and found.worker_id is not None:
                self.holder_changed(found.worker_id)

    def holder_changed(self, worker_id: WorkerId) -> None:
        """One of its leases is no longer wanted: it is told, here or at another replica."""
        self._forget(f"{HOLDER}{worker_id}")
        self._bell.ring(changed=f"{HOLDER}{worker_id}")

    def worker_changed(self, worker_id: str) -> None:
        """Whatever is remembered of it, here and at other replicas, is out of date."""
        self._forget(worker_id)
        self._bell.ring(changed=worker_id)

    def assignments_changed(self) -> None:
        """Whoever waits, here and at other replicas, waits for what it might run before: all ask anew."""
        self.worker_changed(EVERYBODY)

    def call(self, loop: str, pool: str | None = None) -> None:
        """There is something to do for upkeep, which others do."""
        self._bell.ring(called=(loop, pool))

    def _forget(self, worker_id: str) -> None:
        self.availability.forget()
        if worker_id == EVERYBODY:
            self.roster.forget_assignments()
            self.polls.room.dismiss_all()
            return
        if worker_id.startswith(HOLDER):
            self._look_at_leases_of(WorkerId(UUID(worker_id.removeprefix(HOLDER))))
            return
        for known in self.roster.forget(worker_id):
            self.polls.room.dismiss(known)
            self.notices.wake(known)

    def _look_at_leases_of(self, worker_id: WorkerId) -> None:
        self._cancels += 1
        for key in [key for key in self._held if key[2].worker_id == worker_id]:
            del self._held[key]
        self.notices.wake(worker_id)

    def came_back(self, lanes: Collection[LaneId]) -> None:
        self.polls.came_back(lanes)
        self._bell.ring(Counter(lanes))

    # ── batches ──

    async def _extend(self, calls: list[Sequence[Beat]]) -> Sequence[Extensions | FleetError]:
        extended: dict[Beat, Extended] = {}
        confirmed = 0
        async with self._central.control_tx() as tx:
            for part in _apart([beat for call in calls for beat in call], lambda beat: beat.proof.dispatch_id):
                found, firsts = await dispatch.extend_leases(tx, part, rules=self._rules)
                extended |= {beat: found[beat.proof.dispatch_id] for beat in part if beat.proof.dispatch_id in found}
                confirmed += firsts
        if confirmed:
            self.facts.note(LeasesChanged("confirmed", confirmed))
        return [{beat.proof.dispatch_id: extended[beat] for beat in call if beat in extended} for call in calls]

    async def _complete(self, reports: list[Report]) -> Sequence[Ended | FleetError]:
        ended: dict[Report, Ended | LeaseLost | NothingDelivered] = {}
        async with self._central.control_tx() as tx:
            for part in _apart(reports, lambda report: report.proof.dispatch_id):
                found = await dispatch.complete_dispatches(tx, part, signer=self._signer)
                ended |= {report: found[report.proof.dispatch_id] for report in part}
        return [ended[report] for report in reports]

    # ── while the server runs ──

    def start(self) -> None:
        self._bell.start()
        self._chores = [
            asyncio.create_task(_every(LOOK_EVERY_S, self.polls.look)),
            asyncio.create_task(_every(self._notices_look_s, self.notices.look)),
            asyncio.create_task(_every(FLUSH_EVERY_S, self.presence.flush)),
            asyncio.create_task(_every(diary.FLUSH_EVERY_S, self.diary.flush)),
        ]

    async def stop(self) -> None:
        """Those who wait go away with empty hands."""
        self.polls.room.close()
        self.notices.close()
        await self._bell.stop()
        for task in self._chores:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        with suppress(DatabaseUnavailable):
            await self.presence.flush()
            await self.diary.flush()

    async def close(self) -> None:
        await asyncio.gather(*self._telling)
        await self._bell.stop()
        await self._central.close()


async def _every(seconds: float, chore: Callable[[], Awaitable[object]]) -> None:
    """From the start: a replica that has just come up knows no lane, and nobody gets work there until it looks."""
    while True:
        try:
            await chore()
        except DatabaseUnavailable as problem:
            log.warning("desk.chore_put_off", problem=str(problem))
        except Exception:
            log.exception("desk.chore_failed")
        await asyncio.sleep(seconds)


def _apart(items: "Sequence[_Item]", key: "Callable[[_Item], object]") -> "Iterator[list[_Item]]":
    """Parts in which no dispatch is named twice: two that claim the same one must not get one answer."""
    left = list(items)
    if len({key(item) for item in left}) == len(left):
        yield left
        return
    while left:
        seen: set[object] = set()
        part: list[_Item] = []
        later: list[_Item] = []
        for item in left:
            (later if key(item) in seen else part).append(item)
            seen.add(key(item))
        yield part
        left = later
