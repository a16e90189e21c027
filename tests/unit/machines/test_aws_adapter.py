"""The adapter of AWS, against a far end of our own that delays and refuses; against moto for the shapes of calls."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from comfyfleet.aws import AwsProblem
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.machines import AdapterProblem, build_adapter, inspect_adapter, list_machines
from comfyfleet.machines.adapters import check_adapter
from comfyfleet.machines.adapters.aws import AwsMachines, plan
from comfyfleet.machines.adapters.aws import machines as adapter_module
from comfyfleet.scaling import (
    CloudState,
    LaunchAnswer,
    LaunchProblem,
    LaunchRequest,
    MachineClass,
    Market,
    Offer,
    PlannedMachines,
    ScalingSettings,
)
from tests.fake_aws import FakeAws, Refusal, fake_aws

REGION = "eu-central-1"
GROUPS: list[dict[str, Any]] = [{"name": "gpus", "class": "gpu", "market": "spot"}]
GPU = MachineClass("gpu", offers=(Offer(Market.SPOT, 0.4),))
SCALING = ScalingSettings(classes=(GPU,), max_workers=5)
REQUEST = LaunchRequest("gpu", Market.SPOT, "", 2)


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


def adapter_of(aws: FakeAws, **given: Any) -> AwsMachines:
    settings = {"region": REGION, "groups": GROUPS, "endpoint_url": aws.url, **given}
    built = build_adapter("video/test", "aws", settings)
    assert isinstance(built, AwsMachines)
    assert isinstance(built, PlannedMachines)
    return built


async def test_machines_are_listed_with_their_state_place_and_launch_time(aws: FakeAws) -> None:
    group = aws.add("other", zones=("eu-central-1b",))
    listed = {"Pending:Wait": "pending", "InService": "running", "Terminating:Wait": "stopping", "Standby": "running"}
    for state in [*listed, "Warmed:Stopped", "Terminated"]:
        aws._start(group, "eu-central-1b", state)
    group.instances[1].launched_at = 1_000.0
    adapter = adapter_of(aws, groups=[*GROUPS, {"name": "other", "class": "big"}])
    found = await list_machines(adapter, "aws")
    assert [each.state for each in found] == [CloudState(each) for each in listed.values()]
    assert found[1].launched_at_s == 1_000.0
    assert {each.place for each in found} == {("big", Market.ON_DEMAND, "eu-central-1b")}
    await adapter.describe()
    assert aws.count("DescribeInstances") == 1, "launch times do not change"


async def test_the_same_token_launches_once_and_a_lack_of_capacity_is_known_at_once(aws: FakeAws) -> None:
    aws.groups["gpus"].capacity = 1
    adapter = adapter_of(aws)
    assert await adapter.plan_launch(REQUEST, []) is None, "one zone: LaunchInstances"
    first, again = await adapter.launch(REQUEST, "t1"), await adapter.launch(REQUEST, "t1")
    assert first == again
    assert (len(first.ids), len(aws.groups["gpus"].instances)) == (1, 1)
    [error] = first.errors
    assert (error.problem, error.number) == (LaunchProblem.CAPACITY, 1)
    assert "InsufficientInstanceCapacity g5.xlarge/spot none left" in error.text


@pytest.mark.parametrize(
    ("refusal", "problem", "word"),
    [
        (Refusal("AccessDenied", "User is not authorized", 403), LaunchProblem.REFUSED, "allow autoscaling:LaunchInst"),
        (Refusal("ExpiredToken", "expired", 403), LaunchProblem.REFUSED, "does not accept the server's credentials"),
        (Refusal("ValidationError", "AutoScalingGroup name not found"), LaunchProblem.REFUSED, "name not found"),
        (Refusal("IdempotentParameterMismatch", "x"), LaunchProblem.REFUSED, "IdempotentParameterMismatch"),
        (Refusal("IdempotentCallInProgress", "x", 409), LaunchProblem.UNREACHABLE, "asked again"),
        (Refusal("ResourceContention", "x", 409), LaunchProblem.UNREACHABLE, "asked again"),
        (Refusal("MaxSpotInstanceCountExceeded", "x"), LaunchProblem.QUOTA, "MaxSpotInstanceCountExceeded"),
        (Refusal("InvalidAction", "no such action"), LaunchProblem.PENDING, "the desired capacity is raised instead"),
    ],
)
async def test_what_aws_refuses_is_told_in_its_kind(
    aws: FakeAws, refusal: Refusal, problem: LaunchProblem, word: str
) -> None:
    adapter = adapter_of(aws)
    aws.refuses["LaunchInstances"] = refusal
    answer = await adapter.launch(REQUEST, "t1")
    assert (answer.ids, answer.errors[0].problem, answer.errors[0].number) == ((), problem, 2)
    assert word in answer.errors[0].text
    if problem is LaunchProblem.PENDING:
        assert await adapter.plan_launch(REQUEST, []) is not None
        adapter_module._without_tokens.clear()


async def test_throttling_is_tried_again_by_the_client_and_then_left_open(aws: FakeAws) -> None:
    adapter = adapter_of(aws)
    aws.refuses["LaunchInstances"], aws.refuses_times["LaunchInstances"] = Refusal("Throttling", "slow", 400), 2
    assert len((await adapter.launch(REQUEST, "t1")).ids) == 2
    aws.refuses_times["LaunchInstances"] = 3
    [error] = (await adapter.launch(REQUEST, "t2")).errors
    assert (error.problem, "limits how often" in error.text) == (LaunchProblem.UNREACHABLE, True)


async def test_without_credentials_or_a_group_the_list_says_what_to_do(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AdapterProblem, match=r"no Auto Scaling group 'gone' in eu-central-1.*correct its name"):
        await list_machines(adapter_of(aws, groups=[{"name": "gone"}]), "aws")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    with pytest.raises(AdapterProblem, match=r"there are no credentials .*instance role"):
        await list_machines(adapter_of(aws), "aws")
    [error] = (await adapter_of(aws).launch(REQUEST, "t")).errors
    assert error.problem is LaunchProblem.REFUSED


async def test_only_machines_of_its_groups_are_ended_and_unknown_ones_are_ignored(aws: FakeAws) -> None:
    foreign = aws._start(aws.add("foreign"), "eu-central-1a", "InService")
    adapter = adapter_of(aws)
    mine = (await adapter.launch(REQUEST, "t1")).ids
    await adapter.terminate([mine[0], foreign, "i-0123456789abcdef0", "local-1", "x" * 60])
    await adapter.terminate([mine[0]])
    states = {each.id: each.state for group in aws.groups.values() for each in group.instances}
    assert states == {mine[0]: "Terminating", mine[1]: "Pending", foreign: "InService"}
    assert (aws.groups["gpus"].desired, aws.count("TerminateInstanceInAutoScalingGroup")) == (1, 1)
    aws.refuses["TerminateInstanceInAutoScalingGroup"] = Refusal("AccessDenied", "no", 403)
    with pytest.raises(AwsProblem, match="allow autoscaling:TerminateInstanceInAutoScalingGroup"):
        await adapter.terminate([mine[1]])


# ── desired capacity ────────────────────────────────────────────────────────────────────────


async def _planned(adapter: AwsMachines, request: LaunchRequest = REQUEST, *open_plans: str) -> str:
    made = await adapter.plan_launch(request, open_plans)
    assert made is not None
    return made


async def _follow(adapter: AwsMachines, made: str, request: LaunchRequest = REQUEST) -> tuple[LaunchAnswer, str]:
    answer = await adapter.launch_planned(request, made)
    return answer, answer.plan or made


async def test_a_planned_launch_sets_one_number_however_often_it_is_repeated(aws: FakeAws) -> None:
    group = aws.groups["gpus"]
    aws._start(group, "eu-central-1a", "InService")
    group.desired = 1
    adapter = adapter_of(aws, launch="desired_capacity")
    made = await _planned(adapter)
    for _ in range(3):
        answer, _ = await _follow(adapter, made)
        assert [each.problem for each in answer.errors] == [LaunchProblem.PENDING]
    assert (group.desired, aws.count("SetDesiredCapacity")) == (3, 1)
    aws.settle()
    answer, _ = await _follow(adapter, made)
    assert answer == LaunchAnswer(tuple(each.id for each in group.instances[1:]))


async def test_two_open_plans_of_a_group_add_up(aws: FakeAws) -> None:
    adapter = adapter_of(aws, launch="desired_capacity")
    first = await _planned(adapter)
    second = await _planned(adapter, REQUEST, first)
    for made in (first, second):
        await _follow(adapter, made)
    aws.settle()
    found = [(await _follow(adapter, made))[0].ids for made in (first, second)]
    assert len({each for ids in found for each in ids}) == 4 == aws.groups["gpus"].desired


async def test_machines_that_are_ended_during_a_launch_are_not_started_again(aws: FakeAws) -> None:
    """A fleet ends three and launches two at once: the lower number is not raised again."""
    group, adapter = aws.groups["gpus"], adapter_of(aws, launch="desired_capacity")
    old = [aws._start(group, "eu-central-1a", "InService") for _ in range(3)]
    group.desired = 3
    _, made = await _follow(adapter, await _planned(adapter))
    await adapter.terminate(old)
    answer, made = await _follow(adapter, made)
    assert (group.desired, answer.errors[0].problem) == (2, LaunchProblem.PENDING)
    aws.settle()
    answer, _ = await _follow(adapter, made)
    assert (set(answer.ids), group.desired) == ({each.id for each in group.instances}, 2)


async def test_a_lack_of_capacity_ends_the_launch_and_the_number_is_taken_back_when_nothing_stands(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    group, adapter = aws.groups["gpus"], adapter_of(aws, launch="desired_capacity")
    group.capacity = 1
    _, made = await _follow(adapter, await _planned(adapter))
    aws.settle()
    answer, _ = await _follow(adapter, made)
    assert (len(answer.ids), answer.errors[0].problem, answer.errors[0].number) == (1, LaunchProblem.CAPACITY, 1)
    assert "do not have sufficient g5.xlarge capacity" in answer.errors[0].text
    await adapter.describe()
    await adapter.withdraw()
    assert group.desired == 2, "a machine stands: AWS would choose which one to end"
    group.capacity, group.failures = 0, []
    await adapter.terminate(answer.ids)
    aws.settle()
    _, made = await _follow(adapter, await _planned(adapter))
    monkeypatch.setattr(plan, "WAITS_S", -1.0)
    group.failures = []
    answer, _ = await _follow(adapter, made)
    assert "AWS has started none" in answer.errors[0].text
    await adapter.describe()
    await adapter.withdraw()
    assert group.desired == 0


async def test_the_groups_maximum_is_told_and_nothing_above_it_is_asked(aws: FakeAws) -> None:
    group, adapter = aws.groups["gpus"], adapter_of(aws, launch="desired_capacity")
    group.most = 1
    _, made = await _follow(adapter, await _planned(adapter))
    aws.settle()
    answer, _ = await _follow(adapter, made)
    assert (len(answer.ids), answer.errors[0].problem, answer.errors[0].number) == (1, LaunchProblem.QUOTA, 1)
    assert "may have 1 instances (its MaxSize) and would need 2; raise MaxSize" in answer.errors[0].text
    answer, _ = await _follow(adapter, await _planned(adapter))
    assert (answer.ids, answer.errors[0].number, group.desired) == ((), 2, 1)


# ── settings ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "field", "word"),
    [
        ({"region": "frankfurt"}, "adapter_settings.region", "'frankfurt' is no name of an AWS region"),
        ({"groups": []}, "adapter_settings.groups", "allowed: 1 to 50"),
        ({"groups": [{"name": ""}]}, "adapter_settings.groups", "has the name ''"),
        ({"groups": GROUPS * 2}, "adapter_settings.groups", "names 'gpus' twice"),
        ({"groups": [{"name": "a", "type": "x"}]}, "adapter_settings", "unknown field `type`"),
        ({"launch": "maybe"}, "adapter_settings", "Invalid enum value 'maybe'"),
        ({"endpoint_url": "ftp://x"}, "adapter_settings.endpoint_url", "must begin with https://"),
        ({"groups": [{"name": "a", "class": "big"}]}, "adapter_settings.groups", "no group for class 'gpu'"),
        (
            {"groups": [*GROUPS, {"name": "b", "class": "gpu", "market": "spot"}]},
            "adapter_settings.groups",
            "2 groups for class 'gpu', market 'spot': gpus, b",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(given: dict[str, Any], field: str, word: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_adapter("aws", {"region": REGION, "groups": GROUPS, **given}, SCALING)
    assert (refused.value.field, word in refused.value.message) == (field, True)


@pytest.mark.parametrize(
    ("group", "word"),
    [
        ({"least": 1, "desired": 1}, "has MinSize 1; set it to 0"),
        ({"zones": ("eu-central-1a", "eu-central-1b")}, "suspend its process AZRebalance"),
        ({"policy": (0, 100)}, "is set as spot, but its mixed instances policy launches on_demand"),
        ({"policy": (0, 0), "weights": "4"}, "remove WeightedCapacity"),
        ({"most": 4}, "is 5, but the groups may have 4 instances together"),
    ],
)
async def test_groups_that_are_not_fit_are_refused_when_they_are_set(
    aws: FakeAws, group: dict[str, Any], word: str
) -> None:
    settings = {"region": REGION, "groups": GROUPS, "endpoint_url": aws.url}
    await inspect_adapter("aws", settings, SCALING)
    aws.add("gpus", **group)
    with pytest.raises(InvalidInput) as refused:
        await inspect_adapter("aws", settings, SCALING)
    assert word in refused.value.message


async def test_a_group_or_a_region_that_does_not_exist_is_refused_when_it_is_set(aws: FakeAws) -> None:
    settings = {"region": REGION, "groups": GROUPS, "endpoint_url": aws.url}
    aws.groups.clear()
    with pytest.raises(InvalidInput, match="no Auto Scaling group 'gpus' in eu-central-1") as refused:
        await inspect_adapter("aws", settings, SCALING)
    assert refused.value.field == "adapter_settings.groups"
    aws.refuses["*"] = Refusal("InternalFailure", "no", 500)
    with pytest.raises(AwsProblem, match="AWS failed"):
        await inspect_adapter("aws", settings, SCALING)
    with pytest.raises(InvalidInput, match="no region that boto3 knows") as refused:
        await inspect_adapter("aws", {**settings, "region": "eu-nowhere-1"}, SCALING)
    assert refused.value.field == "adapter_settings.region"


async def test_zones_are_those_of_the_group(aws: FakeAws) -> None:
    two = ("eu-central-1a", "eu-central-1b")
    aws.add("gpus", zones=two, suspended=("AZRebalance",))
    settings = {"region": REGION, "groups": GROUPS, "endpoint_url": aws.url, "launch": "launch_instances"}
    with pytest.raises(InvalidInput, match="zones=eu-central-1a\\+eu-central-1b"):
        await inspect_adapter("aws", settings, SCALING)
    await inspect_adapter("aws", settings, replace(SCALING, classes=(replace(GPU, zones=two),)))
    with pytest.raises(InvalidInput, match="not in zone 'eu-central-1c'"):
        await inspect_adapter("aws", settings, replace(SCALING, classes=(replace(GPU, zones=("eu-central-1c",)),)))
    adapter = adapter_of(aws)
    assert await adapter.plan_launch(REQUEST, []) is not None, "AWS chooses the zone"
    assert await adapter.plan_launch(replace(REQUEST, zone=two[1]), []) is None
    [first, _] = (await adapter.launch(replace(REQUEST, zone=two[1]), "t")).ids
    assert {each.zone for each in aws.groups["gpus"].instances if each.id == first} == {two[1]}


async def test_moto_takes_the_calls_as_aws_would(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of-a-test")
    with mock_aws():
        ec2, scaling = boto3.client("ec2", region_name=REGION), boto3.client("autoscaling", region_name=REGION)
        image_id = ec2.describe_images(Owners=["amazon"])["Images"][0]["ImageId"]
        scaling.create_launch_configuration(LaunchConfigurationName="g", ImageId=image_id, InstanceType="g5.xlarge")
        scaling.create_auto_scaling_group(
            AutoScalingGroupName="gpus",
            LaunchConfigurationName="g",
            MinSize=0,
            MaxSize=5,
            AvailabilityZones=[f"{REGION}a"],
        )
        settings = {"region": REGION, "groups": GROUPS, "launch": "desired_capacity"}
        await inspect_adapter("aws", settings, SCALING)
        adapter = build_adapter("video/test", "aws", settings)
        assert isinstance(adapter, AwsMachines)
        answer, made = await _follow(adapter, await _planned(adapter))
        assert answer.errors[0].problem is LaunchProblem.PENDING
        answer, _ = await _follow(adapter, made)
        assert len(answer.ids) == 2
        listed = await list_machines(adapter, "aws")
        assert {each.id for each in listed} == set(answer.ids)
        assert {each.state for each in listed} == {CloudState.RUNNING}
        await asyncio.gather(adapter.terminate([answer.ids[0], "i-0123456789abcdef0"]))
        assert [each.id for each in await adapter.describe()] == [answer.ids[1]]
        [group] = scaling.describe_auto_scaling_groups(AutoScalingGroupNames=["gpus"])["AutoScalingGroups"]
        assert group["DesiredCapacity"] == 1
