"""Gauges of the databases: right on both engines, kept for 15 s, absent while a database is away."""

from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

from comfyfleet import fleet, machines
from comfyfleet.db import open_database
from comfyfleet.db.tables import workflows
from comfyfleet.dispatch import Holder
from comfyfleet.fleet import Sighting, WorkerEvent
from comfyfleet.gauges import GaugeCollector, GaugeReader
from comfyfleet.gauges.read import DECISION_HOLDS_S
from comfyfleet.kernel.ids import new_id
from comfyfleet.scaling import (
    LaunchAnswer,
    LaunchError,
    LaunchProblem,
    LaunchRequest,
    MachineClass,
    ScalingSettings,
)
from comfyfleet.scaling.fake_cloud import FakeCloud, FakeMachines
from comfyfleet.upkeep.scale_fleets import FleetScaler
from tests.conftest import ManualClock
from tests.database.dispatch.test_queue import Queue
from tests.database.fleet.test_fleet import Yard, yard
from tests.database.jobs.world import World

__all__ = ["yard"]
FLEET = "video/production"


def samples(reader: GaugeReader) -> dict[tuple[str, ...], float]:
    return {
        (each.name.removeprefix("comfyfleet_"), *each.labels.values()): each.value
        for family in GaugeCollector(reader).collect()
        for each in family.samples
    }


async def test_the_queue_and_the_workers_are_counted_by_name(yard: Yard, clock: ManualClock) -> None:
    busy, silent = (await yard.register("busy")).worker, (await yard.register("silent")).worker
    clock.advance(200)
    ready = (await yard.register("ready")).worker
    async with yard.house.control_tx() as tx:
        spare = await fleet.create_fleet(tx, slug="spare", stage="test", name="Spare")
        await fleet.assign_workflow(tx, spare.id, yard.workflow_id)
    await yard.register("drained")
    await yard.move(WorkerEvent.DRAIN, "drained")
    async with yard.house.control_tx() as tx:
        await fleet.touch_workers(tx, [Sighting(each.id, ago_s=0.0, current_load=0) for each in (busy, ready)])
    queue = Queue(yard.house)
    await queue.add(workflow_id=yard.workflow_id)
    await queue.lease(Holder(busy.id, busy.incarnation))
    for _ in range(3):
        await queue.add(workflow_id=yard.workflow_id)
    clock.advance(40)
    reader = GaugeReader(yard.house)
    await reader.read()
    found = samples(reader)
    assert silent.status == "approved"
    assert {key[2]: value for key, value in found.items() if key[:2] == ("workers", FLEET)} == {
        "busy": 1,
        "ready": 1,
        "draining": 1,
        "silent": 1,
        "pending": 0,
    }
    assert (found["queue_jobs", "face-swap", "queued"], found["queue_jobs", "face-swap", "leased"]) == (3, 1)
    assert found["queue_oldest_seconds", "face-swap"] == pytest.approx(40, abs=5)
    assert (found["queue_delayed_jobs",], found["settlements_parked",], found["audit_alarms",]) == (0, 0, 0)
    assert (found["gauges_read_ok", "central"], found["gauges_read_ok", "main"]) == (1, 1)
    # 20 s each; two fleets may do it, and one of them has nobody.
    seconds = await expected_seconds(yard) * 3
    assert (found["queue_gpu_seconds", FLEET], found["queue_gpu_seconds", "spare/test"]) == (seconds / 2, seconds / 2)
    assert found["queue_expected_wait_seconds", FLEET] == seconds / 2 / 2, "by the two that are at work"
    assert ("queue_expected_wait_seconds", "spare/test") not in found, "nobody knows"
    assert (found["queue_tenants",], found["queue_largest_tenant_ratio",]) == (1, 1)
    assert found["db_pool_connections_max", "central"] >= 10
    used = [value for key, value in found.items() if key[0] == "db_pool_connections" and key[2] == "used"]
    assert used, "the engines say how many connections they have"


async def expected_seconds(yard: Yard) -> float:
    async with yard.house.central.engine.connect() as connection:
        rows = await connection.execute(sa.select(workflows.c.expected_s).where(workflows.c.id == yard.workflow_id))
        return float(rows.scalar_one())


async def test_a_fleet_that_scales_shows_what_it_aims_at_while_it_decides(yard: Yard, clock: ManualClock) -> None:
    gpu, queue = MachineClass("gpu"), Queue(yard.house)
    settings = ScalingSettings(classes=(gpu,), max_workers=4, first_start_s=60.0)
    async with yard.house.control_tx() as tx:
        await machines.set_fleet_scaling(
            tx, yard.fleet, settings, adapter="command", adapter_settings={"command": "true"}
        )
    await queue.add(workflow_id=yard.workflow_id)
    no_room = LaunchAnswer((), (LaunchError(LaunchProblem.CAPACITY, "there are none"),))
    scaler = FleetScaler(yard.house, adapters=lambda *_: FullCloud(FakeCloud(), no_room), waits_s=30.0)
    reader = GaugeReader(yard.house, holds_s=0.0)
    await scaler.tick()
    await reader.read()
    found = samples(reader)
    assert (found["workers_desired", FLEET], found["workers_max", FLEET]) == (1, 4)
    assert (found["workers", FLEET, "starting"], found["scaling_held", FLEET, "no_capacity"]) == (0, 0)
    clock.advance(10)
    await scaler.tick()
    await reader.read()
    found = samples(reader)
    assert (found["workers_desired", FLEET], found["scaling_held", FLEET, "no_capacity"]) == (0, 1)
    assert ("queue_expected_wait_seconds", FLEET) not in found, "something waits, and nothing starts"
    decided = found["scaling_decision_timestamp_seconds", FLEET]
    clock.advance(DECISION_HOLDS_S + 1)
    await reader.read()
    found = samples(reader)
    assert found["scaling_decision_timestamp_seconds", FLEET] == decided
    assert not {key for key in found if key[0] in ("workers_desired", "scaling_held") or "starting" in key}


class FullCloud(FakeMachines):
    """A provider that has no machine left."""

    def __init__(self, cloud: FakeCloud, answer: LaunchAnswer) -> None:
        super().__init__(cloud, lambda: 0.0)
        self._answer = answer

    async def launch(self, request: LaunchRequest, token: str) -> LaunchAnswer:
        return self._answer


async def test_what_a_relay_has_not_carried_on_is_its_lag(yard: Yard, clock: ManualClock) -> None:
    world = await World.make(yard.house)
    reader = GaugeReader(yard.house, holds_s=0.0)
    await reader.read()
    assert {value for key, value in samples(reader).items() if key[0] == "relay_lag_seconds"} == {0.0}
    await world.completed()  # and not settled
    clock.advance(50)
    await world.create()  # and not relayed
    clock.advance(30)
    await reader.read()
    found = samples(reader)
    assert found["relay_lag_seconds", "main", "settlements"] == pytest.approx(80, abs=5)
    assert found["relay_lag_seconds", "main", "submissions"] == pytest.approx(30, abs=5)
    assert found["relay_lag_seconds", "main", "webhooks"] == 0
    await world.in_central("UPDATE settlements SET parked_at = created_at")
    await reader.read()
    assert (samples(reader)["settlements_parked",], samples(reader)["relay_lag_seconds", "main", "settlements"]) == (
        1,
        0,
    )


async def test_a_reading_is_kept_and_a_new_id_is_worth_another(yard: Yard) -> None:
    reader = GaugeReader(yard.house)
    await reader.read()
    first = reader.central
    await reader.read([str(yard.workflow_id), str(yard.fleet.id)])
    assert reader.central is first, "their names are known"
    stranger = str(new_id())
    await reader.read([stranger])
    second = reader.central
    assert second is not first
    await reader.read([stranger])
    assert reader.central is second, "one without a name is asked for once"


async def test_a_database_that_is_away_has_no_gauges_and_names_stay(yard: Yard, tmp_path: Path) -> None:
    reader = GaugeReader(yard.house, holds_s=0.0)
    await reader.read()
    nowhere = [open_database(name, f"sqlite:///{tmp_path}/nowhere/{name}.sqlite") for name in ("central", "main")]
    reader.house = replace(yard.house, central=nowhere[0], pools={"main": nowhere[1]})
    await reader.read()
    found = samples(reader)
    assert (found["gauges_read_ok", "central"], found["gauges_read_ok", "main"]) == (0, 0)
    assert {key[0] for key in found} == {"gauges_read_ok", "db_pool_connections", "db_pool_connections_max"}
    assert reader.names[str(yard.workflow_id)] == "face-swap"
    for each in nowhere:
        await each.close()
