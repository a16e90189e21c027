"""A fleet on Auto Scaling groups: what crashes, what AWS refuses, and whose machines they are. On both engines."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from comfyfleet import fleet, machines
from comfyfleet.db.tables import fleet_decisions, fleet_launches, fleet_machines
from comfyfleet.fleet import FleetRules, NewWorker
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.machines import FleetScaling, build_adapter, plan_launch
from comfyfleet.machines.adapters.aws import AwsMachines
from comfyfleet.scaling import EndReason, LaunchAnswer, LaunchRequest, MachineClass, MachineEnd, Market, Offer
from comfyfleet.upkeep.scale_fleets import FleetScaler
from tests.database.machines.test_scale_fleets import SETTINGS, Site
from tests.database.machines.test_scale_fleets import site as plain_site  # noqa: F401 a fixture
from tests.fake_aws import FakeAws, FakeGroup, Refusal, fake_aws

CLASSES = (MachineClass("gpu", offers=(Offer(Market.SPOT, 0.4),)),)


@pytest.fixture(scope="module")
def far_end() -> Iterator[FakeAws]:
    with fake_aws() as found:
        yield found


@pytest.fixture
def aws(far_end: FakeAws, monkeypatch: pytest.MonkeyPatch) -> FakeAws:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of-a-test")
    far_end.forget()
    far_end.add("gpus")
    return far_end


@pytest.fixture
async def site(plain_site: Site, aws: FakeAws) -> Site:  # noqa: F811
    await scale(plain_site, aws)
    return plain_site


async def scale(site: Site, aws: FakeAws, **given: Any) -> None:
    config = {
        "region": "eu-central-1",
        "groups": [{"name": "gpus", "class": "gpu", "market": "spot"}],
        "launch": "desired_capacity",
        "endpoint_url": aws.url,
        **given,
    }
    await site.set(replace(SETTINGS, classes=CLASSES), adapter="aws", config=config)


async def tick(site: Site, seconds: float = 10.0, scaler: FleetScaler | None = None) -> None:
    site.pass_time(seconds)
    await (scaler or FleetScaler(site.house, waits_s=60.0)).tick()


class Crash(BaseException):
    """As a process that is killed: no handler of ours runs."""


async def _at_work(site: Site, aws: FakeAws) -> str:
    """One machine whose worker is ready."""
    await site.order()
    for _ in range(2):
        await tick(site)
        aws.settle()
    [name] = [each.id for each in aws.groups["gpus"].instances]
    aws.groups["gpus"].instances[0].state = "InService"
    holder = await site.register(name)
    grant = await site.queue.lease(holder)
    assert grant is not None
    await site.queue.complete(grant, holder)
    await tick(site)
    return name


async def test_an_order_starts_a_machine_by_the_desired_capacity_and_it_ends_with_a_decrement(
    site: Site, aws: FakeAws
) -> None:
    name = await _at_work(site, aws)
    [launch] = await site.rows(fleet_launches)
    assert (launch.launched, launch.problem, aws.groups["gpus"].desired) == (1, None, 1)
    for _ in range(13):
        await tick(site, 100)
        aws.settle()
    assert (aws.groups["gpus"].desired, aws.groups["gpus"].instances) == (0, [])
    [machine] = await site.rows(fleet_machines)
    assert (machine.machine_id, machine.end_reason, machine.ended_at is not None) == (name, "drained", True)


@pytest.mark.parametrize("where", ["before the plan", "after the plan", "before the call", "after the call"])
async def test_a_crash_around_a_launch_by_desired_capacity_launches_once(
    site: Site, aws: FakeAws, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site.order(3)
    with monkeypatch.context() as patched:
        _crash(patched, where)
        scaler = FleetScaler(site.house, waits_s=60.0)
        site.pass_time(10)
        with pytest.raises(Crash):
            await scaler.tick()
    [launch] = await site.rows(fleet_launches)
    assert (launch.answered_at, launch.plan is None) == (None, where == "before the plan")
    assert aws.groups["gpus"].desired == (1 if where == "after the call" else 0)
    aws.settle()  # AWS goes on meanwhile
    for _ in range(2):
        await tick(site, 61)
        assert aws.groups["gpus"].desired == 1
        aws.settle()
    [launch, *_] = await site.rows(fleet_launches, "asked_at")
    assert (launch.launched, launch.machines) == (1, 1)
    assert {each.machine_id for each in await site.rows(fleet_machines)} == {
        each.id for each in aws.groups["gpus"].instances[:1]
    }


def _crash(patched: pytest.MonkeyPatch, where: str) -> None:
    call, note = AwsMachines.launch_planned, FleetScaler._note_plan

    async def call_and_crash(self: AwsMachines, request: LaunchRequest, plan: str) -> LaunchAnswer:
        if where == "after the call":
            await call(self, request, plan)
        raise Crash

    async def note_and_crash(self: FleetScaler, launch: Any, plan: str) -> bool:
        if where == "after the plan":
            await note(self, launch, plan)
        raise Crash

    if where.endswith("call"):
        patched.setattr(AwsMachines, "launch_planned", call_and_crash)
    else:
        patched.setattr(FleetScaler, "_note_plan", note_and_crash)


async def test_of_two_replicas_that_plan_a_launch_one_asks(site: Site, aws: FakeAws) -> None:
    await site.order()
    aws.refuses["SetDesiredCapacity"] = Refusal("ServiceUnavailable", "no", 503)
    aws.refuses_times["SetDesiredCapacity"] = 3
    await tick(site)
    async with site.house.control_tx(read_only=True) as tx:
        scaling: FleetScaling = await machines.get_fleet_scaling(tx, site.fleet)
        [launch] = await machines.open_launches(tx, site.fleet.id)
    adapter = build_adapter(scaling.fleet, scaling.adapter, scaling.adapter_settings)
    assert isinstance(adapter, AwsMachines)
    late = await plan_launch(adapter, "aws", replace(launch, plan=None), [])
    assert late is not None
    async with site.house.control_tx() as tx:
        assert not await machines.note_plan(tx, replace(launch, plan=None), late)
        assert await machines.note_plan(tx, launch, late)
    assert "AWS failed (ServiceUnavailable" in str(scaling.problem)


@pytest.mark.parametrize("engine", ["sqlite"])
@pytest.mark.parametrize(
    ("action", "launch", "word"),
    [
        ("SetDesiredCapacity", "desired_capacity", "allow autoscaling:SetDesiredCapacity in its IAM policy"),
        ("LaunchInstances", "launch_instances", "allow autoscaling:LaunchInstances in its IAM policy"),
        ("DescribeAutoScalingGroups", "auto", "allow autoscaling:DescribeAutoScalingGroups in its IAM policy"),
    ],
)
async def test_a_permission_that_is_missing_holds_the_fleet_and_is_no_loop(
    site: Site, aws: FakeAws, action: str, launch: str, word: str
) -> None:
    await scale(site, aws, launch=launch)
    aws.refuses[action] = Refusal("AccessDenied", "not authorized", 403)
    await site.order(50)
    for _ in range(5):
        await tick(site)
    held = [row.decision for row in await site.rows(fleet_decisions, "decided_at")]
    assert any(word in each and '"hold":"provider"' in each for each in held)
    assert len(await site.rows(fleet_launches)) <= 1, "then the place rests"
    assert (aws.count(action) <= 5, aws.groups["gpus"].desired) == (True, 0)


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_a_group_that_is_gone_ends_nothing_and_a_machine_at_work_stays(site: Site, aws: FakeAws) -> None:
    name = await _at_work(site, aws)
    group: FakeGroup = aws.groups.pop("gpus")
    await site.order(50)
    for _ in range(3):
        await tick(site, 400)
    last = await site.last()
    assert (last.reason, "there is no Auto Scaling group 'gpus' in eu-central-1" in last.decision) == ("held", True)
    assert await site.status(name) == "approved"
    assert aws.count("TerminateInstanceInAutoScalingGroup") == 0
    aws.groups["gpus"] = group
    await tick(site)
    assert (await site.last()).ready == 1


async def test_a_machine_whose_worker_joined_another_fleet_is_never_ended_by_this_one(site: Site, aws: FakeAws) -> None:
    """It would look as if it had never registered, and may hold a lease."""
    await site.order()
    for _ in range(2):
        await tick(site)
        aws.settle()
    [name] = [each.id for each in aws.groups["gpus"].instances]
    async with site.house.control_tx() as tx:
        other = await fleet.create_fleet(tx, slug="other", stage="test", name="Other")
        await fleet.register_worker(tx, NewWorker(name, "127.0.0.1"), fleet=other, rules=FleetRules())
    for _ in range(4):
        await tick(site, 310)
    async with site.house.control_tx() as tx:
        assert await machines.ask_ends(tx, site.fleet.id, [MachineEnd(name, each) for each in EndReason]) == []
    assert aws.groups["gpus"].instances[0].state == "Pending"
    assert aws.count("TerminateInstanceInAutoScalingGroup") == 0


async def test_a_group_belongs_to_one_fleet(site: Site, aws: FakeAws) -> None:
    async with site.house.control_tx() as tx:
        other = await fleet.create_fleet(tx, slug="other", stage="test", name="Other")
    again = replace(site, fleet=other)
    with pytest.raises(InvalidInput, match="gpus in eu-central-1 belongs to fleet video/test"):
        await scale(again, aws)
    await scale(site, aws)
    await scale(again, aws, groups=[{"name": "more", "class": "gpu", "market": "spot"}])
