"""The seeds' eight metrics: what they count, on both engines; published once a minute; harmless when AWS is away."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
import sqlalchemy as sa
from moto import mock_aws
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.base import Executable
from sqlalchemy.sql.compiler import SQLCompiler
from structlog.testing import capture_logs

from comfyfleet import audit, fleet
from comfyfleet.audit import WorkerEvent, WorkerEventName
from comfyfleet.dispatch import FailureClass, Holder
from comfyfleet.fleet import FleetRules, NewWorker
from comfyfleet.fleet import WorkerEvent as WorkerMove
from comfyfleet.gauges.cloudwatch import MetricPoint, in_batches, points_of, read_fleets, sql
from comfyfleet.gauges.cloudwatch.model import FleetLoad
from comfyfleet.house import House
from comfyfleet.upkeep import UpkeepRules, loops_of
from comfyfleet.upkeep.publish_cloudwatch import NAME, tick
from tests.builders import a_workflow
from tests.conftest import ManualClock
from tests.database.dispatch.test_queue import Queue
from tests.fake_aws import fake_aws

REGION = "eu-central-1"
UNITS = {
    "QueueDepth": "Count",
    "BacklogPerInstance": "Count",
    "ActiveWorkers": "Count",
    "AvailableCapacity": "Count",
    "JobProcessingP50": "Seconds",
    "ErrorRate": "Percent",
    "LeaseExpiredCount": "Count",
    "SpotInterruptionCount": "Count",
}


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of-a-test")


@dataclass
class Fleets:
    """A fleet with two workers and a workflow, and one that stands idle."""

    house: House
    queue: Queue
    holders: list[Holder]

    async def points(self) -> dict[tuple[str, str], float]:
        async with self.house.control_tx(read_only=True) as tx:
            _, loads = await read_fleets(tx)
        return {(each.slug, each.name): each.value for each in points_of(loads)}


@pytest.fixture
async def fleets(house: House, clock: ManualClock) -> Fleets:
    workflow = await a_workflow(house)
    holders = []
    async with house.control_tx() as tx:
        await fleet.create_fleet(tx, slug="idle", stage="test", name="Idle")
        made = await fleet.create_fleet(tx, slug="video", stage="test", name="Video")
        await fleet.assign_workflow(tx, made.id, workflow.id)
        for name in ("w-1", "w-2"):
            new = NewWorker(name, "127.0.0.1", max_concurrency=3)
            worker = (await fleet.register_worker(tx, new, fleet=made, rules=FleetRules())).worker
            holders.append(Holder(worker.id, worker.incarnation))
    queue = Queue(house)
    for _ in range(6):
        await queue.add(workflow_id=workflow.id)
    return Fleets(house, queue, holders)


async def test_each_metric_counts_what_the_seeds_say(fleets: Fleets, clock: ManualClock) -> None:
    queue, holder = fleets.queue, fleets.holders[0]
    first = await queue.lease(holder)
    assert first is not None
    clock.advance(30)
    await queue.complete(first, holder)
    second = await queue.lease(holder)
    assert second is not None
    await queue.fail(second, holder, FailureClass.EXECUTION_ERROR)
    third = await queue.lease(fleets.holders[1])
    assert third is not None
    async with fleets.house.control_tx() as tx:
        detail = [{"reason": "spot_terminate"}, {"reason": "operator_drain"}]
        events = [WorkerEvent(WorkerEventName.REQUEUE, worker_id="w-1", detail=each) for each in detail]
        await audit.record_worker_events(tx, events)
        await fleet.move_worker(tx, "w-2", WorkerMove.DRAIN)
    found = await fleets.points()
    assert {name: value for (slug, name), value in found.items() if slug == "idle"} == dict.fromkeys(
        UNITS.keys() - {"JobProcessingP50"}, 0
    )
    waiting = {
        "QueueDepth": 4,  # three wait, one is leased; the failed one waits out a pause
        "BacklogPerInstance": 2,
        "ActiveWorkers": 2,
        "AvailableCapacity": 3,
        "ErrorRate": 50,
        "LeaseExpiredCount": 0,
        "SpotInterruptionCount": 1,
    }
    took_s = found.pop(("video", "JobProcessingP50"))
    assert {name: value for (slug, name), value in found.items() if slug == "video"} == waiting
    assert 29 < took_s < 40
    clock.advance(200)  # the lease of the third has run out
    await queue.sweep()
    found = await fleets.points()
    assert (found["video", "LeaseExpiredCount"], round(found["video", "ErrorRate"])) == (1, 67)
    clock.advance(500)
    found = await fleets.points()
    assert (found["video", "ActiveWorkers"], found["video", "ErrorRate"]) == (0, 0)
    assert found["video", "BacklogPerInstance"] == found["video", "QueueDepth"] > 0
    assert ("video", "JobProcessingP50") not in found


class Plan(Executable, sa.ClauseElement):
    """How SQLite would run a statement."""

    inherit_cache = False

    def __init__(self, statement: sa.Select[Any]) -> None:
        self.statement = statement


@compiles(Plan)
def _plan(element: Plan, compiler: SQLCompiler, **kw: Any) -> str:
    return f"EXPLAIN QUERY PLAN {compiler.process(element.statement, **kw)}"


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_no_statement_reads_a_large_table_from_end_to_end(fleets: Fleets) -> None:
    since = datetime.now(UTC)
    statements = [
        sql.queued(counted_max=10),
        sql.leased(),
        sql.workers(active_s=300),
        sql.ended(since),
        sql.completed(since, rows=10),
        sql.requeued(since, rows=10),
        sql.assignments(),
    ]
    async with fleets.house.central.engine.connect() as connection:
        given = {"clock_offset_s": 0.0}
        steps = [str(row[3]) for each in statements for row in await connection.execute(Plan(each), given)]
    large = ("ai_job_dispatches", "dispatch_attempts", "worker_audit_log", "front")
    read = [each for each in steps if any(name in each for name in large)]
    assert len(read) >= 5
    assert [each for each in read if each.startswith("SCAN") and "INDEX" not in each] == []


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_they_are_published_once_a_minute_by_one_replica(fleets: Fleets, clock: ManualClock) -> None:
    with mock_aws():
        published = await asyncio.gather(*(tick(fleets.house, region=REGION) for _ in range(3)))
        assert sorted(published) == [0, 0, 14]
        assert await tick(fleets.house, region=REGION) == 0
        clock.advance(50)
        assert await tick(fleets.house, region=REGION) == 14
        client = boto3.client("cloudwatch", region_name=REGION)
        listed = client.list_metrics(Namespace="ComfyUI/Workers")["Metrics"]
        assert {each["MetricName"] for each in listed} == UNITS.keys() - {"JobProcessingP50"}
        dimensions = [{"Name": "FleetSlug", "Value": "video"}, {"Name": "Stage", "Value": "test"}]
        assert len({each["MetricName"] for each in listed if each["Dimensions"] == dimensions}) == 7


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_what_aws_refuses_is_said_and_stops_nothing(fleets: Fleets, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_aws() as aws, capture_logs() as said:
        monkeypatch.setenv("AWS_ENDPOINT_URL", aws.url)
        assert await tick(fleets.house, region=REGION) == 0
    [warning] = [each for each in said if each["event"] == "cloudwatch.not_published"]
    assert "allow cloudwatch:PutMetricData in its IAM policy (AccessDenied: no)" in str(warning)


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_the_loop_runs_only_where_the_settings_name_a_region(house: House) -> None:
    names = [each.name for each in loops_of(house, rules=UpkeepRules())]
    assert NAME not in names
    assert NAME in [each.name for each in loops_of(house, rules=UpkeepRules(cloudwatch_region=REGION))]


def test_no_call_is_larger_than_aws_takes() -> None:
    long = "a" * 63
    points = points_of([FleetLoad(f"{long}{number}", long, took_s=[1.0]) for number in range(400)])
    assert {each.name: each.unit for each in points} == UNITS
    batches = list(in_batches(points))
    assert [each for batch in batches for each in batch] == points
    assert max(map(len, batches)) <= 1_000
    wide = [MetricPoint("QueueDepth", "b" * 100_000, "s", 1, "Count")] * 20
    assert max(map(len, in_batches(wide))) == 8
