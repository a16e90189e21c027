"""Is this EC2 instance one of ours? Asked of AWS at registration, where the settings say so."""

import asyncio
from dataclasses import dataclass

import structlog

from comfyfleet.aws import AwsProblem, aws_client, call_aws
from comfyfleet.fleet import FleetRules
from comfyfleet.kernel.durations import seconds_text

TIMEOUT_S = 10.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class InstanceCheck:
    """`refused`: why it may not come in. `skipped`: why AWS could not be asked; then it comes in, and that is kept."""

    refused: str | None = None
    skipped: str | None = None


async def check_instance(instance_id: str, rules: FleetRules) -> InstanceCheck:
    if rules.aws_region is None:
        found = InstanceCheck(skipped="no region is set; set COMFYFLEET_AWS_REGION")
    else:
        found = await _check(instance_id, rules.aws_region, rules)
    if found.skipped is not None:
        log.warning("asg_check.skipped", instance_id=instance_id, problem=found.skipped)
    return found


async def _check(instance_id: str, region: str, rules: FleetRules) -> InstanceCheck:
    try:
        async with asyncio.timeout(TIMEOUT_S):
            group = await asyncio.to_thread(_find_group, instance_id, region)
    except AwsProblem as problem:  # whatever is wrong at AWS or with our rights there, workers must come in
        return InstanceCheck(skipped=problem.message)
    except TimeoutError:
        return InstanceCheck(skipped=f"AWS gave no answer within {seconds_text(TIMEOUT_S)}")
    if group is None:
        return InstanceCheck(
            refused=f"Instance {instance_id!r} is in no Auto Scaling group of this account in {region}."
        )
    if rules.asg_groups and group not in rules.asg_groups:
        return InstanceCheck(
            refused=f"Instance {instance_id!r} is in the Auto Scaling group {group!r}, which may not register workers."
            " An operator adds it to COMFYFLEET_ASG_GROUPS, or starts the machine in a group that is listed there."
        )
    return InstanceCheck()


def _find_group(instance_id: str, region: str) -> str | None:
    client = aws_client("autoscaling", region, quick=True)
    found = call_aws(client, "autoscaling:DescribeAutoScalingInstances", {"InstanceIds": [instance_id]})
    return next((str(each["AutoScalingGroupName"]) for each in found["AutoScalingInstances"]), None)
