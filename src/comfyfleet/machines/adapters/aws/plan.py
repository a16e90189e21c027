"""Launching by the desired capacity of a group, which has no token: an absolute number, written down before it is set.

The plan is made once: what stands in the group, beyond it the open plans, beyond them this launch. A repeated launch
sets the same number until it is written down that it was set. The number is never lowered while machines stand: AWS
would choose which one to end, perhaps one at work.
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from comfyfleet.aws import AwsProblem, aws_client, call_aws
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.machines.adapters.aws import groups as read
from comfyfleet.machines.adapters.aws.answers import TEXT_CHARS_MAX, problem_answer, sort_problem
from comfyfleet.machines.adapters.aws.groups import GroupView
from comfyfleet.machines.adapters.aws.settings import AwsSettings
from comfyfleet.scaling import LaunchAnswer, LaunchError, LaunchProblem, LaunchRequest

# AWS reports a failed launch within a minute; one that it does not begin at all is not waited for longer.
WAITS_S = 300.0


class GroupPlan(msgspec.Struct, frozen=True):
    """`target`: instances that stand in the group when the launch has succeeded; `number`: those of this launch.

    `at_s`: by AWS's clock. `is_set`: AWS has taken the target; machines that are ended since then lower what it wants.
    """

    group: str
    target: int
    number: int
    at_s: float
    is_set: bool = False

    @property
    def text(self) -> str:
        return msgspec.json.encode(self).decode()


def read_plan(text: str) -> GroupPlan:
    return msgspec.json.decode(text, type=GroupPlan)


def plan_for(view: GroupView, request: LaunchRequest, open_plans: Sequence[GroupPlan]) -> str:
    floor = max([len(view.standing), *(each.target for each in open_plans if each.group == view.name)])
    target = max(floor, min(floor + request.number, view.most))
    return GroupPlan(view.name, target, target - floor, view.at_s).text


def follow_plan(settings: AwsSettings, request: LaunchRequest, plan: GroupPlan) -> LaunchAnswer:
    """Asked again each tick until the instances stand in the group or AWS says why they do not."""
    try:
        return _follow(settings, request, plan)
    except AwsProblem as problem:
        return problem_answer(problem, request)


def _follow(settings: AwsSettings, request: LaunchRequest, plan: GroupPlan) -> LaunchAnswer:
    view = read.read_group(settings, plan.group)
    beyond = _beyond_most(view, request, plan)
    if not plan.number:
        return LaunchAnswer((), beyond)
    desired = view.desired
    if not plan.is_set and desired < plan.target:
        asked = {"AutoScalingGroupName": plan.group, "DesiredCapacity": plan.target, "HonorCooldown": False}
        client = aws_client("autoscaling", settings.region, settings.endpoint_url)
        call_aws(client, "autoscaling:SetDesiredCapacity", asked)
        desired = plan.target
    # Machines that were ended since then are not waited for.
    target = min(plan.target, desired)
    standing = _by_age(settings, view)
    if len(standing) >= target:
        return LaunchAnswer(tuple(standing[max(0, target - plan.number) : target]), beyond)
    failures = read.read_failures(settings, plan.group, since_s=plan.at_s) if plan.is_set else []
    if not failures and view.at_s - plan.at_s < WAITS_S:
        text = f"group {plan.group}: {len(standing)} of {target} instances stand; AWS is starting the others"
        pending = LaunchError(LaunchProblem.PENDING, text, target - len(standing))
        return LaunchAnswer((), (pending,), plan=replace(plan, is_set=True).text)
    kind, text = LaunchProblem.CAPACITY, f"AWS has started none within {seconds_text(WAITS_S)}"
    if failures:
        kind, text = sort_problem(failures[0]), failures[0][:TEXT_CHARS_MAX]
    ids = tuple(standing[max(0, target - plan.number) :])
    error = LaunchError(kind, f"group {plan.group}: {text}", plan.number - len(ids))
    return LaunchAnswer(ids, (error, *beyond))


def _by_age(settings: AwsSettings, view: GroupView) -> list[str]:
    """The oldest first: those of this launch are the last."""
    ids = [each.id for each in view.standing]
    times = read.read_launch_times(settings, [view.name], ids)
    return sorted(ids, key=lambda each: (times.get(each, view.at_s), each))


def _beyond_most(view: GroupView, request: LaunchRequest, plan: GroupPlan) -> tuple[LaunchError, ...]:
    missing = request.number - plan.number
    if not missing:
        return ()
    text = (
        f"group {view.name} may have {view.most} instances (its MaxSize) and would need {plan.target + missing}; "
        "raise MaxSize in AWS, or lower max_workers"
    )
    return (LaunchError(LaunchProblem.QUOTA, text, missing),)
