"""Two ways to the queue, for one machine: through the verbs, a transaction each; and through two desks.

Members of one list come at once. At a desk they share statements, and reading starts at its floors.
"""

import asyncio
from collections.abc import Awaitable, Collection, Sequence
from typing import TypeVar

from comfyfleet import dispatch, fleet
from comfyfleet.db import Database
from comfyfleet.desk import Desk, Poll
from comfyfleet.dispatch import (
    Ask,
    Beat,
    Ended,
    Grant,
    Holder,
    LaneBook,
    LeaseSigner,
    Leasing,
    Place,
    QueueRules,
    Report,
)
from comfyfleet.kernel.errors import FleetError, LeaseLost
from comfyfleet.kernel.ids import LaneId, WorkflowId

Answer = Ended | LeaseLost
T = TypeVar("T")


class Verbs:
    """No floors, no memory from call to call."""

    def __init__(self, central: Database, workflow: WorkflowId, signer: LeaseSigner, rules: QueueRules) -> None:
        self._central, self._workflow = central, workflow
        self._signer, self._rules = signer, rules

    async def poll(self, polls: Sequence[Poll]) -> list[Grant | FleetError | None]:
        book = LaneBook()
        async with self._central.control_tx() as tx:
            await book.learn(tx)
            lanes = book.lanes_for(frozenset([self._workflow]), polls[0].providers)
            now = await fleet.hold_workers(tx, {poll.worker.id for poll in polls})
            refused = {poll: fleet.refusal(now.get(poll.worker.id), poll.worker) for poll in polls}
            asks = {poll: _ask(poll, lanes) for poll in polls if refused[poll] is None}
            leasing = Leasing(self._signer, self._rules, book=book)
            grants = (await dispatch.lease_dispatches(tx, list(asks.values()), leasing)).grants
        return [refused[poll] or grants.get(asks[poll]) for poll in polls]

    async def beat(self, beats: Sequence[Beat]) -> list[bool]:
        found = []
        for beat in beats:
            async with self._central.control_tx() as tx:
                extended, _ = await dispatch.extend_leases(tx, [beat], rules=self._rules)
            found.append(beat.proof.dispatch_id in extended)
        return found

    async def complete(self, reports: Sequence[Report]) -> list[Answer]:
        found = []
        for report in reports:
            async with self._central.control_tx() as tx:
                ended = await dispatch.complete_dispatches(tx, [report], signer=self._signer)
            found.append(ended[report.proof.dispatch_id])
        return found

    async def fail(self, report: Report) -> Answer:
        async with self._central.control_tx() as tx:
            return await dispatch.fail_dispatch(tx, report, signer=self._signer, rules=self._rules, chance=0.5)

    async def requeue(self, report: Report) -> Answer:
        async with self._central.control_tx() as tx:
            return await dispatch.requeue_dispatch(tx, report, signer=self._signer, rules=self._rules, chance=0.5)

    def queued(self, places: Collection[Place]) -> None: ...
    def came_back(self, lanes: Collection[LaneId]) -> None: ...
    def taken_back(self, ended: Collection[Ended]) -> None: ...
    def a_second_passes(self) -> None: ...
    async def close(self) -> None: ...


class Desks:
    """Two replicas. The machine says who comes to which; what happens at one is not told to the other."""

    def __init__(self, central: Database, workflow: WorkflowId, signer: LeaseSigner, rules: QueueRules) -> None:
        self._desks = [Desk(central, signer=signer, rules=rules) for _ in range(2)]
        self.at = 0

    @property
    def desk(self) -> Desk:
        return self._desks[self.at]

    async def poll(self, polls: Sequence[Poll]) -> list[Grant | FleetError | None]:
        await self.desk.polls.look()  # as it does every two seconds: lanes that are new are read
        return await _each(self.desk.poll(poll, wait_s=0.0) for poll in polls)

    async def beat(self, beats: Sequence[Beat]) -> list[bool]:
        """One call for the first two, if they are about two dispatches; then one each."""
        pair = 2 if len({beat.proof.dispatch_id for beat in beats[:2]}) == 2 else 1
        calls = [beats[:pair], *([beat] for beat in beats[pair:])]
        found = await asyncio.gather(*(self.desk.heartbeat(call) for call in calls))
        return [
            beat.proof.dispatch_id in extended for call, extended in zip(calls, found, strict=True) for beat in call
        ]

    async def complete(self, reports: Sequence[Report]) -> list[Answer]:
        return await _each(self.desk.complete(report) for report in reports)

    async def fail(self, report: Report) -> Answer:
        return (await _each([self.desk.fail(report)]))[0]

    async def requeue(self, report: Report) -> Answer:
        return (await _each([self.desk.requeue(report)]))[0]

    def queued(self, places: Collection[Place]) -> None:
        self.desk.queued(places)

    def came_back(self, lanes: Collection[LaneId]) -> None:
        self.desk.came_back(lanes)

    def taken_back(self, ended: Collection[Ended]) -> None:
        self.desk.taken_back(ended)

    def a_second_passes(self) -> None:
        for desk in self._desks:
            desk.polls._floors_until = 0.0

    async def close(self) -> None:
        for desk in self._desks:
            await desk.stop()


async def _each(calls: "Sequence[Awaitable[T]] | object") -> "list[T]":
    """At once. A refusal is an answer; anything else that is raised is a fault."""
    found = await asyncio.gather(*calls, return_exceptions=True)  # type: ignore[misc]
    for each in found:
        if isinstance(each, BaseException) and not isinstance(each, FleetError):
            raise each
    return list(found)


def _ask(poll: Poll, lanes: frozenset[LaneId]) -> Ask:
    holder = Holder(poll.worker.id, poll.worker.incarnation)
    return Ask(holder, lanes, poll.leases_max, poll_id=poll.poll_id)
