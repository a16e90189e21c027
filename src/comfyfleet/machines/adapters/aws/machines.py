"""The adapter: lists, launches and ends the machines of a fleet's groups. boto3 is synchronous: it runs in threads."""

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from comfyfleet.aws import AwsFault, AwsProblem, aws_client, call_aws
from comfyfleet.machines.adapters.aws import groups as read
from comfyfleet.machines.adapters.aws.answers import answer_of, problem_answer
from comfyfleet.machines.adapters.aws.plan import GroupPlan, follow_plan, plan_for, read_plan
from comfyfleet.machines.adapters.aws.settings import AwsGroup, AwsSettings
from comfyfleet.scaling import CloudMachine, LaunchAnswer, LaunchError, LaunchProblem, LaunchRequest

INSTANCE_ID = re.compile(r"i-[0-9a-f]{8,17}")
INSTANCES_A_CALL = 50

# Endpoints that answered that they do not have LaunchInstances.
_without_tokens: set[tuple[str, str | None]] = set()


@dataclass(frozen=True, slots=True)
class AwsMachines:
    fleet: str
    settings: AwsSettings
    # Groups in which AWS still tries to start machines, and none stands: as the last list showed them.
    _forsaken: set[str] = field(default_factory=set)

    async def describe(self) -> Sequence[CloudMachine]:
        return await asyncio.to_thread(self._describe)

    async def plan_launch(self, request: LaunchRequest, open_plans: Sequence[str]) -> str | None:
        """None where LaunchInstances is used, which has tokens."""
        return await asyncio.to_thread(self._plan, request, [read_plan(each) for each in open_plans])

    async def launch_planned(self, request: LaunchRequest, plan: str) -> LaunchAnswer:
        return await asyncio.to_thread(follow_plan, self.settings, request, read_plan(plan))

    async def launch(self, request: LaunchRequest, token: str) -> LaunchAnswer:
        return await asyncio.to_thread(self._launch, request, token)

    async def terminate(self, ids: Sequence[str]) -> None:
        await asyncio.to_thread(self._terminate, ids)

    async def withdraw(self) -> None:
        await asyncio.to_thread(self._withdraw)

    # ── in a thread ──

    @property
    def _names(self) -> list[str]:
        return [each.name for each in self.settings.groups]

    def _describe(self) -> list[CloudMachine]:
        views = read.read_groups(self.settings, self._names)
        self._forsaken.clear()
        self._forsaken.update(name for name, view in views.items() if _is_forsaken(view))
        listed = [
            (group, each)
            for group in self.settings.groups
            for each in views[group.name].instances
            if each.state is not None
        ]
        times = read.read_launch_times(self.settings, self._names, [each.id for _, each in listed])
        return [
            CloudMachine(each.id, state, times.get(each.id, time.time()), group.market, group.machine_class, each.zone)
            for group, each in listed
            if (state := each.state) is not None
        ]

    def _group_for(self, request: LaunchRequest) -> AwsGroup | None:
        return self.settings.group_for(*request.place)

    def _plan(self, request: LaunchRequest, open_plans: Sequence[GroupPlan]) -> str | None:
        group = self._group_for(request)
        if group is None or self.settings.launch == "launch_instances":
            return None
        view = read.read_group(self.settings, group.name)
        if self.settings.launch == "auto" and self._has_tokens and (request.zone or len(view.zones) == 1):
            return None
        return plan_for(view, request, open_plans)

    @property
    def _has_tokens(self) -> bool:
        return (self.settings.region, self.settings.endpoint_url) not in _without_tokens

    def _launch(self, request: LaunchRequest, token: str) -> LaunchAnswer:
        group = self._group_for(request)
        if group is None:
            text = f"no group of adapter_settings holds {'/'.join(request.place)}; add one"
            return LaunchAnswer((), (LaunchError(LaunchProblem.REFUSED, text, request.number),))
        asked: dict[str, object] = {
            "AutoScalingGroupName": group.name,
            "RequestedCapacity": request.number,
            "ClientToken": token,
            "RetryStrategy": "none",
        }
        if request.zone:
            asked["AvailabilityZones"] = [request.zone]
        try:
            client = aws_client("autoscaling", self.settings.region, self.settings.endpoint_url)
            said = call_aws(client, "autoscaling:LaunchInstances", asked)
        except AwsProblem as problem:
            if problem.fault is AwsFault.UNKNOWN_ACTION and self.settings.launch == "auto":
                _without_tokens.add((self.settings.region, self.settings.endpoint_url))
                text = f"{problem.message}; the desired capacity is raised instead"
                return LaunchAnswer((), (LaunchError(LaunchProblem.PENDING, text, request.number),))
            return problem_answer(problem, request)
        return answer_of(said, request, group.name)

    def _terminate(self, ids: Sequence[str]) -> None:
        """Only instances of our own groups, whatever is asked. What cannot be ended does not keep the others."""
        client = aws_client("autoscaling", self.settings.region, self.settings.endpoint_url)
        failed: list[AwsProblem] = []
        for name in self._ours(client, ids):
            asked = {"InstanceId": name, "ShouldDecrementDesiredCapacity": True}
            try:
                call_aws(client, "autoscaling:TerminateInstanceInAutoScalingGroup", asked)
            except AwsProblem as problem:
                if problem.fault is AwsFault.REFUSED and "not found" in problem.message.lower():
                    continue  # gone meanwhile
                failed.append(problem)
                if problem.fault is not AwsFault.REFUSED and problem.fault is not AwsFault.BUSY:
                    break  # the next one would fail the same way
        if failed:
            raise failed[0]

    def _ours(self, client: object, ids: Sequence[str]) -> list[str]:
        asked, found = [each for each in ids if INSTANCE_ID.fullmatch(each)], []
        for first in range(0, len(asked), INSTANCES_A_CALL):
            some = asked[first : first + INSTANCES_A_CALL]
            answer = call_aws(client, "autoscaling:DescribeAutoScalingInstances", {"InstanceIds": some})
            found += [
                each["InstanceId"]
                for each in answer["AutoScalingInstances"]
                if each["AutoScalingGroupName"] in self._names and not each["LifecycleState"].startswith("Terminat")
            ]
        return found

    def _withdraw(self) -> None:
        """Where no instance of a group exists, none can be ended by this: AWS would go on trying to start some."""
        client = aws_client("autoscaling", self.settings.region, self.settings.endpoint_url)
        if not self._forsaken:
            return
        for view in read.read_groups(self.settings, sorted(self._forsaken)).values():
            if _is_forsaken(view):
                asked = {"AutoScalingGroupName": view.name, "DesiredCapacity": view.least, "HonorCooldown": False}
                call_aws(client, "autoscaling:SetDesiredCapacity", asked)


def _is_forsaken(view: read.GroupView) -> bool:
    return view.desired > view.least and not view.instances
