"""Reading Auto Scaling groups. Everything here runs in a thread and raises AwsProblem."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from comfyfleet.aws import AwsFault, AwsProblem, aws_client, call_aws
from comfyfleet.machines.adapters.aws.settings import AwsSettings
from comfyfleet.scaling import CloudState

GROUPS_A_CALL = 50
PAGES_MAX = 200
LAUNCH_TIMES_MAX = 50_000
ACTIVITIES_MAX = 100
GROUP_TAG = "aws:autoscaling:groupName"
# Without them nothing of an instance can run: it is gone, or belongs to a warm pool.
GONE_STATES = frozenset({"Terminated", "Detached"})
LEAVING_STATES = frozenset({"Terminating", "Detaching"})
# In the group, but not counted by its desired capacity.
UNCOUNTED_STATES = frozenset({"Terminating", "Detaching", "Terminated", "Detached", "EnteringStandby", "Standby"})
FAILED_ACTIVITIES = frozenset({"Failed", "Cancelled"})

# By region and instance: a launch time never changes, and asking for all of them each tick would cost calls.
_launch_times: dict[tuple[str, str], float] = {}


@dataclass(frozen=True, slots=True)
class GroupInstance:
    id: str
    lifecycle: str
    zone: str

    @property
    def state(self) -> CloudState | None:
        """None: it does not run. States that are not known here count as running, which ends nothing."""
        word = self.lifecycle.partition(":")[0]
        if word in GONE_STATES or word == "Warmed":
            return None
        if word in LEAVING_STATES:
            return CloudState.STOPPING
        return CloudState.PENDING if word in ("Pending", "Quarantined") else CloudState.RUNNING

    @property
    def counts(self) -> bool:
        """Towards the desired capacity."""
        word = self.lifecycle.partition(":")[0]
        return word not in UNCOUNTED_STATES and word != "Warmed"


@dataclass(frozen=True, slots=True)
class GroupView:
    """`at_s`: by AWS's clock, when this was read."""

    name: str
    desired: int
    least: int
    most: int
    zones: tuple[str, ...]
    suspended: frozenset[str]
    is_weighted: bool
    markets: str | None
    instances: tuple[GroupInstance, ...]
    at_s: float

    @property
    def standing(self) -> tuple[GroupInstance, ...]:
        return tuple(each for each in self.instances if each.counts)


def read_groups(settings: AwsSettings, names: Sequence[str]) -> dict[str, GroupView]:
    """Raises AwsProblem also where one of them does not exist."""
    client = aws_client("autoscaling", settings.region, settings.endpoint_url)
    found: dict[str, GroupView] = {}
    for first in range(0, len(names), GROUPS_A_CALL):
        asked = {"AutoScalingGroupNames": list(names[first : first + GROUPS_A_CALL]), "MaxRecords": 100}
        for page in _pages(client, "autoscaling:DescribeAutoScalingGroups", asked):
            at_s = _time_of(page)
            found |= {each["AutoScalingGroupName"]: _view(each, at_s) for each in page["AutoScalingGroups"]}
    if missing := [name for name in names if name not in found]:
        raise AwsProblem(
            AwsFault.REFUSED,
            "autoscaling:DescribeAutoScalingGroups",
            f"there is no Auto Scaling group {missing[0]!r} in {settings.region} for the server's account; "
            "make it, or correct its name or the region in adapter_settings",
        )
    return found


def read_group(settings: AwsSettings, name: str) -> GroupView:
    return read_groups(settings, [name])[name]


def read_launch_times(settings: AwsSettings, groups: Iterable[str], ids: Iterable[str]) -> dict[str, float]:
    """Of those that EC2 knows. It may list a new instance a moment after its group does."""
    wanted = set(ids)
    if any((settings.region, each) not in _launch_times for each in wanted):
        _ask_launch_times(settings, list(groups))
    return {each: _launch_times[settings.region, each] for each in wanted if (settings.region, each) in _launch_times}


def read_failures(settings: AwsSettings, group: str, *, since_s: float) -> list[str]:
    """What AWS says of launches that began since then and failed, newest first."""
    client = aws_client("autoscaling", settings.region, settings.endpoint_url)
    asked = {"AutoScalingGroupName": group, "MaxRecords": ACTIVITIES_MAX}
    answer = call_aws(client, "autoscaling:DescribeScalingActivities", asked)
    return [
        str(each.get("StatusMessage") or each.get("Cause") or "no reason given")
        for each in answer["Activities"]
        if each["StatusCode"] in FAILED_ACTIVITIES
        and each["StartTime"].timestamp() >= since_s
        and str(each.get("Description", "Launching")).startswith("Launching")
    ]


def _ask_launch_times(settings: AwsSettings, groups: list[str]) -> None:
    client = aws_client("ec2", settings.region, settings.endpoint_url)
    asked = {
        "Filters": [
            {"Name": f"tag:{GROUP_TAG}", "Values": groups},
            {"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "shutting-down"]},
        ],
        "MaxResults": 1000,
    }
    if len(_launch_times) > LAUNCH_TIMES_MAX:
        _launch_times.clear()
    for page in _pages(client, "ec2:DescribeInstances", asked):
        for reservation in page["Reservations"]:
            for each in reservation["Instances"]:
                _launch_times[settings.region, each["InstanceId"]] = each["LaunchTime"].timestamp()


def _pages(client: Any, action: str, asked: Mapping[str, Any]) -> Iterable[Any]:
    token = None
    for _ in range(PAGES_MAX):
        page = call_aws(client, action, {**asked, "NextToken": token} if token else asked)
        yield page
        token = page.get("NextToken")
        if not token:
            return
    raise AwsProblem(AwsFault.REFUSED, action, f"AWS answered more than {PAGES_MAX} pages; name fewer groups")


def _view(said: Mapping[str, Any], at_s: float) -> GroupView:
    policy = said.get("MixedInstancesPolicy") or {}
    overrides = (policy.get("LaunchTemplate") or {}).get("Overrides") or []
    return GroupView(
        name=said["AutoScalingGroupName"],
        desired=said["DesiredCapacity"],
        least=said["MinSize"],
        most=said["MaxSize"],
        zones=tuple(said["AvailabilityZones"]),
        suspended=frozenset(each["ProcessName"] for each in said.get("SuspendedProcesses") or []),
        is_weighted=said.get("DesiredCapacityType") not in (None, "", "units")
        or any(str(each.get("WeightedCapacity") or "1") != "1" for each in overrides),
        markets=_markets(policy.get("InstancesDistribution")),
        instances=tuple(
            GroupInstance(each["InstanceId"], each["LifecycleState"], each["AvailabilityZone"])
            for each in said.get("Instances") or []
        ),
        at_s=at_s,
    )


def _markets(distribution: Mapping[str, Any] | None) -> str | None:
    """What a mixed policy launches: `spot`, `on_demand` or `both`. None: there is none, the template decides."""
    if distribution is None:
        return None
    share, base = distribution.get("OnDemandPercentageAboveBaseCapacity", 100), distribution.get("OnDemandBaseCapacity")
    if share == 100:
        return "on_demand"
    return "both" if share or base else "spot"


def _time_of(page: Mapping[str, Any]) -> float:
    """AWS's own clock, where the answer tells it: activities are compared with it."""
    said = page.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date", "")
    try:
        return parsedate_to_datetime(said).timestamp()
    except (TypeError, ValueError):
        return time.time()
