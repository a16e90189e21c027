"""Is this EC2 instance one of ours? Asked of AWS at registration, where the settings say so."""

import asyncio
from typing import Any

import structlog

from comfyfleet.kernel.exchanges import Kind, timed_exchange

TIMEOUT_S = 3

log = structlog.get_logger()


async def is_known_instance(instance_id: str) -> bool | None:
    """None: AWS could not be asked."""
    try:
        return await asyncio.to_thread(_ask, instance_id)
    except Exception as problem:  # whatever is wrong at AWS or with our rights there, workers must come in
        log.warning("asg_check.skipped", instance_id=instance_id, problem=type(problem).__name__)
        return None


def _ask(instance_id: str) -> bool:
    import boto3  # an extra, and slow to load
    from botocore.config import Config

    limits = Config(connect_timeout=TIMEOUT_S, read_timeout=TIMEOUT_S, retries={"max_attempts": 1})
    client: Any = boto3.client("autoscaling", config=limits)
    with timed_exchange(Kind.MACHINE, "DescribeAutoScalingInstances"):
        found = client.describe_auto_scaling_instances(InstanceIds=[instance_id])
    return bool(found["AutoScalingInstances"])
