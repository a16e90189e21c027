"""Each condition is read from what the databases hold: it holds when it should, and not before; on both engines."""

import asyncio
import contextlib
import json
import random
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest
import sqlalchemy as sa

from comfyfleet import audit, fleet, machines, notifications
from comfyfleet.audit import Actor, FoundFault
from comfyfleet.db import open_database
from comfyfleet.db.tables import (
    fleet_decisions,
    fleet_machines,
    fleet_scaling,
    replica_reports,
    webhook_deliveries,
    webhook_events,
)
from comfyfleet.dispatch import FailureClass, Holder
from comfyfleet.fleet import Sighting
from comfyfleet.gauges.conditions import read_conditions
from comfyfleet.house import House
from comfyfleet.kernel.ids import new_id
from comfyfleet.kernel.page import PageRequest
from comfyfleet.notifications import ActingOperator, AlertTimes, ChannelKind, NewChannel
from comfyfleet.notifications.deliver import LEASE_S
from comfyfleet.scaling import Held, Hold, MachineClass, Reason, ScalingDecision, ScalingSettings, to_json
from comfyfleet.upkeep.deliver_notifications import NotificationCourier
from comfyfleet.upkeep.rules import UpkeepRules
from comfyfleet.upkeep.run import loops_of
from comfyfleet.upkeep.watch_conditions import ConditionWatch
from tests.conftest import ManualClock
from tests.database.dispatch.test_queue import Queue
from tests.database.fleet.test_fleet import Yard, yard
from tests.database.jobs.world import World
from tests.database.notifications.past_jobs import PastJob, many, now_of, plant
from tests.faults.crashing import Crash, Fuse, crashing
from tests.receiver import a_receiver

__all__ = ["yard"]


async def holding(house: House, *names: str) -> list[tuple[str, str]]:
    """Conditions and subjects, of these conditions or of all."""
    found = await read_conditions(house)
    return sorted((key.condition, key.subject) for key in found.holding if not names or key.condition in names)


async def text_of(house: House, condition: str) -> str:
    found = await read_conditions(house)
    [text] = [each.text for each in found.holding.values() if each.condition == condition]
    return text


async def test_nothing_holds_where_nothing_is_wrong(yard: Yard) -> None:
    assert await holding(yard.house) == []


async def test_jobs_that_fail_count_by_ratio_and_number_and_users_faults_do_not(yard: Yard) -> None:
    at = await now_of(yard.house)
    job = PastJob(at, yard.workflow_id, new_id(), new_id())
    fault = replace(job, outcome="failed", error_class="user_input")
    await plant(yard.house, [*many(fault, 40), *many(job, 45), *many(replace(job, outcome="cancelled"), 60)])
    broken = replace(job, outcome="failed", error_class="execution_error")
    await plant(yard.house, many(broken, 4))
    assert await holding(yard.house, "JobsFail") == [], "49 count, too few to say anything"
    await plant(yard.house, many(broken, 2))
    assert await holding(yard.house, "JobsFail") == [("JobsFail", "")]
    assert "6 of 51 within an hour (11.8 %)" in await text_of(yard.house, "JobsFail")


async def test_failures_that_are_over_hold_no_longer(yard: Yard) -> None:
    at = await now_of(yard.house)
    job = PastJob(at, yard.workflow_id, new_id(), new_id())
    broken = many(replace(job, outcome="failed", error_class="infra"), 30, apart_s=100)[10:]
    await plant(yard.house, [*many(job, 60, apart_s=1), *broken])
    assert await holding(yard.house, "JobsFail") == [], "20 of 80 in an hour, none of them in the last five minutes"


async def test_jobs_that_start_late(yard: Yard, clock: ManualClock) -> None:
    at = await now_of(yard.house)
    job = PastJob(at, yard.workflow_id, new_id(), new_id())
    never = replace(job, started=False, outcome="failed", error_class="timeout", wait_s=9_000)
    late = replace(job, wait_s=90.0)
    await plant(yard.house, [*many(job, 70, apart_s=1), *many(late, 9, apart_s=1), *many(never, 1)])
    assert await holding(yard.house, "JobsStartLate") == []
    await plant(yard.house, many(late, 9, apart_s=1))
    assert await holding(yard.house, "JobsStartLate") == [("JobsStartLate", "")]
    clock.advance(3_700)
    assert await holding(yard.house, "JobsStartLate") == []


async def test_work_that_no_worker_may_take_names_its_fleet(yard: Yard, clock: ManualClock) -> None:
    queue = Queue(yard.house)
    await queue.add(workflow_id=yard.workflow_id)
    assert await holding(yard.house, "NoWorkers") == [("NoWorkers", "video/production")]
    assert "1 jobs wait" in await text_of(yard.house, "NoWorkers")
    made = await yard.register()
    assert await holding(yard.house, "NoWorkers") == []
    clock.advance(120)
    assert await holding(yard.house, "NoWorkers") == [("NoWorkers", "video/production")], "it was not heard of"
    async with yard.house.control_tx() as tx:
        await fleet.touch_workers(tx, [Sighting(made.worker.id, ago_s=0.0, current_load=0)])
    assert await holding(yard.house, "NoWorkers") == []
    await yard.move(fleet.WorkerEvent.DRAIN)
    assert await holding(yard.house, "NoWorkers") == [("NoWorkers", "video/production")]


async def test_a_workflow_that_no_fleet_may_run_is_named_and_one_that_another_fleet_serves_is_not(yard: Yard) -> None:
    queue = Queue(yard.house)
    stranger = new_id()
    await queue.add(workflow_id=stranger)
    async with yard.house.control_tx() as tx:
        other = await fleet.create_fleet(tx, slug="spare", stage="production", name="Spare")
        await fleet.assign_workflow(tx, other.id, yard.workflow_id)
    await yard.register()
    await queue.add(workflow_id=yard.workflow_id)
    assert await holding(yard.house, "NoWorkers") == [("NoWorkers", f"workflow {stranger}")]


async def test_the_oldest_job_waits_for_half_of_the_deadline(yard: Yard, clock: ManualClock) -> None:
    await Queue(yard.house).add(workflow_id=yard.workflow_id)
    half = yard.house.queue_rules.queue_deadline_s / 2
    clock.advance(half - 60)
    assert await holding(yard.house, "OldestJobWaits") == []
    clock.advance(120)
    assert await holding(yard.house, "OldestJobWaits") == [("OldestJobWaits", "face-swap")]


async def test_leases_that_run_out(yard: Yard, clock: ManualClock) -> None:
    queue = Queue(yard.house)
    worker = (await yard.register()).worker
    holder = Holder(worker.id, worker.incarnation)
    for _ in range(6):
        await queue.add(workflow_id=yard.workflow_id)
        assert await queue.lease(holder) is not None
    clock.advance(yard.house.queue_rules.lease_ttl_s + 1)
    assert await queue.sweep() == 6
    assert await holding(yard.house, "LeasesExpire") == [("LeasesExpire", "")]
    job = PastJob(await now_of(yard.house), yard.workflow_id, new_id(), worker.id)
    await plant(yard.house, many(job, 120))
    assert await holding(yard.house, "LeasesExpire") == [], "6 of 126 are less than 5 %"


async def test_parked_settlements_alarms_and_relays_that_lag(yard: Yard, clock: ManualClock) -> None:
    world = await World.make(yard.house)
    await world.failed(FailureClass.USER_INPUT)
    await world.create()
    clock.advance(90)
    assert await holding(yard.house, "RelayLags") == [
        ("RelayLags", "main settlements"),
        ("RelayLags", "main submissions"),
    ]
    await world.in_central("UPDATE settlements SET parked_at = created_at")
    async with yard.house.control_tx() as tx:
        await audit.raise_alarms(tx, [FoundFault("main", "tenant:1", 7, "was changed")])
    found = await holding(yard.house, "SettlementsParked", "AuditAlarm", "RelayLags")
    assert found == [("AuditAlarm", ""), ("RelayLags", "main submissions"), ("SettlementsParked", "")]


async def test_webhooks_that_arrive_late(yard: Yard) -> None:
    tenant_id, at = new_id(), await now_of(yard.house)
    for number in range(60):
        made_at = at - timedelta(seconds=410 if number < 12 else 11)
        said = {"tenant_id": tenant_id, "created_at": made_at}
        event = {"id": new_id(), "event_type": "job.completed", "subject_id": new_id(), "payload": "{}", **said}
        counts = {"attempts": 1, "attempts_before": 0, "status": "delivered"}
        ids = {"id": new_id(), "event_id": event["id"], "endpoint_id": new_id()}
        async with yard.house.pools["main"].engine.begin() as connection:
            await connection.execute(sa.insert(webhook_events).values(event))
            ended = {"ended_at": at - timedelta(seconds=10)}
            await connection.execute(sa.insert(webhook_deliveries).values(**ids, **counts, **ended, **said))
    assert await holding(yard.house, "WebhooksLate") == [("WebhooksLate", "")]
    assert "12 of 60" in await text_of(yard.house, "WebhooksLate")


async def test_a_pool_that_is_away_is_told_and_what_it_would_say_is_unknown(yard: Yard, tmp_path: Path) -> None:
    gone = open_database("main", f"sqlite:///{tmp_path}/nowhere/main.sqlite")
    found = await read_conditions(replace(yard.house, pools={"main": gone}))
    await gone.close()
    assert [key for key in found.holding] == [("DatabaseAway", "main")]
    assert set(notifications.CONDITIONS) - set(found.known) == {"RelayLags", "WebhooksLate"}


async def test_fleets_that_are_held_back_and_fleets_for_which_nobody_decides(yard: Yard, clock: ManualClock) -> None:
    fleet_id = yard.fleet.id
    async with yard.house.control_tx() as tx:
        settings, config = ScalingSettings(classes=(MachineClass("gpu"),), max_workers=2), {"command": "true"}
        await machines.set_fleet_scaling(tx, yard.fleet, settings, adapter="command", adapter_settings=config)

    async def decide(*held: Held) -> None:
        at = await now_of(yard.house)
        row = dict.fromkeys(("desired", "ready", "starting", "draining", "waiting"), 0)
        decision = ScalingDecision(0, Reason.HELD if held else Reason.STEADY, held=held)
        texts = {"inputs": "{}", "decision": to_json(decision), "reason": decision.reason.value}
        values = {**row, **texts, "arrived_gpu_s": 0.0, "is_change": True}
        async with yard.house.central.engine.begin() as connection:
            insert = sa.insert(fleet_decisions).values(id=new_id(), fleet_id=fleet_id, decided_at=at, **values)
            await connection.execute(insert)
            await connection.execute(sa.update(fleet_scaling).values(decided_at=at))

    await decide(Held(Hold.BUDGET, "the budget is spent"), Held(Hold.GROWTH, "two at most"))
    assert await holding(yard.house) == [("ScalingHeld", "video/production")]
    assert await text_of(yard.house, "ScalingHeld") == "the budget is spent"
    clock.advance(10)
    await decide(Held(Hold.NOT_REGISTERING, "3 machines in a row"))
    assert await text_of(yard.house, "ScalingHeld") == "3 machines in a row"
    clock.advance(10)
    await decide(Held(Hold.MAXIMUM, "two at most"))
    assert await holding(yard.house) == [], "the maximum is what its operator set"
    clock.advance(130)
    assert await holding(yard.house) == [("ScalingSilent", "video/production")]


async def test_machines_that_spot_takes(yard: Yard, clock: ManualClock) -> None:
    async with yard.house.control_tx() as tx:
        settings, config = ScalingSettings(classes=(MachineClass("gpu"),), max_workers=2), {"command": "true"}
        await machines.set_fleet_scaling(tx, yard.fleet, settings, adapter="command", adapter_settings=config)
    at = await now_of(yard.house)

    async def add(name: str, *, ended: bool = False, asked: bool = False) -> None:
        values = {"machine_class": "gpu", "market": "spot", "zone": "a", "launched_at": at}
        ends = {"ended_at": at if ended else None, "end_asked_at": at if asked else None}
        async with yard.house.central.engine.begin() as connection:
            row = {"fleet_id": yard.fleet.id, "machine_id": name, **values, **ends}
            await connection.execute(sa.insert(fleet_machines).values(row))

    for number in range(5):
        await add(f"there-{number}")
        await add(f"asked-{number}", ended=True, asked=True)
    await add("lost-1", ended=True)
    await add("lost-2", ended=True)
    assert await holding(yard.house, "SpotLost") == []
    await add("lost-3", ended=True)
    assert await holding(yard.house, "SpotLost") == [("SpotLost", "video/production")]
    assert "3 of 13 machines" in await text_of(yard.house, "SpotLost")
    clock.advance(700)
    assert await holding(yard.house, "SpotLost") == []


async def test_a_loop_that_no_replica_gets_done_and_a_disk_that_is_full(yard: Yard, clock: ManualClock) -> None:
    async def report(replica: str, loop_ago_s: float, free: int) -> None:
        async with yard.house.control_tx() as tx:
            loops, disks = {"expire_leases": (loop_ago_s, 2.0)}, {"home": (free, 100)}
            await notifications.write_report(tx, replica, loops=loops, disks=disks)

    await report("a", 500.0, 4)
    await report("b", 1.0, 50)
    assert await holding(yard.house) == [("DiskFull", "home of a")], "the loop succeeds at b"
    await report("b", 300.0, 50)
    assert await holding(yard.house, "UpkeepSilent") == [("UpkeepSilent", "expire_leases")]
    clock.advance(400)
    assert await holding(yard.house) == [], "replicas that are gone have neither loops nor disks"
    await report("b", 1.0, 50)
    assert await holding(yard.house) == []


async def test_a_replica_reports_its_loops_and_disks(yard: Yard, tmp_path: Path) -> None:
    loops = loops_of(yard.house, rules=UpkeepRules(folders=lambda: {"home": tmp_path / "not yet there"}))
    [reporting] = [each for each in loops if each.name == "report_replica"]
    await reporting.tick()
    await reporting.tick()
    async with yard.house.central.engine.connect() as connection:
        [row] = (await connection.execute(sa.select(replica_reports))).all()
    assert row.replica == yard.house.live.me.url
    said = json.loads(row.loops)
    assert {"expire_leases", "watch_conditions", "deliver_webhooks of main"} <= set(said)
    free, total = json.loads(row.disks)["home"]
    assert 0 < free <= total
    assert await holding(yard.house, "UpkeepSilent") == []


async def test_of_several_replicas_one_looks_and_a_condition_fires_end_to_end(yard: Yard, clock: ManualClock) -> None:
    await Queue(yard.house).add(workflow_id=yard.workflow_id)
    told: list[str] = []
    watches = [ConditionWatch(yard.house, 60.0, AlertTimes(), on_told=lambda: told.append("")) for _ in range(4)]
    for _ in range(6):
        await asyncio.gather(*(each.tick() for each in watches))
        clock.advance(61)
    assert len(told) == 1
    async with yard.house.control_tx(read_only=True) as tx:
        [alert] = await notifications.firing_alerts(tx)
    assert (alert.condition, alert.subject) == ("NoWorkers", "video/production")
    assert alert.generation == 6, "each turn is one replica's"


async def test_a_replica_that_dies_while_it_looks_leaves_the_next_turn_to_another(
    yard: Yard, clock: ManualClock
) -> None:
    await Queue(yard.house).add(workflow_id=yard.workflow_id)
    dying = ConditionWatch(crashing(yard.house, Fuse(1)), 60.0, AlertTimes(for_s=0.0))
    with pytest.raises(Crash):
        await dying.tick()
    watch = ConditionWatch(yard.house, 60.0, AlertTimes(for_s=0.0))
    assert await watch.tick() == 0, "its turn is taken"
    clock.advance(61)
    assert await watch.tick() == 1


@pytest.mark.parametrize(("at", "written"), [(2, False), (3, True)], ids=["before its commit", "after its commit"])
async def test_a_crash_leaves_an_alert_with_its_notifications_or_neither(
    yard: Yard, clock: ManualClock, at: int, written: bool
) -> None:
    """And it is told once in the end, whenever the replica died."""
    open_house = replace(yard.house, notification_networks=(ip_network("127.0.0.0/8"),))
    by = ActingOperator(Actor("operator", "ops@example.com"), yard.house.chain)
    await Queue(yard.house).add(workflow_id=yard.workflow_id)
    async with a_receiver() as receiver:
        async with yard.house.control_tx() as tx:
            new = NewChannel("pager", ChannelKind.WEBHOOK, receiver.url)
            await notifications.create_channel(tx, new, rules=open_house.channel_rules, by=by)
        with pytest.raises(Crash):
            await ConditionWatch(crashing(open_house, Fuse(at)), 60.0, AlertTimes(for_s=0.0)).tick()
        async with yard.house.control_tx(read_only=True) as tx:
            assert bool(await notifications.list_alerts(tx)) == written
            assert bool((await notifications.list_notifications(tx, PageRequest())).rows) == written
        for _ in range(3):
            clock.advance(61)
            await ConditionWatch(open_house, 60.0, AlertTimes(for_s=0.0)).tick()
            await send(open_house)
        assert len(receiver.received) == 1


async def send(house: House) -> None:
    courier = NotificationCourier(house, chance=random.Random(1))
    await courier.tick()
    await courier.finish()
    await courier.close()


async def test_a_sender_that_dies_before_it_takes_notes_sends_the_same_message_again(
    yard: Yard, clock: ManualClock
) -> None:
    """It dies when it has taken the notification, and when it has the receiver's answer: before and after a commit."""
    open_house = replace(yard.house, notification_networks=(ip_network("127.0.0.0/8"),))
    by = ActingOperator(Actor("operator", "ops@example.com"), yard.house.chain)
    await Queue(yard.house).add(workflow_id=yard.workflow_id)
    async with a_receiver() as receiver:
        async with yard.house.control_tx() as tx:
            new = NewChannel("pager", ChannelKind.WEBHOOK, receiver.url)
            await notifications.create_channel(tx, new, rules=open_house.channel_rules, by=by)
        await ConditionWatch(open_house, 60.0, AlertTimes(for_s=0.0)).tick()
        seen = []
        for point in range(4):
            with contextlib.suppress(Crash):
                await send(crashing(open_house, Fuse(point)))
            seen.append(len(receiver.received))
            clock.advance(LEASE_S + 1)
        await send(open_house)
        # Taken and not committed; committed and not sent; sent and not noted; noted, and then it died.
        assert seen == [0, 0, 1, 2]
        assert len(receiver.received) == 2
        assert len({each.headers["webhook-id"] for each in receiver.received}) == 1
    async with yard.house.control_tx(read_only=True) as tx:
        [row] = (await notifications.list_notifications(tx, PageRequest())).rows
    assert row.status == "delivered"
