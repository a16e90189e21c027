"""The seeds' eight metrics to CloudWatch, each minute, by one replica. What fails is logged, and stops nothing."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

import structlog

from comfyfleet.aws import AwsProblem, aws_client, call_aws
from comfyfleet.gauges.cloudwatch import MetricPoint, in_batches, points_of, read_fleets
from comfyfleet.gauges.cloudwatch.model import NAMESPACE
from comfyfleet.house import House
from comfyfleet.upkeep.turns import take_turn

NAME = "publish_cloudwatch"
EVERY_S = 10.0
# Never full: it publishes all there is, once a minute.
BATCH = 1_000_000
# With the interval above there is a point in every minute.
DUE_S = 48.0

log = structlog.get_logger()


async def tick(house: House, *, region: str) -> int:
    """How many points were published. The turn is over before AWS is asked: no transaction waits for it."""
    async with house.control_tx() as tx:
        if await take_turn(tx, NAME, due_s=DUE_S) is None:
            return 0
    async with house.control_tx(read_only=True) as tx:
        at, loads = await read_fleets(tx)
    points = points_of(loads)
    try:
        for batch in in_batches(points):
            await asyncio.to_thread(_publish, region, batch, at)
    except AwsProblem as problem:
        log.warning("cloudwatch.not_published", problem=problem.message)
        return 0
    return len(points)


def _publish(region: str, points: Sequence[MetricPoint], at: datetime) -> None:
    asked = {"Namespace": NAMESPACE, "MetricData": [each.sent(at) for each in points]}
    call_aws(aws_client("cloudwatch", region), "cloudwatch:PutMetricData", asked)
