"""Fleets that scale: look, decide, write it down, then ask the provider. One replica at a time for each fleet.

Whatever happens between two of these steps, the next tick goes on: a launch that was written down is asked for again
with the same token, a machine that was launched and not noted is found in the provider's list, and a machine that was
to be ended is ended again. No transaction is open while a provider is asked.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import structlog

from comfyfleet import machines
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.ids import FleetId, new_id
from comfyfleet.machines import AdapterProblem, FleetScaling, OpenLaunch, Seen
from comfyfleet.scaling import (
    ALERTING_HOLDS,
    CloudMachine,
    LaunchAnswer,
    LaunchProblem,
    Machines,
    PlannedMachines,
    ScalingDecision,
)

NAME = "scale_fleets"
EVERY_S = 10.0
# Never full: it looks at each fleet once.
BATCH = 1_000_000
# A replica that was killed holds its fleets for so long. Longer than asking a provider takes: otherwise two replicas
# ask at once, which costs calls and nothing else.
HOLD_S = 60.0
# A tick waits so long for its fleets; one whose provider is slow goes on beside the next tick.
WAITS_S = 5.0
# With a jitter of a quarter: replicas share the turns.
DUE_SHARE = 0.7
# A lack of capacity lets a place rest, and what is on its way is waited for: neither is a fault of the provider.
NO_FAILURE = frozenset({LaunchProblem.CAPACITY, LaunchProblem.PENDING})

log = structlog.get_logger()
Adapters = Callable[[str, str, Mapping[str, Any]], Machines]


@dataclass
class FleetScaler:
    """`adapters`: makes the adapter of a fleet, by the fleet's name, the adapter's and its settings."""

    house: House
    adapters: Adapters = machines.build_adapter
    holder: str = field(default_factory=lambda: str(new_id()))
    waits_s: float = WAITS_S
    every_s: float = EVERY_S
    _at_work: dict[FleetId, asyncio.Task[None]] = field(default_factory=dict)
    # Whether an order may change anything before the next turn. At first that is not known.
    wants_orders: bool = True

    async def tick(self) -> int:
        async with self.house.control_tx() as tx:
            every_s = self.every_s * DUE_SHARE
            due = await machines.due_fleets(tx, holder=self.holder, every_s=every_s, hold_s=HOLD_S)
        for fleet_id, is_turn in due.items():
            if fleet_id not in self._at_work:
                task = asyncio.create_task(self._scale(fleet_id, is_turn=is_turn), name=f"scale {fleet_id}")
                self._at_work[fleet_id] = task
        if self._at_work:
            await asyncio.wait(self._at_work.values(), timeout=self.waits_s)
        async with self.house.control_tx(read_only=True) as tx:
            self.wants_orders = await machines.any_empty_fleet(tx)
        failed = self._done()
        if failed:
            raise failed[0]
        return len(due)

    def queued(self, wake: Callable[[], None]) -> None:
        """Jobs came in: a fleet without a machine need not wait for its turn."""
        if self.wants_orders:
            wake()

    async def close(self) -> None:
        for task in self._at_work.values():
            task.cancel()
        await asyncio.gather(*self._at_work.values(), return_exceptions=True)
        self._at_work.clear()

    def _done(self) -> list[BaseException]:
        done = {name: task for name, task in self._at_work.items() if task.done()}
        for name in done:
            del self._at_work[name]
        return [problem for task in done.values() if not task.cancelled() and (problem := task.exception())]

    # ── one fleet ──

    async def _scale(self, fleet_id: FleetId, *, is_turn: bool) -> None:
        try:
            await self._scale_held(fleet_id, is_turn=is_turn)
        finally:
            async with self.house.control_tx() as tx:
                await machines.release_fleet(tx, fleet_id, holder=self.holder)
        self.house.live.scaling_changed()

    async def _scale_held(self, fleet_id: FleetId, *, is_turn: bool) -> None:
        scaling = await self._read(fleet_id)
        if scaling is None:
            return
        if not is_turn and not await self._has_work(scaling):
            return
        try:
            adapter = self.adapters(scaling.fleet, scaling.adapter, scaling.adapter_settings)
        except FleetError as problem:  # written by another version of the server
            await self._hold(scaling, problem.message)
            return
        await self._launch(scaling, adapter)
        try:
            listed = await machines.list_machines(adapter, scaling.adapter)
        except AdapterProblem as problem:
            await self._hold(scaling, problem.message)
            return
        await self._decide(fleet_id, adapter, listed)

    async def _decide(self, fleet_id: FleetId, adapter: Machines, listed: Sequence[CloudMachine]) -> None:
        scaling = await self._read(fleet_id)  # an answer may have taught something
        if scaling is None:
            return
        async with self.house.control_tx(read_only=True) as tx:
            seen = await machines.look(tx, scaling, listed)
            refused = await machines.last_refusal(tx, fleet_id)
        decision, state = machines.choose(scaling, seen, unlisted=None, refused=refused)
        async with self.house.control_tx() as tx:
            if not await machines.note_decision(tx, scaling, seen, decision, state):
                return  # the settings changed, or another replica has decided
            await machines.note_problem(tx, fleet_id, None)
        machines.count_decision(self.house.facts.note, scaling, seen)
        _tell(scaling, decision)
        self.house.live.scaling_changed()  # a provider may take minutes to answer
        if decision.launches:
            await self._launch(scaling, adapter)
        await self._drain(scaling, decision)
        await self._end(scaling, seen, decision, adapter)
        if not listed and not seen.unanswered and not decision.desired and isinstance(adapter, PlannedMachines):
            await self._withdraw(scaling, adapter)
        self.house.live.workers_changed()

    async def _hold(self, scaling: FleetScaling, why: str) -> None:
        """Its machines are not known: decide nothing, and say so."""
        async with self.house.control_tx(read_only=True) as tx:
            seen = await machines.look(tx, scaling, None)
        decision, state = machines.choose(scaling, seen, unlisted=why, refused=None)
        async with self.house.control_tx() as tx:
            noted = await machines.note_decision(tx, scaling, seen, decision, state)
        if noted:
            machines.count_decision(self.house.facts.note, scaling, seen)
        _tell(scaling, decision)

    async def _read(self, fleet_id: FleetId) -> FleetScaling | None:
        async with self.house.control_tx(read_only=True) as tx:
            return await machines.find_fleet_scaling(tx, fleet_id)

    async def _has_work(self, scaling: FleetScaling) -> bool:
        async with self.house.control_tx(read_only=True) as tx:
            return (await machines.look(tx, scaling, None)).inputs.waiting > 0

    async def _launch(self, scaling: FleetScaling, adapter: Machines) -> None:
        """Everything that was decided and not answered, also by a replica that is gone."""
        async with self.house.control_tx(read_only=True) as tx:
            launches = await machines.open_launches(tx, scaling.fleet_id)
        plans = [each.plan for each in launches if each.plan is not None]
        for each in launches:
            answer = await self._launch_one(scaling, adapter, each, plans)
            if answer is None:
                return  # another replica is at it
            async with self.house.control_tx() as tx:
                noted = await machines.note_answer(tx, scaling, each, answer)
                if failed := [error.text for error in answer.errors if error.problem not in NO_FAILURE]:
                    await machines.note_problem(tx, scaling.fleet_id, failed[0])
            machines.count_answer(self.house.facts.note, scaling, each.request, answer, noted=noted)
            _tell_launch(scaling, each, answer)

    async def _launch_one(
        self, scaling: FleetScaling, adapter: Machines, launch: OpenLaunch, plans: list[str]
    ) -> LaunchAnswer | None:
        """Where the provider has no tokens, what it is asked for is written down first. `plans`: those still open."""
        if launch.plan is None and isinstance(adapter, PlannedMachines):
            try:
                plan = await machines.plan_launch(adapter, scaling.adapter, launch, plans)
            except AdapterProblem as problem:
                return machines.unreachable(launch.request, problem)
            if plan is not None:
                if not await self._note_plan(launch, plan):
                    return None
                plans.append(plan)
                launch = replace(launch, plan=plan)
        answer = await machines.launch_machines(adapter, scaling.adapter, launch, launch.plan)
        if answer.plan is not None and answer.plan != launch.plan and not await self._note_plan(launch, answer.plan):
            return None
        return answer

    async def _note_plan(self, launch: OpenLaunch, plan: str) -> bool:
        async with self.house.control_tx() as tx:
            return await machines.note_plan(tx, launch, plan)

    async def _withdraw(self, scaling: FleetScaling, adapter: PlannedMachines) -> None:
        try:
            await machines.withdraw_launches(adapter, scaling.adapter)
        except AdapterProblem as problem:
            async with self.house.control_tx() as tx:
                await machines.note_problem(tx, scaling.fleet_id, problem.message)
            log.warning("scaling.not_withdrawn", fleet=scaling.fleet, problem=problem.message)

    async def _drain(self, scaling: FleetScaling, decision: ScalingDecision) -> None:
        for worker_id in decision.drains:
            async with self.house.control_tx() as tx:
                drained = await machines.drain_worker(tx, scaling.fleet_id, worker_id)
            if drained:
                self.house.desk.worker_changed(worker_id)

    async def _end(self, scaling: FleetScaling, seen: Seen, decision: ScalingDecision, adapter: Machines) -> None:
        async with self.house.control_tx() as tx:
            asked = await machines.ask_ends(tx, scaling.fleet_id, decision.ends)
        reasons = {each.machine_id: each.reason for each in decision.ends}
        machines.count_ends(self.house.facts.note, scaling, seen, {each: reasons[each] for each in asked})
        ids = [*asked, *seen.lingering]
        if not ids:
            return
        try:
            await machines.end_machines(adapter, scaling.adapter, ids)
        except AdapterProblem as problem:
            async with self.house.control_tx() as tx:
                await machines.note_problem(tx, scaling.fleet_id, problem.message)
            log.warning("scaling.not_ended", fleet=scaling.fleet, machines=ids, problem=problem.message)
        else:
            log.info("scaling.ended", fleet=scaling.fleet, machines=ids)


def _tell(scaling: FleetScaling, decision: ScalingDecision) -> None:
    alerting = [each.text for each in decision.held if each.hold in ALERTING_HOLDS]
    if alerting:
        log.warning("scaling.held", fleet=scaling.fleet, problems=alerting)
    elif decision.launches or decision.drains or decision.ends:
        log.info("scaling.decided", fleet=scaling.fleet, desired=decision.desired, reason=decision.text)


def _tell_launch(scaling: FleetScaling, launch: OpenLaunch, answer: LaunchAnswer) -> None:
    problems = [each.text for each in answer.errors if each.problem is not LaunchProblem.PENDING]
    if not problems and not answer.ids:
        return  # on its way
    say = partial(log.warning, problems=problems) if problems else log.info
    say("scaling.launched", fleet=scaling.fleet, machines=answer.ids, asked=launch.request.number)
