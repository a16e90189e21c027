"""A name that two processes use, over HTTP. (W1 and W3 stand in `test_protocol.py`.)"""

import json

import pytest

from comfyfleet import audit, fleet
from comfyfleet.fleet import FleetRules, WorkerEvent
from comfyfleet.kernel.page import PageRequest
from comfyfleet.kernel.secret import new_secret
from tests.api.worker.conftest import Yard
from tests.api.worker.test_protocol import lease_of
from tests.builders import a_workflow
from tests.conftest import ManualClock

RULES = FleetRules()


async def test_w2_two_machines_from_one_image_are_stopped_and_the_name_lives_on(yard: Yard, clock: ManualClock) -> None:
    """Each take-over fences the other off: without an end they would do nothing else."""
    first = await yard.register(boot_id="machine-0")
    for number in range(1, RULES.takeovers_max + 1):
        last = await yard.register(boot_id=f"machine-{number % 2}")
    assert (await first.say("poll", 409))["code"] == "superseded"
    clone = await yard.elsewhere("10.0.0.9").register(boot_id="machine-0", status=403)
    assert "Two machines" in clone.registered["message"]
    # Whoever had the name last goes on with it; and once they leave it alone, it can be taken again.
    await yard.add()
    assert await last.poll() is not None
    clock.advance(RULES.takeover_window_s + 1)
    await yard.elsewhere("10.0.0.9").register(boot_id="machine-0")


async def test_w2_one_machine_may_restart_as_often_as_it_must(yard: Yard) -> None:
    for number in range(RULES.takeovers_max * 2):
        worker = await yard.elsewhere(f"10.0.0.{number}").register(boot_id="machine-0")
    await yard.add()
    assert await worker.poll() is not None


# ── what a stolen fleet secret does not open ────────────────────────────────────────────────


async def test_a_fleet_secret_takes_no_live_workers_name_and_its_job_goes_on(yard: Yard, clock: ManualClock) -> None:
    worker = await yard.register(boot_id="machine-0")
    await yard.add()
    job = await worker.poll()
    thief, addresses = yard.elsewhere("10.6.6.6"), iter(range(100))
    others = await yard.register("i-2")
    for shown in (None, "x" * 64, others.token):
        for leases in ([], [{"dispatch_id": job["dispatch_id"], "lease_token": "1.AAAA"}]):
            for boot in ({}, {"boot_id": "machine-0"}):
                thief = yard.elsewhere(f"10.6.6.{next(addresses)}")
                refused = await thief.register(last=shown, next_="z" * 64, leases=leases, status=409, **boot)
                assert refused.registered["code"] == "worker_name_held"
                assert refused.registered["details"]["retry_after_s"] in range(60, 91)
    assert (await worker.say("complete", **lease_of(job)))["status"] == "completed"
    clock.advance(89)
    await worker.poll()
    await yard.house.desk.presence.flush()
    clock.advance(60)
    await thief.register(last=None, status=409)
    clock.advance(31)
    await thief.register(last=None)


async def test_a_crashed_worker_is_back_in_one_request_by_its_token_or_by_a_lease(yard: Yard) -> None:
    worker = await yard.register()
    await yard.add()
    job = await worker.poll()
    by_token = await yard.register(leases=[lease_of(job)])
    [rebound] = by_token.registered["leases"]
    by_lease = await yard.register(last=None, leases=[lease_of(rebound)])
    [rebound] = by_lease.registered["leases"]
    assert (await by_lease.say("complete", **lease_of(rebound)))["status"] == "completed"


async def test_a_lost_reply_costs_nothing_and_a_late_copy_of_the_request_takes_nothing(yard: Yard) -> None:
    """The worker has only what its journal has: the old token, the one it proposed, its lease."""
    old = await yard.register()
    await yard.add()
    job = await old.poll()
    said = {"last": old.token, "next_": new_secret(size=48).reveal(), "leases": [lease_of(job)]}
    await yard.register(**said)  # and the reply is lost
    again = await yard.register(**said)
    assert (again.registered["incarnation"], again.token) == (2, said["next_"])
    [rebound] = again.registered["leases"]
    await yard.add()
    ahead = await again.poll()
    assert ahead is not None
    # The first request once more: it was on its way all the time.
    late = await yard.register(**said)
    assert late.registered["incarnation"] == 2
    for each in (rebound, ahead):
        assert (await again.say("complete", **lease_of(each)))["status"] == "completed"


async def test_a_secret_of_a_fleet_opens_that_fleet_only(yard: Yard, clock: ManualClock) -> None:
    worker = await yard.register()
    async with yard.house.control_tx() as tx:
        audio = await fleet.create_fleet(tx, slug="audio", stage="production", name="Audio")
        _, theirs = await fleet.make_fleet_secret(tx, name="theirs", fleet_id=audio.id)
    secret = await a_workflow(yard.house, "theirs-alone")
    own, yard.secret = yard.secret, theirs.reveal()
    for wanted in (
        {},
        {"stage": "staging", "status": 404},
        {"fleet_slug": "audio", "workflow_slugs": ["face-swap"]},
        {"fleet_slug": None, "stage": None, "workflow_slugs": [secret.slug]},
    ):
        refused = await yard.register("i-666", **{"status": 403, **wanted})
        assert refused.registered["code"] in ("fleet_secret_scope", "not_found")
    await yard.register("i-666", fleet_slug="audio")
    clock.advance(yard.house.fleet_rules.stale_worker_s + 1)
    taken = await yard.register("i-1", fleet_slug="audio", last=worker.token, status=409)
    assert taken.registered["code"] == "worker_name_elsewhere"
    yard.secret = own
    await yard.register("i-1", last=None)


@pytest.mark.parametrize("proof", ["its token", "a lease"])
async def test_what_is_revoked_stays_so_whatever_is_shown(yard: Yard, proof: str) -> None:
    worker = await yard.register()
    await yard.add()
    job = await worker.poll()
    async with yard.house.control_tx() as tx:
        await fleet.move_worker(tx, "i-1", WorkerEvent.REVOKE)
    shown = {"last": worker.token} if proof == "its token" else {"last": None, "leases": [lease_of(job)]}
    assert "revoked" in (await yard.register(status=403, **shown)).registered["message"]


async def test_a_name_that_is_taken_over_and_a_lease_that_runs_out_are_events(yard: Yard, clock: ManualClock) -> None:
    await yard.register()
    worker = await yard.register()
    dispatch_id = await yard.add()
    job = await worker.poll()
    clock.advance(yard.house.queue_rules.lease_ttl_s + 1)
    assert await yard.queue.sweep() == 1
    async with yard.house.control_tx(read_only=True) as tx:
        page = await audit.list_worker_events(tx, PageRequest())
    told = {each.event: each for each in page.rows}
    assert set(told) == {"register", "superseded", "expired"}
    assert json.loads(told["superseded"].detail) == {"incarnation": 1}
    assert (told["expired"].worker_id, told["expired"].dispatch_id) == ("i-1", dispatch_id)
    expected = {"epoch": job["epoch"], "reason": "expired", "status": "delayed"}
    assert json.loads(told["expired"].detail) == expected
