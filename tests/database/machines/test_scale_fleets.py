"""From an order into an empty fleet to a lease and back to zero; whatever stops in between. On both engines."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from comfyfleet import fleet, machines
from comfyfleet.db.tables import comfyui_workers, fleet_decisions, fleet_launches, fleet_machines
from comfyfleet.dispatch import Grant, Holder
from comfyfleet.dispatch import Provider as OfDispatch
from comfyfleet.fleet import Fleet, FleetRules, NewWorker, WorkerEvent
from comfyfleet.house import House
from comfyfleet.kernel.errors import Forbidden, LimitReached, NotFound
from comfyfleet.kernel.ids import WorkflowId, id_at
from comfyfleet.machines import ListedMachine, ListedState, MachinesRun
from comfyfleet.scaling import (
    CloudMachine,
    EndReason,
    LaunchAnswer,
    LaunchError,
    LaunchProblem,
    LaunchRequest,
    MachineClass,
    MachineEnd,
    Market,
    Offer,
    ScalingSettings,
)
from comfyfleet.scaling.fake_cloud import CloudHabits, FakeCloud
from comfyfleet.upkeep.scale_fleets import FleetScaler
from tests.builders import a_workflow
from tests.conftest import ManualClock
from tests.database.dispatch.test_queue import Queue

GPU = MachineClass("gpu", offers=(Offer(Market.ON_DEMAND, 2.0),))
SETTINGS = ScalingSettings(classes=(GPU,), max_workers=3, down_delay_s=20.0, first_start_s=60.0)
CONFIG = {"command": "true"}
RUN_S = 20.0


@dataclass
class Provider:
    """The fake cloud behind an adapter, and what may go wrong on the way there and back."""

    cloud: FakeCloud
    before_launch: BaseException | None = None
    after_launch: BaseException | None = None
    before_describe: BaseException | None = None
    before_terminate: BaseException | None = None
    answers: LaunchAnswer | None = None
    tokens: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    async def describe(self) -> Sequence[CloudMachine]:
        self._fail(self.before_describe)
        return self.cloud.describe()

    async def launch(self, request: LaunchRequest, token: str) -> LaunchAnswer:
        self.tokens.append(token)
        self._fail(self.before_launch)
        answer = self.cloud.launch(request, token) if self.answers is None else self.answers
        self._fail(self.after_launch)
        return answer

    async def terminate(self, ids: Sequence[str]) -> None:
        self.ended += ids
        self._fail(self.before_terminate)
        self.cloud.terminate(ids)

    def _fail(self, problem: BaseException | None) -> None:
        if problem is not None:
            raise problem


@dataclass
class Site:
    """A fleet that may run one workflow, its provider, and replicas that scale it."""

    house: House
    clock: ManualClock
    fleet: Fleet
    workflow_id: WorkflowId
    provider: Provider
    queue: Queue
    began_s: float

    def scaler(self) -> FleetScaler:
        return FleetScaler(self.house, adapters=lambda *_: self.provider, waits_s=30.0)

    async def tick(self, seconds: float = 0.0) -> None:
        """After some time, one tick of one replica."""
        self.pass_time(seconds)
        await self.scaler().tick()

    def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.provider.cloud.advance(time.time() + self.clock.offset_s)

    async def order(self, jobs: int = 1) -> None:
        for _ in range(jobs):
            await self.queue.add(workflow_id=self.workflow_id)

    async def set(
        self, settings: ScalingSettings, *, adapter: str = "command", config: Mapping[str, Any] = CONFIG
    ) -> None:
        async with self.house.control_tx() as tx:
            await machines.set_fleet_scaling(tx, self.fleet, settings, adapter=adapter, adapter_settings=config)

    async def register(self, name: str, rules: FleetRules | None = None) -> Holder:
        async with self.house.control_tx() as tx:
            new = NewWorker(name, "127.0.0.1")
            made = await fleet.register_worker(tx, new, fleet=self.fleet, rules=rules or FleetRules())
        return Holder(made.worker.id, made.worker.incarnation)

    async def rows(self, table: sa.Table, order: str | None = None) -> list[Any]:
        async with self.house.central.engine.connect() as connection:
            return list(await connection.execute(sa.select(*table.c).order_by(*([table.c[order]] if order else []))))

    async def last(self) -> Any:
        return (await self.rows(fleet_decisions, "decided_at"))[-1]

    async def status(self, worker: str) -> str:
        return next(str(row.status) for row in await self.rows(comfyui_workers) if row.worker_id == worker)

    @property
    def names(self) -> list[str]:
        return [each.id for each in self.provider.cloud.describe()]


@pytest.fixture
async def site(house: House, clock: ManualClock) -> Site:
    workflow = await a_workflow(house, expected_s=RUN_S)
    async with house.control_tx() as tx:
        made = await fleet.create_fleet(tx, slug="video", stage="test", name="Video")
        await fleet.assign_workflow(tx, made.id, workflow.id)
    cloud = FakeCloud(CloudHabits(start_median_s=60.0, start_sigma=0.01), now_s=time.time())
    built = Site(house, clock, made, workflow.id, Provider(cloud), Queue(house), time.time())
    await built.set(SETTINGS)
    return built


# ── the journey ─────────────────────────────────────────────────────────────────────────────


async def test_from_an_order_into_an_empty_fleet_to_a_lease_and_back_to_zero(site: Site) -> None:
    await site.tick()
    assert site.names == []
    await site.order()
    await site.tick()  # no time has passed: an empty fleet does not wait for its turn
    [name] = site.names
    decision = await site.last()
    assert (decision.reason, decision.desired, decision.waiting) == ("wake", 1, 1)
    await site.tick(10)
    assert ((await site.last()).starting, site.names) == (1, [name])
    site.pass_time(65)
    holder = await site.register(name)
    grant = await site.queue.lease(holder)
    assert grant is not None
    for _ in range(4):
        await site.tick(10)
        assert (await site.last()).ready == 1
        assert await site.status(name) == "approved", "it holds a lease"
    await site.queue.complete(grant, holder)
    [machine] = await site.rows(fleet_machines)
    assert 60 < machine.start_s < 90
    for _ in range(13):
        await site.tick(100)  # the work of the last 15 minutes keeps one worker
    assert site.names == []
    [machine] = await site.rows(fleet_machines)
    assert (machine.end_reason, machine.ended_at is not None) == ("drained", True)
    assert await site.status(name) == "gone"
    assert (await site.last()).desired == 0
    reasons = [row.reason for row in await site.rows(fleet_decisions, "decided_at")]
    assert {"wake", "surplus"} <= set(reasons)


async def test_an_order_elsewhere_wakes_nothing_and_leaves_no_row(site: Site) -> None:
    await site.tick()
    await site.queue.add()  # a workflow that the fleet may not run
    before = len(await site.rows(fleet_decisions))
    await site.tick()
    assert (len(await site.rows(fleet_decisions)), site.names) == (before, [])


async def test_work_that_arrives_is_counted_once(site: Site) -> None:
    """By the ids of its jobs, which tell when they were ordered."""
    await site.tick()
    [at] = [row.decided_at for row in await site.rows(fleet_decisions)]
    for seconds in (1, 2, 11):
        await site.queue.add(workflow_id=site.workflow_id, id=id_at(at + timedelta(seconds=seconds)))
    for _ in range(3):
        await site.tick(10)
    counted = [row.arrived_gpu_s for row in await site.rows(fleet_decisions, "decided_at")]
    assert counted == [0.0, 2 * RUN_S, RUN_S, 0.0]


async def test_the_maximum_counts_what_is_starting_and_what_was_started_by_hand(site: Site) -> None:
    await site.register("by-hand")
    await site.order(100)
    for _ in range(4):
        await site.tick(10)
    assert len(site.names) == 2
    assert (await site.last()).desired == 3


async def test_replicas_that_tick_at_once_launch_once(site: Site) -> None:
    await site.order(50)
    await asyncio.gather(*(site.scaler().tick() for _ in range(4)))
    assert site.provider.cloud.launches == len(site.names) == 1
    assert len(await site.rows(fleet_launches)) == 1


# ── crashes ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("where", ["before_launch", "after_launch"])
async def test_a_crash_around_a_launch_launches_nothing_twice_and_forgets_nothing(site: Site, where: str) -> None:
    """Between the decision's row and the call, and between the call and its noting."""
    await site.order()
    setattr(site.provider, where, asyncio.CancelledError())
    await site.tick()
    setattr(site.provider, where, None)
    [launch] = await site.rows(fleet_launches)
    assert launch.answered_at is None
    await site.tick(61)  # the replica that crashed held the fleet for so long
    assert site.provider.cloud.launches == 1
    assert set(site.provider.tokens) == {launch.token}
    [launch], [machine] = await site.rows(fleet_launches), await site.rows(fleet_machines)
    assert (launch.launched, machine.machine_id) == (1, site.names[0])
    await site.tick(10)
    assert site.provider.cloud.launches == 1


async def test_a_crash_around_the_end_of_a_machine_ends_it_later(site: Site) -> None:
    name = await _ready(site)
    await _drained(site, name)
    site.provider.before_terminate = asyncio.CancelledError()
    await site.tick(10)
    assert name in site.names
    with pytest.raises(Forbidden, match="is being ended"):
        await site.register(name)
    site.provider.before_terminate = None
    await site.tick(61)
    assert name not in site.names


async def test_a_decision_on_older_settings_is_dropped(site: Site) -> None:
    await site.order()
    async with site.house.control_tx(read_only=True) as tx:
        scaling = await machines.get_fleet_scaling(tx, site.fleet)
        seen = await machines.look(tx, scaling, [])
    decision, state = machines.choose(scaling, seen, unlisted=None, refused=None)
    assert decision.launches
    await site.set(ScalingSettings(classes=(GPU,), max_workers=0))
    async with site.house.control_tx() as tx:
        assert not await machines.note_decision(tx, scaling, seen, decision, state)
    assert await site.rows(fleet_launches) == []


# ── machines that hold leases ───────────────────────────────────────────────────────────────


async def _ready(site: Site) -> str:
    await site.order()
    await site.tick()
    [name] = site.names
    site.pass_time(65)
    holder = await site.register(name)
    grant = await site.queue.lease(holder)
    assert grant is not None
    await site.queue.complete(grant, holder)
    await site.tick(10)
    return name


async def _drained(site: Site, name: str) -> None:
    async with site.house.control_tx() as tx:
        await fleet.move_worker(tx, name, WorkerEvent.DRAIN)


async def _lease(site: Site, name: str) -> tuple[Grant, Holder]:
    await site.order()
    row = next(row for row in await site.rows(comfyui_workers) if row.worker_id == name)
    holder = Holder(row.id, row.incarnation)
    grant = await site.queue.lease(holder)
    assert grant is not None
    return grant, holder


async def test_a_drained_machine_with_a_lease_is_not_ended(site: Site) -> None:
    name = await _ready(site)
    grant, holder = await _lease(site, name)
    await _drained(site, name)
    for _ in range(3):
        await site.tick(10)
    assert name in site.names
    await site.queue.complete(grant, holder)
    await site.tick(10)
    assert name not in site.names


async def test_a_job_that_was_leased_since_the_decision_keeps_the_machine(site: Site) -> None:
    name = await _ready(site)
    await _lease(site, name)
    async with site.house.control_tx() as tx:
        assert not await machines.drain_worker(tx, site.fleet.id, name)
    await _drained(site, name)
    async with site.house.control_tx() as tx:
        ends = [MachineEnd(name, EndReason.DRAINED), MachineEnd("unknown", EndReason.ORPHANED)]
        assert await machines.ask_ends(tx, site.fleet.id, ends) == []


async def test_a_worker_that_is_at_work_keeps_its_machine_whatever_was_decided(site: Site) -> None:
    name = await _ready(site)
    async with site.house.control_tx() as tx:
        ends = [MachineEnd(name, reason) for reason in EndReason]
        assert await machines.ask_ends(tx, site.fleet.id, ends) == []


# ── providers that fail ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize(
    "failing",
    [
        {"before_describe": RuntimeError("AccessDenied: DescribeAutoScalingGroups")},
        {"before_describe": TimeoutError()},
    ],
)
async def test_a_provider_that_lists_nothing_holds_the_fleet(site: Site, failing: dict[str, Any]) -> None:
    name = await _ready(site)
    await site.order(100)
    for attribute, problem in failing.items():
        setattr(site.provider, attribute, problem)
    for _ in range(3):
        await site.tick(10)
    decision = await site.last()
    assert (decision.reason, decision.ready, decision.desired) == ("held", 1, 1)
    assert "command: " in decision.decision
    assert (site.names, len(site.provider.tokens)) == ([name], 1)
    site.provider.before_describe = None
    await site.tick(10)
    assert len(site.names) == 2


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (LaunchAnswer((), (LaunchError(LaunchProblem.REFUSED, "not authorized: LaunchInstances"),)), "not authorized"),
        (LaunchAnswer(("a", "a")), "twice"),
        (LaunchAnswer(("a", "b", "c", "d")), "4 machines where 1"),
        (LaunchAnswer(("",)), "names a machine ''"),
        (LaunchAnswer(()), "did not say why"),
    ],
)
async def test_a_launch_that_is_refused_or_makes_no_sense_is_no_loop(
    site: Site, answer: LaunchAnswer, word: str
) -> None:
    site.provider.answers = answer
    await site.order(5)
    for _ in range(5):
        await site.tick(10)
    held = [row.decision for row in await site.rows(fleet_decisions, "decided_at") if '"held":[{' in row.decision]
    assert any(word in each for each in held)
    assert len(await site.rows(fleet_launches)) == 1, "the same one again, or a rest"
    assert set(site.provider.tokens) == {(await site.rows(fleet_launches))[0].token}


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_a_launch_that_is_never_answered_is_given_up(site: Site) -> None:
    site.provider.before_launch = RuntimeError("connection refused")
    await site.order()
    await site.tick()
    await site.tick(300)
    [launch] = await site.rows(fleet_launches)
    assert launch.answered_at is None
    await site.tick(301)
    [launch, *_] = await site.rows(fleet_launches, "asked_at")
    assert (launch.launched, "connection refused" in launch.problem) == (0, True)


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_machines_that_never_register_are_ended_and_then_no_more_are_launched(site: Site) -> None:
    site.provider.cloud.habits = CloudHabits(stuck_share=1.0)
    await site.order()
    for _ in range(12):
        await site.tick(310)
    assert site.provider.cloud.launches == 3
    assert site.names == []
    assert {row.end_reason for row in await site.rows(fleet_machines)} == {"never_registered"}
    assert "never registered" in (await site.last()).decision
    async with site.house.control_tx() as tx:
        await machines.resume_fleet_launches(tx, site.fleet)
    await site.tick(60)
    assert site.provider.cloud.launches == 4


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_machines_that_end_before_they_register_are_no_loop(site: Site) -> None:
    await site.order()
    for _ in range(12):
        await site.tick(61)
        site.provider.cloud.terminate(site.names)
    assert site.provider.cloud.launches == 3
    assert "never registered" in (await site.last()).decision


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_a_machine_that_cannot_be_ended_counts_against_the_maximum(site: Site) -> None:
    name = await _ready(site)
    await _drained(site, name)
    site.provider.before_terminate = RuntimeError("not authorized: TerminateInstance")
    await site.order(100)
    for _ in range(7):
        await site.tick(10)
    assert (name in site.names, len(site.names)) == (True, 3)
    assert "not authorized" in (await site.last()).decision
    assert len(site.provider.ended) > 5, "it is tried again"


async def test_a_machine_that_was_taken_is_replaced_and_its_worker_no_longer_counts(site: Site) -> None:
    name = await _ready(site)
    await site.order(2)
    site.provider.cloud.terminate([name])
    await site.tick(61)
    assert await site.status(name) == "gone"
    assert site.provider.cloud.launches == 2


async def test_a_machine_that_is_lost_with_a_lease_stops_counting_at_once(site: Site) -> None:
    """Its worker's row still says approved, and holds the lease until that runs out."""
    name = await _ready(site)
    await _lease(site, name)
    site.provider.cloud.terminate([name])
    await site.tick(61)
    assert await site.status(name) == "approved"
    decision = await site.last()
    assert (decision.ready, decision.reason) == (0, "load")
    assert [each.state for each in await _listed(site)] == [ListedState.STARTING, ListedState.ENDED]


async def _listed(site: Site) -> list[ListedMachine]:
    async with site.house.control_tx(read_only=True) as tx:
        return await machines.list_fleet_machines(tx, site.fleet.id)


async def test_a_machine_that_ends_with_its_drained_worker_is_not_taken_for_a_new_one(site: Site) -> None:
    """A drained worker signs off and ends by itself, and a local machine with it: within a minute of its launch."""
    await site.order()
    await site.tick()
    [name] = site.names
    holder = await site.register(name)
    grant = await site.queue.lease(holder)
    assert grant is not None
    await site.queue.complete(grant, holder)
    await _drained(site, name)
    async with site.house.control_tx() as tx:
        await fleet.move_worker(tx, name, WorkerEvent.LEAVE)
    site.provider.cloud.terminate([name])
    await site.tick(10)
    decision = await site.last()
    assert (decision.starting, [each.state for each in await _listed(site)][-1]) == (0, ListedState.ENDED)


async def test_machines_are_listed_from_their_launch_to_their_end(site: Site) -> None:
    await site.set(replace(SETTINGS, max_workers=1))
    await site.order()
    await site.tick()
    [name] = site.names
    [machine] = await _listed(site)
    assert (machine.machine_id, machine.state, machine.has_worker) == (name, ListedState.STARTING, False)
    assert (machine.machine_class, machine.market, machine.start_s) == ("gpu", Market.ON_DEMAND, None)
    site.pass_time(65)
    holder = await site.register(name)
    grant = await site.queue.lease(holder)
    assert grant is not None
    [machine] = await _listed(site)
    assert (machine.state, machine.leases, machine.has_worker) == (ListedState.READY, 1, True)
    await site.queue.complete(grant, holder)
    await site.tick(10)
    await _drained(site, name)
    [machine] = await _listed(site)
    assert machine.state is ListedState.DRAINING
    site.provider.before_terminate = RuntimeError("not now")
    await site.tick(10)
    [machine] = await _listed(site)
    assert (machine.state, machine.end_reason) == (ListedState.ENDING, "drained")
    site.provider.before_terminate = None
    await site.tick(10)
    await site.tick(61)
    assert [each.state for each in await _listed(site)] == [ListedState.STARTING, ListedState.ENDED]
    site.pass_time(3700)
    assert [each.state for each in await _listed(site)] == [ListedState.STARTING]


async def test_machines_that_ended_with_their_provider_are_written_off(site: Site) -> None:
    """Their jobs go on at once on others, and launches that were under way are not repeated."""
    name = await _ready(site)
    await _lease(site, name)
    await site.order(40)
    site.provider.before_launch = asyncio.CancelledError()
    await site.tick(10)
    assert [row.answered_at for row in await site.rows(fleet_launches, "asked_at")][-1] is None
    site.provider.cloud.terminate(site.names)
    async with site.house.control_tx() as tx:
        assert await machines.write_off_machines(tx, site.fleet.id) == [name]
        assert await machines.write_off_machines(tx, site.fleet.id) == []
    assert all(row.answered_at is not None for row in await site.rows(fleet_launches))
    assert await site.status(name) == "gone"
    site.provider.before_launch = None
    await site.tick(61)
    decision = await site.last()
    assert (decision.waiting, decision.ready, decision.reason) == (41, 0, "wake")
    async with site.house.control_tx() as tx:
        await machines.write_off_machines(tx, site.fleet.id)
        await machines.stop_fleet_scaling(tx, site.fleet)


async def test_a_shorter_load_window_empties_the_fleet_sooner(site: Site) -> None:
    await site.set(replace(SETTINGS, load_window_s=30.0))
    await _ready(site)
    for _ in range(9):
        await site.tick(10)
    assert site.names == []


async def test_work_that_no_machine_of_the_fleet_could_run_launches_nothing(site: Site) -> None:
    name = await _ready(site)
    for _ in range(13):
        await site.tick(100)
    assert site.names == []
    await site.queue.add(workflow_id=site.workflow_id, provider=OfDispatch.CLOUD)
    for _ in range(3):
        await site.tick(10)
    assert (site.names, name in site.provider.ended) == ([], True)


# ── settings and registration ───────────────────────────────────────────────────────────────


async def test_settings_are_read_back_and_turned_off_when_no_machine_runs(site: Site) -> None:
    async with site.house.control_tx(read_only=True) as tx:
        scaling = await machines.get_fleet_scaling(tx, site.fleet)
        assert (await fleet.get_fleet(tx, site.fleet.id)).scales_from_zero
    assert (scaling.settings, scaling.adapter, scaling.adapter_settings) == (SETTINGS, "command", CONFIG)
    await site.order()
    await site.tick()
    with pytest.raises(MachinesRun):
        async with site.house.control_tx() as tx:
            await machines.stop_fleet_scaling(tx, site.fleet)
    site.provider.cloud.terminate(site.names)
    await site.set(ScalingSettings(classes=(GPU,), max_workers=0))
    await site.tick(61)
    async with site.house.control_tx() as tx:
        await machines.stop_fleet_scaling(tx, site.fleet)
        with pytest.raises(NotFound):
            await machines.get_fleet_scaling(tx, site.fleet)


async def test_the_fleets_own_maximum_counts_at_registration_and_launched_machines_have_room(site: Site) -> None:
    few = FleetRules(max_fleet_workers=1)
    for number in range(3):
        await site.register(f"by-hand-{number}", few)
    with pytest.raises(LimitReached):
        await site.register("by-hand-3", few)
    await site.set(ScalingSettings(classes=(GPU,), max_workers=4))
    await site.order(100)
    await site.tick()
    [name] = site.names
    await site.register("by-hand-3", few)
    await site.register(name, few)


async def test_old_decisions_are_forgotten_the_quiet_ones_first(site: Site) -> None:
    await site.order()
    await site.tick()
    await site.tick(10)
    await site.tick(10)
    changes = [row.is_change for row in await site.rows(fleet_decisions, "decided_at")]
    assert changes == [True, True, False]
    site.pass_time(2 * 3600 + 60)
    async with site.house.control_tx() as tx:
        assert await machines.forget_old_decisions(tx, age_s=86_400) == 1
    site.pass_time(86_400)
    async with site.house.control_tx() as tx:
        assert await machines.forget_old_decisions(tx, age_s=86_400) == 2
    assert await site.rows(fleet_launches) == []
