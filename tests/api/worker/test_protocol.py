"""The ten endpoints, as a worker calls them."""

import asyncio
import json
from datetime import datetime
from typing import Any
from uuid import UUID

import httpx2
import pytest

from comfyfleet import audit, dispatch, fleet
from comfyfleet.dispatch.heartbeat import ASKED_BACK_MAX
from comfyfleet.fleet import FleetRules, WorkerEvent
from comfyfleet.house import House
from comfyfleet.kernel.ids import DispatchId, JobId, TenantId, new_id
from comfyfleet.kernel.page import PageRequest
from comfyfleet.storage import object_key
from tests.api.asking import fault
from tests.api.worker.conftest import WORKER, HttpWorker, Yard
from tests.builders import a_workflow, an_operator_key
from tests.conftest import ManualClock


def lease_of(job: dict[str, str]) -> dict[str, str]:
    return {"dispatch_id": job["dispatch_id"], "lease_token": job["lease_token"]}


# ── register ────────────────────────────────────────────────────────────────────────────────


async def test_a_worker_registers_and_gets_a_token_of_64_characters(yard: Yard) -> None:
    worker = await yard.register(max_concurrency=2, capabilities={"gpu": "H100"})
    assert len(worker.token) == 64
    assert worker.registered["workflows_assigned"] == ["face-swap"]
    assert (worker.registered["status"], worker.registered["incarnation"]) == ("approved", 1)


async def test_a_worker_may_register_for_workflows_of_its_own(yard: Yard) -> None:
    worker = await yard.register(fleet_slug=None, stage=None, workflow_slugs=["face-swap"])
    assert worker.registered["workflows_assigned"] == ["face-swap"]


async def test_a_worker_may_register_for_the_longest_slug_that_a_workflow_can_have(yard: Yard) -> None:
    longest = await a_workflow(yard.house, "w" * 100)
    worker = await yard.register(fleet_slug=None, stage=None, workflow_slugs=[longest.slug])
    assert worker.registered["workflows_assigned"] == [longest.slug]


async def test_what_is_wrong_with_a_registration_is_named(yard: Yard) -> None:
    nothing = await yard.register(fleet_slug=None, stage=None, status=422)
    assert nothing.registered["details"]["field"] == "fleet_slug"
    unknown = await yard.register(fleet_slug=None, stage=None, workflow_slugs=["face-swap", "nope"], status=422)
    assert "nope" in unknown.registered["message"]
    assert "face-swap" not in unknown.registered["message"]
    nowhere = await yard.register(fleet_slug="audio", status=404)
    assert "audio/production" in nowhere.registered["message"]
    half = await yard.register(stage=None, status=422)
    assert half.registered["details"]["field"] == "stage"


async def test_only_who_knows_a_fleet_secret_registers(yard: Yard) -> None:
    right, yard.secret = yard.secret, "cfs_wrong"
    assert (await yard.register(status=401)).registered["code"] == "unauthenticated"
    yard.secret = ""
    await yard.register(status=401)
    async with yard.house.control_tx() as tx:
        made, second = await fleet.make_fleet_secret(tx, name="next", fleet_id=None, allows_workflows=True)
    yard.secret = second.reveal()
    await yard.register("i-2")
    yard.secret = right
    await yard.register("i-1")
    async with yard.house.control_tx() as tx:
        await fleet.retire_fleet_secret(tx, made.id)
    yard.secret = second.reveal()
    await yard.register("i-3", status=401)


async def test_registrations_are_counted_by_address(yard: Yard) -> None:
    """Those without a valid secret: a fleet behind one address that comes up at once is not held up."""
    limit, right = yard.house.fleet_rules.registrations_per_minute, yard.secret
    for number in range(limit + 2):
        await yard.register(f"i-{number}")
    yard.secret = "cfs_guessed"
    for _ in range(limit):
        await yard.register("i-more", status=401)
    assert (await yard.register("i-more", status=429)).registered["code"] == "rate_limited"
    await yard.elsewhere("10.9.9.9").register("i-more", status=401)
    yard.secret = right
    await yard.register("i-more")


async def test_a_fleet_has_room_for_so_many_live_workers(yard: Yard, clock: ManualClock) -> None:
    object.__setattr__(yard.house, "fleet_rules", FleetRules(max_fleet_workers=2))
    await yard.register("i-1")
    await yard.register("i-2")
    assert (await yard.register("i-3", status=429)).registered["code"] == "rate_limited"
    await yard.register("i-2")  # a take-over is nobody new
    clock.advance(yard.house.fleet_rules.stale_worker_s + 1)
    await yard.register("i-3")


# ── poll, heartbeat, complete ───────────────────────────────────────────────────────────────


async def test_a_job_from_poll_to_completion(yard: Yard) -> None:
    worker = await yard.register()
    dispatch_id = await yard.add(payload=b'{"workflow": {"1": {}}, "text": "\xc3\xa4"}')
    job = await worker.poll(current_load=0)
    assert UUID(job["dispatch_id"]) == dispatch_id
    assert job["input_payload"] == {"workflow": {"1": {}}, "text": "ä"}
    assert (job["attempt"], job["provider"], job["structure_hash"]) == (1, "self_hosted", "structure-1")
    assert job["input_url"] is None
    beat = await worker.say("heartbeat", leases=[{**lease_of(job), "provider_job_id": "prompt-1"}])
    assert beat["lost"] == []
    assert beat["leases"][0]["lease_seconds"] == pytest.approx(90, abs=2)
    assert not beat["leases"][0]["cancel_requested"]
    done = await worker.say("complete", **lease_of(job))
    assert done == {"dispatch_id": job["dispatch_id"], "status": "completed", "replayed": False}
    row = await yard.queue.row(dispatch_id)
    assert (row.status, row.provider_job_id) == ("completed", "prompt-1")
    assert row.service_submitted_at is not None
    assert len(await yard.queue.settlements()) == 1


async def test_a_heartbeat_says_when_the_prompt_was_submitted_and_checked(yard: Yard, clock: ManualClock) -> None:
    worker = await yard.register()
    dispatch_id = await yard.add()
    job = await worker.poll()
    assert "service_times" in job["takes"]
    chosen = {**lease_of(job), "provider_job_id": "prompt-1", "service_status": "submitting"}
    await worker.say("heartbeat", leases=[chosen])
    before = await yard.queue.row(dispatch_id)
    assert (before.service_submitted_at, before.last_service_check) == (None, None)
    said = {**chosen, "service_status": "running", "submitted_seconds": 20, "checked_seconds": 5}
    await worker.say("heartbeat", leases=[said])
    row = await yard.queue.row(dispatch_id)
    submitted, checked = (datetime.fromisoformat(str(at)) for at in (row.service_submitted_at, row.last_service_check))
    assert (checked - submitted).total_seconds() == pytest.approx(15, abs=0.1)
    clock.advance(30)
    # A heartbeat without a check is none, and what was submitted once stays so.
    await worker.say("heartbeat", leases=[{**said, "submitted_seconds": 1, "checked_seconds": None}])
    later = await yard.queue.row(dispatch_id)
    assert later.service_submitted_at == row.service_submitted_at
    assert later.last_service_check == row.last_service_check


@pytest.mark.parametrize("verb", ["complete", "fail", "requeue"])
async def test_the_end_of_a_lease_says_when_its_prompt_was_submitted_and_checked(yard: Yard, verb: str) -> None:
    """A job may be over before its first heartbeat. Said again, it is the same end, however old its times are now."""
    worker = await yard.register()
    dispatch_id = await yard.add()
    job = await worker.poll()
    assert "ending_times" in job["takes"]
    said = {**lease_of(job), "service_status": "completed", **({"reason": "drained"} if verb == "requeue" else {})}
    first = await worker.say(verb, **said, submitted_seconds=20, checked_seconds=5)
    row = await yard.queue.row(dispatch_id)
    submitted, checked = (datetime.fromisoformat(str(at)) for at in (row.service_submitted_at, row.last_service_check))
    assert (checked - submitted).total_seconds() == pytest.approx(15, abs=0.1)
    assert row.service_status == "completed"
    again = await worker.say(verb, **said, submitted_seconds=21, checked_seconds=6)
    assert again == {**first, "replayed": True}
    later = await yard.queue.row(dispatch_id)
    assert (later.service_submitted_at, later.last_service_check) == (row.service_submitted_at, row.last_service_check)


async def test_another_attempt_begins_without_the_times_of_the_one_before(yard: Yard) -> None:
    worker = await yard.register()
    dispatch_id = await yard.add()
    job = await worker.poll()
    await worker.say("requeue", **lease_of(job), reason="drained", submitted_seconds=20, checked_seconds=5)
    assert await worker.poll()
    row = await yard.queue.row(dispatch_id)
    assert (row.service_submitted_at, row.last_service_check, row.service_status) == (None, None, None)


RESPONSE = {"status": {"status_str": "error"}, "token": "abc", "tokens": 7, "url": "https://u:p@store/x?token=hush"}


async def test_the_servers_response_is_kept_for_operators_without_secrets(yard: Yard) -> None:
    worker = await yard.register()
    dispatch_id = await yard.add()
    job = await worker.poll()
    said = {"provider_job_id": "prompt-1", "service_reason": "service_error", "result_metadata": RESPONSE}
    await worker.say("requeue", reason="the server refused it", **lease_of(job), **said)
    again = await worker.poll()
    too_much = {"outputs": {"9": "x" * 70_000}}
    await worker.say("complete", **lease_of(again), provider_job_id="prompt-2", result_metadata=too_much)
    async with yard.house.control_tx(read_only=True) as tx:
        first, second = (await dispatch.get_dispatch(tx, dispatch_id)).attempts
        assert (first.provider_job_id, first.service_reason, first.has_result) == ("prompt-1", "service_error", True)
        assert (second.provider_job_id, second.service_reason) == ("prompt-2", None)
        kept = await dispatch.read_result(tx, dispatch_id, first.epoch)
        assert (kept["status"], kept["tokens"]) == (RESPONSE["status"], 7)
        assert "abc" not in str(kept)
        assert "hush" not in str(kept)
        assert "u:p" not in str(kept)
        assert set(await dispatch.read_result(tx, dispatch_id, second.epoch)) == {"left_out_bytes"}


async def test_a_worker_that_asks_for_every_place_gets_no_output_url(yard: Yard) -> None:
    worker = await yard.register()
    assert "wants_output_url" in worker.registered["takes"]
    await yard.add()
    job = await worker.poll(wants_output_url=False)
    assert (job["output_url"], job["output_headers"], job["output_path"]) == (None, {}, None)
    await yard.add()
    assert (await worker.poll())["output_url"]


async def test_only_a_real_nul_is_refused(yard: Yard) -> None:
    worker = await yard.register()
    await yard.add()
    job = await worker.poll()
    refused = await worker.say("fail", 422, **lease_of(job), error="a\x00b")
    assert "NUL" in refused["message"]
    await worker.say("fail", **lease_of(job), error="says \\u0000")


async def test_the_primary_output_needs_no_further_call(yard: Yard, client: httpx2.AsyncClient) -> None:
    """As the seeds have it: the reply says where the result goes, whatever its size, and for how long."""
    worker = await yard.register()
    tenant_id = TenantId(new_id())
    dispatch_id = await yard.add(tenant_id=tenant_id)
    job = await worker.poll()
    folder = f"tenants/{tenant_id}/ai-jobs/{dispatch_id}/{job['epoch']}-{job['nonce']}/output-"
    assert job["output_path"].startswith(folder)
    assert (job["url_seconds"], job["output_headers"]["If-None-Match"]) == (900, "*")
    named = {"path": job["output_path"], "name": "out.mp4", "mime_type": "video/mp4", "size": 11}
    early = await worker.say("complete", 409, **lease_of(job), outputs=[named])
    assert early["code"] == "output_missing"
    put = await client.put(job["output_url"], content=b"eleven byte", headers=job["output_headers"])
    assert put.status_code == 200, put.text
    again = await client.put(job["output_url"], content=b"something else", headers=job["output_headers"])
    assert again.status_code == 412
    assert (await worker.say("complete", **lease_of(job), outputs=[named]))["status"] == "completed"


async def test_inputs_that_are_still_to_be_fetched_get_fresh_urls(yard: Yard, client: httpx2.AsyncClient) -> None:
    worker = await yard.register(max_concurrency=2)
    key = object_key("tenants", new_id(), "files", new_id())
    await yard.house.store.write(key, b"clip", media_type="video/mp4")
    asset = {"name": "picture", "path": key, "media_type": "video/mp4", "is_primary_input": True}
    await yard.add(payload=json.dumps({"workflow": {}, "assets": [asset]}, separators=(",", ":")).encode())
    job = await worker.poll()
    assert (await client.get(job["input_url"])).content == b"clip"

    async def beat(**said: object) -> dict[str, Any]:
        [state] = (await worker.say("heartbeat", leases=[{**lease_of(job), **said}]))["leases"]
        found: dict[str, Any] = state
        return found

    for said in ({}, {"input_url_seconds": 880}):
        assert (await beat(**said))["input_urls"] == {}
    fresh = await beat(input_url_seconds=20.5)
    assert (list(fresh["input_urls"]), fresh["url_seconds"]) == (["picture"], 900)
    told = [
        job["input_url"],
        job["output_url"],
        job["input_payload"]["assets"][0]["url"],
        fresh["input_urls"]["picture"],
    ]
    assert all(each.startswith(f"{client.base_url}/objects/") for each in told), "a worker may join no URLs by itself"
    assert (await client.get(fresh["input_urls"]["picture"])).content == b"clip"
    await yard.add()
    other = await worker.poll()
    job = other
    assert (await beat(input_url_seconds=0))["input_urls"] == {}


async def test_progress_told_by_heartbeat_reaches_whoever_watches(yard: Yard) -> None:
    worker = await yard.register()
    job_id = JobId(await yard.add())
    job, live = await worker.poll(), yard.house.live
    assert await live.progress_of([job_id]) == {}
    for _ in range(2):
        await worker.say("heartbeat", leases=[{**lease_of(job), "progress": 0.25, "node": "7"}])
    [told] = live.hub.logs.get(job_id).events  # type: ignore[union-attr]
    assert (told.kind, told.data) == ("progress", b'{"fraction":0.25,"node":"7"}')
    await worker.say("events", events=[{"kind": "node", **lease_of(job), "data": {"node": "8", "node_class": "Save"}}])
    shown = (await live.progress_of([job_id]))[job_id]
    assert (shown.fraction, shown.node, shown.node_class) == (0.25, "8", "Save")
    thief = await yard.register("i-2")
    await thief.say("heartbeat", leases=[{**lease_of(job), "progress": 0.9}])
    await worker.say("requeue", **lease_of(job), reason="spot")
    await yard.queue.promote()
    assert (await thief.poll())["attempt"] == 2
    assert (await live.progress_of([job_id]))[job_id].fraction == 0.0


@pytest.mark.parametrize("asked", [{"tells_begin": True}, {"current_load": 1, "max_concurrency": 1}])
async def test_what_waits_on_its_worker_has_begun_when_the_worker_says_so(yard: Yard, asked: dict[str, Any]) -> None:
    """A worker that says when it begins what it gets; and one that looks ahead, and is as old as the seeds."""
    worker, starts = await yard.register(), yard.house.desk.starts
    assert "tells_begin" in worker.registered["takes"]
    jobs = []
    for _ in range(2):
        await yard.add()
        jobs.append(await worker.poll(**asked))
    for status in ("leased", "fetching", "waiting", "submitting", "queued"):
        await worker.say("heartbeat", leases=[{**lease_of(each), "service_status": status} for each in jobs])
    events = [{"kind": "progress", **lease_of(each), "data": {"fraction": 0.0, "waits": True}} for each in jobs]
    await worker.say("events", events=[*events, {"kind": "log", **lease_of(jobs[0]), "data": {"line": "Fetched."}}])
    assert starts.take(10) == {}
    await worker.say("heartbeat", leases=[{**lease_of(jobs[0]), "service_status": "running"}])
    await worker.say("events", events=[{"kind": "progress", **lease_of(jobs[1]), "data": {"fraction": 0.1}}])
    begun = starts.take(10)
    assert [str(each) for each in begun] == [each["dispatch_id"] for each in jobs]
    assert None not in begun.values(), "begun when they say so, not when they were leased"


async def test_what_an_idle_worker_of_the_seeds_gets_has_begun(yard: Yard) -> None:
    worker, starts = await yard.register(), yard.house.desk.starts
    await yard.add()
    job = await worker.poll()
    assert {str(each): at for each, at in starts.take(10).items()} == {job["dispatch_id"]: None}


async def test_nothing_waits_and_nobody_waits(yard: Yard) -> None:
    worker = await yard.register()
    assert await worker.poll() is None


async def test_a_failure_and_a_return_are_events_of_their_tenant(yard: Yard) -> None:
    worker = await yard.register()
    tenant_id = TenantId(new_id())
    endings = {"fail": {"error_class": "infra"}, "requeue": {"reason": "spot"}}
    for ending, said in endings.items():
        await yard.add(tenant_id=tenant_id)
        await worker.say(ending, **lease_of(await worker.poll()), **said)
    await yard.house.desk.diary.flush()
    async with yard.house.control_tx(read_only=True) as tx:
        page = await audit.list_worker_events(tx, PageRequest())
    assert {each.event: each.tenant_id for each in page.rows if each.event != "register"} == dict.fromkeys(
        endings, tenant_id
    )


async def test_a_complete_that_comes_again_gets_the_first_answer(yard: Yard) -> None:
    worker = await yard.register()
    await yard.add()
    job = await worker.poll()
    first, second = await asyncio.gather(*(worker.say("complete", **lease_of(job)) for _ in range(2)))
    again = await worker.say("complete", **lease_of(job))
    assert sorted([first["replayed"], second["replayed"], again["replayed"]]) == [False, True, True]
    assert {first["status"], second["status"], again["status"]} == {"completed"}
    other = await worker.say("complete", 409, **lease_of(job), provider_job_id="another")
    assert other["code"] == "lease_lost"
    assert len(await yard.queue.settlements()) == 1


async def test_a_foreign_or_stale_token_is_refused_and_changes_nothing(yard: Yard, clock: ManualClock) -> None:
    worker, thief = await yard.register("i-1"), await yard.register("i-2")
    dispatch_id = await yard.add()
    job = await worker.poll()
    before = await yard.queue.row(dispatch_id)
    for verb, more in (("complete", {}), ("fail", {"error": "x"}), ("requeue", {"reason": "x"}), ("heartbeat", {})):
        assert (await thief.say(verb, 409, **lease_of(job), **more))["code"] == "lease_lost"
        forged = {**lease_of(job), "lease_token": "1.AAAA"}
        assert (await worker.say(verb, 409, **forged, **more))["code"] == "lease_lost"
    assert await yard.queue.row(dispatch_id) == before
    clock.advance(yard.house.queue_rules.grace_s + 1)
    await yard.queue.sweep()
    late = await worker.say("complete", 409, **lease_of(job))
    assert late["code"] == "lease_lost"
    assert "reason" in late["details"]


async def test_a_worker_holds_no_more_than_it_may(yard: Yard) -> None:
    worker = await yard.register(max_concurrency=1)
    for _ in range(5):
        await yard.add()
    got = [await worker.poll(max_concurrency=1) for _ in range(4)]
    assert [job is not None for job in got] == [True, True, False, False]  # one to run, one ahead
    assert await worker.poll(max_concurrency=1, uploading=1) is not None


async def test_one_heartbeat_renews_many_and_names_the_lost(yard: Yard) -> None:
    worker = await yard.register(max_concurrency=5)
    for _ in range(3):
        await yard.add()
    jobs = [await worker.poll(max_concurrency=5) for _ in range(3)]
    await worker.say("complete", **lease_of(jobs[0]))
    beat = await worker.say("heartbeat", leases=[lease_of(job) for job in jobs])
    assert beat["lost"] == [jobs[0]["dispatch_id"]]
    assert {each["dispatch_id"] for each in beat["leases"]} == {job["dispatch_id"] for job in jobs[1:]}


async def test_a_cancellation_is_told_with_the_next_heartbeat(yard: Yard) -> None:
    worker = await yard.register()
    dispatch_id = await yard.add()
    job = await worker.poll()
    await yard.queue.cancel(dispatch_id)
    assert (await worker.say("heartbeat", **lease_of(job)))["leases"][0]["cancel_requested"]
    ended = await worker.say("fail", **lease_of(job), error_class="cancelled", error="stopped")
    assert ended["status"] == "cancelled"


@pytest.mark.parametrize("by", ["cancel", "drain"])
async def test_a_worker_that_is_busy_is_told_at_once_while_it_waits_for_notices(yard: Yard, by: str) -> None:
    worker = await yard.register()
    dispatch_id = await yard.add()
    assert "notices" in (await worker.poll())["takes"]
    waiting = asyncio.create_task(worker.say("notices", wait_seconds=30))
    async with asyncio.timeout(10):
        while len(yard.house.desk.notices) == 0:  # noqa: ASYNC110 it signals nobody
            await asyncio.sleep(0.005)
    path = f"dispatches/{dispatch_id}/cancel" if by == "cancel" else f"workers/{worker.name}/drain"
    done = await yard.client.post(f"/api/admin/{path}", headers=await an_operator_key(yard.house))
    assert done.status_code == 200, done.text
    async with asyncio.timeout(1.0):
        told = await waiting
    unwanted = [str(dispatch_id)] if by == "cancel" else []
    assert told == {"cancel_requested": unwanted, "draining": by == "drain"}
    again = await worker.say("notices", wait_seconds=0.05, heard=unwanted, draining=True)
    assert again["cancel_requested"] == []


async def test_a_stranger_hears_no_notices(yard: Yard) -> None:
    await HttpWorker(yard.client, "nobody", token="x" * 64).say("notices", 401, wait_seconds=30)


async def test_a_cancellation_is_told_with_the_next_report(yard: Yard) -> None:
    """Of another job's report as little as before it."""
    worker = await yard.register(max_concurrency=2)
    unwanted, wanted = await yard.add(), await yard.add()
    jobs = {job["dispatch_id"]: job for job in [await worker.poll(max_concurrency=2) for _ in range(2)]}

    async def report(dispatch_id: DispatchId) -> Any:
        said = {"kind": "progress", **lease_of(jobs[str(dispatch_id)]), "data": {"fraction": 0.1}}
        return (await worker.say("events", events=[said]))["cancel_requested"]

    assert [await report(unwanted), await report(wanted)] == [[], []]
    asked = await yard.client.post(
        f"/api/admin/dispatches/{unwanted}/cancel", headers=await an_operator_key(yard.house)
    )
    assert asked.status_code == 200, asked.text
    assert [await report(unwanted), await report(wanted)] == [[str(unwanted)], []]


async def test_work_leased_ahead_is_asked_back_when_somebody_idles(yard: Yard) -> None:
    busy, idle = await yard.register("i-1"), await yard.register("i-2")
    await yard.add()
    await yard.add()
    await busy.poll()
    ahead = await busy.poll()
    said = [{**lease_of(ahead), "ahead": True}]
    assert not (await busy.say("heartbeat", leases=said))["leases"][0]["give_back"]
    waiting = asyncio.create_task(idle.poll(wait_seconds=20))
    await yard.parked(1)
    assert (await busy.say("heartbeat", leases=said))["leases"][0]["give_back"]
    await busy.say("requeue", **lease_of(ahead), reason="given back")
    got = await asyncio.wait_for(waiting, 5)
    assert got["dispatch_id"] == ahead["dispatch_id"]
    row = await yard.queue.row(UUID(got["dispatch_id"]))
    assert (row.attempts, row.releases) == (2, 1)


async def test_a_job_is_not_worn_out_by_being_asked_back(yard: Yard) -> None:
    """A worker that asks again at once gets it again and again: each time is a release, and those are counted."""
    busy, idle = await yard.register("i-1"), await yard.register("i-2")
    await yard.add()
    job = await busy.poll()
    for _ in range(ASKED_BACK_MAX):
        await busy.say("requeue", **lease_of(job), reason="given back")
        job = await busy.poll()
    waiting = asyncio.create_task(idle.poll(wait_seconds=20))
    await yard.parked(1)
    beat = await busy.say("heartbeat", leases=[{**lease_of(job), "ahead": True}])
    assert not beat["leases"][0]["give_back"]
    waiting.cancel()


async def test_the_class_of_a_failure_decides_what_follows(yard: Yard) -> None:
    worker = await yard.register(max_concurrency=3)
    ends = {"user_input": "failed", "infra": "delayed", "timeout": "failed"}
    for failure, status in ends.items():
        await yard.add()
        job = await worker.poll(max_concurrency=3)
        said = await worker.say("fail", **lease_of(job), error_class=failure, error="it broke")
        assert (failure, said["status"]) == (failure, status)


# ── long poll ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("wait_seconds", [0, 20])
async def test_the_first_job_of_its_kind_is_there_for_who_asks_at_once(yard: Yard, wait_seconds: int) -> None:
    """Its lane is new to the desk, and nobody has looked since."""
    worker = await yard.register(max_concurrency=50)
    for number in range(12):
        dispatch_id = await yard.add(structure_hash=f"new-{number}")
        job = await asyncio.wait_for(worker.poll(max_concurrency=50, wait_seconds=wait_seconds), 10)
        assert UUID(job["dispatch_id"]) == dispatch_id


async def test_a_waiting_poll_gets_the_job_that_comes(yard: Yard) -> None:
    worker = await yard.register()
    waiting = asyncio.create_task(worker.poll(wait_seconds=20))
    await yard.parked(1)
    dispatch_id = await yard.add()
    job = await asyncio.wait_for(waiting, 5)
    assert UUID(job["dispatch_id"]) == dispatch_id


async def test_one_job_wakes_one_who_waits_the_warm_one_first(yard: Yard) -> None:
    await yard.add()
    cold, warm = await yard.register("i-1"), await yard.register("i-2")
    first = await cold.poll()
    await cold.say("complete", **lease_of(first))
    waiting = [
        asyncio.create_task(cold.poll(wait_seconds=20)),
        asyncio.create_task(warm.poll(wait_seconds=20, warm=["structure-1"])),
    ]
    await yard.parked(2)
    asked = yard.house.desk.polls.batches
    await yard.add()
    done, left = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED, timeout=5)
    assert done == {waiting[1]}
    assert yard.house.desk.polls.batches == asked + 1
    await yard.parked(1)
    for task in left:
        task.cancel()


async def test_a_poll_that_comes_again_gets_the_lease_it_had(yard: Yard) -> None:
    worker = await yard.register()
    await yard.add()
    await yard.add()
    poll_id = str(new_id())
    first, again = await worker.poll(poll_id=poll_id), await worker.poll(poll_id=poll_id)
    assert first["lease_token"] == again["lease_token"]
    assert (await yard.queue.row(UUID(first["dispatch_id"]))).epoch == 1


async def test_who_waits_holds_no_connection(yard: Yard) -> None:
    workers = [await yard.elsewhere(f"10.0.0.{number}").register(f"w-{number}") for number in range(30)]
    waiting = [asyncio.create_task(worker.poll(wait_seconds=20)) for worker in workers]
    await yard.parked(30)
    pool = yard.house.desk._central.engine.pool
    assert "Current Checked out connections: 0" in pool.status() or pool.status().startswith("NullPool")
    for task in waiting:
        task.cancel()


async def test_a_stop_sends_those_who_wait_away_with_empty_hands(yard: Yard) -> None:
    worker = await yard.register()
    waiting = asyncio.create_task(worker.poll(wait_seconds=30))
    await yard.parked(1)
    await yard.house.desk.stop()
    assert await asyncio.wait_for(waiting, 2) is None


# ── take-over, revocation, leaving ──────────────────────────────────────────────────────────


async def test_w1_a_restarted_worker_goes_on_with_what_it_proves(yard: Yard) -> None:
    old = await yard.register(max_concurrency=5)
    kept_id, lost_id = await yard.add(), await yard.add()
    jobs = {UUID(job["dispatch_id"]): job for job in [await old.poll(max_concurrency=5) for _ in range(2)]}
    new = await yard.register(max_concurrency=5, leases=[lease_of(jobs[kept_id])])
    assert new.registered["incarnation"] == 2
    [rebound] = new.registered["leases"]
    assert UUID(rebound["dispatch_id"]) == kept_id
    assert rebound["lease_token"] != jobs[kept_id]["lease_token"]
    # The old process is fenced off.
    for verb, more in (("poll", {}), ("heartbeat", lease_of(jobs[kept_id])), ("complete", lease_of(jobs[kept_id]))):
        assert (await old.say(verb, 409, **more))["code"] == "superseded"
    # What it could not prove waits again, with the attempt counted.
    row = await yard.queue.row(lost_id)
    assert (row.status, row.attempts, row.releases) == ("queued", 1, 0)
    old_token = {"dispatch_id": str(kept_id), "lease_token": jobs[kept_id]["lease_token"]}
    assert (await new.say("complete", 409, **old_token))["code"] == "lease_lost"
    assert (await new.say("complete", **lease_of(rebound)))["status"] == "completed"
    row = await yard.queue.row(kept_id)
    assert (row.epoch, row.attempts) == (1, 1)  # nothing ran twice


async def test_w1_a_registration_whose_reply_was_lost_costs_no_lease(yard: Yard) -> None:
    """The restarted worker registers again with the proofs it has: those of two lives ago."""
    old = await yard.register()
    dispatch_id = await yard.add()
    job = await old.poll()
    await yard.register(leases=[lease_of(job)])
    new = await yard.register(leases=[lease_of(job)])
    [rebound] = new.registered["leases"]
    assert (await new.say("complete", **lease_of(rebound)))["status"] == "completed"
    row = await yard.queue.row(dispatch_id)
    assert (row.epoch, row.attempts) == (1, 1)


async def test_w3_an_old_process_cannot_sign_the_new_one_off(yard: Yard) -> None:
    old = await yard.register()
    new = await yard.register()
    assert (await old.say("deregister", 409))["code"] == "superseded"
    assert await new.poll() is None


async def test_a_worker_leaves_with_empty_hands_only(yard: Yard) -> None:
    worker = await yard.register()
    await yard.add()
    job = await worker.poll()
    assert (await worker.say("deregister", 409))["code"] == "leases_open"
    await worker.say("requeue", **lease_of(job), reason="shutting down")
    assert (await worker.say("deregister"))["status"] == "gone"
    assert (await worker.say("poll", 401))["code"] == "unauthenticated"


async def test_a_worker_that_waits_is_told_at_once_that_an_operator_drains_it(yard: Yard) -> None:
    worker = await yard.register()
    assert (await worker.say("poll"))["draining"] is False
    waiting = asyncio.create_task(worker.say("poll", wait_seconds=30))
    await yard.parked(1)
    async with yard.house.control_tx() as tx:
        await fleet.move_worker(tx, "i-1", WorkerEvent.DRAIN)
    yard.house.desk.worker_changed("i-1")
    async with asyncio.timeout(20):
        assert await waiting == {"job": None, "draining": True}
        assert (await worker.say("poll", wait_seconds=30))["draining"] is True
    assert (await worker.say("heartbeat"))["draining"] is True


async def test_a_drain_that_another_process_made_is_heard_at_the_next_poll(yard: Yard) -> None:
    """The command line tells nobody where there are no notices; what is remembered of a worker is minutes old then."""
    worker = await yard.register()
    await worker.say("poll")
    async with yard.house.control_tx() as tx:
        await fleet.move_worker(tx, "i-1", WorkerEvent.DRAIN)
    async with asyncio.timeout(20):
        assert (await worker.say("poll", wait_seconds=30))["draining"] is True


async def test_a_drained_worker_gets_nothing_new_and_keeps_what_it_has(yard: Yard) -> None:
    worker = await yard.register()
    await yard.add()
    job = await worker.poll()
    await yard.add()
    async with yard.house.control_tx() as tx:
        await fleet.move_worker(tx, "i-1", WorkerEvent.DRAIN)
    assert await worker.poll(wait_seconds=0.2) is None
    assert (await worker.say("heartbeat", **lease_of(job)))["lost"] == []
    assert (await worker.say("complete", **lease_of(job)))["status"] == "completed"


# ── outputs, events ─────────────────────────────────────────────────────────────────────────


async def test_outputs_go_to_a_folder_of_the_attempt_and_must_be_there(yard: Yard) -> None:
    worker = await yard.register()
    tenant_id = new_id()
    dispatch_id = await yard.add(tenant_id=tenant_id)
    job = await worker.poll()
    wanted = {"name": "Ergebnis ä/../x.PNG", "mime_type": "image/png", "size": 5}
    [signed] = (await worker.say("outputs", **lease_of(job), outputs=[wanted]))["outputs"]
    folder = f"tenants/{tenant_id}/ai-jobs/{dispatch_id}/1-"
    assert signed["path"].startswith(folder)
    assert signed["path"].endswith(".png")
    named = {"path": signed["path"], "name": "x.png", "mime_type": "image/png", "size": 5}
    assert (await worker.say("complete", 409, **lease_of(job), outputs=[named]))["code"] == "output_missing"
    put = await yard.client.put(signed["output_url"], content=b"12345", headers=signed["output_headers"])
    assert put.status_code in (200, 201, 204), put.text
    short = {**named, "size": 4}
    assert "5 bytes" in (await worker.say("complete", 409, **lease_of(job), outputs=[short]))["message"]
    foreign = {**named, "path": f"tenants/{new_id()}/ai-jobs/{dispatch_id}/1-x/output-1.png"}
    assert (await worker.say("complete", 409, **lease_of(job), outputs=[foreign]))["code"] == "output_missing"
    assert (await yard.queue.row(dispatch_id)).status == "leased"
    assert (await worker.say("complete", **lease_of(job), outputs=[named]))["status"] == "completed"
    assert (await worker.say("complete", **lease_of(job), outputs=[named]))["replayed"]
    assert (await worker.say("outputs", 409, **lease_of(job), outputs=[wanted]))["code"] == "lease_lost"


async def test_events_are_kept_for_whoever_watches(yard: Yard) -> None:
    worker = await yard.register()
    await yard.add()
    job = await worker.poll()
    said = {"kind": "progress", **lease_of(job), "data": {"value": 3, "max": 20}}
    assert (await worker.say("events", events=[said]))["accepted"] == 1
    [kept] = yard.house.desk.live.after(0)
    assert (kept.worker_id, kept.kind, kept.data) == ("i-1", "progress", {"value": 3, "max": 20})


async def test_events_of_a_lost_lease_are_left_out_and_the_rest_is_taken(yard: Yard) -> None:
    worker = await yard.register()
    await yard.add()
    mine = {"kind": "progress", **lease_of(await worker.poll()), "data": {"value": 3}}
    lost = {**mine, "dispatch_id": str(new_id()), "data": {"value": 4}}
    loose = {"kind": "log", "data": {"line": "hello"}}
    reply = await worker.say("events", events=[lost, mine, lost, loose])
    assert reply == {"accepted": 2, "lost": [lost["dispatch_id"]], "too_large": [], "cancel_requested": []}
    assert [each.data for each in yard.house.desk.live.after(0)] == [{"value": 3}, {"line": "hello"}]
    unproved = {"kind": "log", "dispatch_id": mine["dispatch_id"]}
    assert "lease_token" in (await worker.say("events", 422, events=[unproved]))["message"]


async def test_an_event_that_is_too_large_is_named_and_the_rest_is_taken(yard: Yard) -> None:
    worker = await yard.register()
    await yard.add()
    proof = lease_of(await worker.poll())
    small, large = {"line": "x" * 8_000}, {"line": "x" * 8_192}
    frame = {"mime_type": "image/webp", "image": "x" * 500_000}
    said = [
        {"kind": "log", **proof, "data": large},
        {"kind": "log", **proof, "data": small},
        {"kind": "preview", **proof, "data": frame},
    ]
    reply = await worker.say("events", events=said)
    assert (reply["accepted"], reply["too_large"]) == (2, [0])
    log = yard.house.live.hub.logs.get(JobId(UUID(proof["dispatch_id"])))
    assert log is not None
    assert len(log.events) == 1


async def test_a_flood_of_events_keeps_little_and_is_slowed_down(yard: Yard) -> None:
    """It was 1.2 GB for 1,500 events of 1 MB."""
    worker = await yard.register()
    await yard.add()
    proof = lease_of(await worker.poll())
    body = json.dumps(
        {"worker_id": worker.name, "events": [{"kind": "log", **proof, "data": {"line": "x" * 7_000}}] * 120}
    )
    headers = {"Authorization": f"Bearer {worker.token}"}
    statuses = set()
    for _ in range(60):
        answer = await worker.client.post("/api/worker/events", content=body, headers=headers)
        statuses.add(answer.status_code)
    assert (statuses, fault(answer)["code"]) == ({200, 429}, "rate_limited")
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert yard.house.desk.live.size_bytes <= 1024**2
    assert yard.house.live.hub.logs.size_bytes <= 200 * 8 * 1024


# ── bad input ───────────────────────────────────────────────────────────────────────────────


async def test_bad_bodies_get_clear_errors(yard: Yard, client: httpx2.AsyncClient) -> None:
    worker = await yard.register()
    headers = {"Authorization": f"Bearer {worker.token}"}
    broken = {
        b"{": (400, "bad_request"),
        b"\xff\xfe": (400, "bad_request"),
        b"[]": (422, "invalid_request"),
        b"{}": (422, "invalid_request"),
        b'{"worker_id": "i-1", "surprise": 1}': (422, "invalid_request"),
        b'{"worker_id": "i-1", "wait_seconds": 31}': (422, "invalid_request"),
        b'{"worker_id": "i-1", "poll_id": "a\\u0000b"}': (422, "invalid_request"),
        b'{"worker_id": "i-1", "poll_id": "\\ud800"}': (422, "invalid_request"),
        b'{"worker_id": "i-1", "capabilities": {"a": ' + b"[" * 100_000: (400, "bad_request"),
        b'"' + b"x" * (1024**2 + 1) + b'"': (413, "body_too_large"),
    }
    for body, (status, code) in broken.items():
        answer = await client.post(WORKER + "poll", content=body, headers=headers)
        assert (body[:60], answer.status_code, answer.json()["error"]["code"]) == (body[:60], status, code)
    unknown = await client.post(WORKER + "poll", json={"worker_id": "i-1", "surprise": 1}, headers=headers)
    assert "surprise" in unknown.json()["error"]["message"]


async def test_without_a_token_nothing_is_told(yard: Yard, client: httpx2.AsyncClient) -> None:
    await yard.register()
    for verb in ("poll", "heartbeat", "deregister"):
        bare = await client.post(WORKER + verb, json={"worker_id": "i-1"})
        assert bare.status_code == 401
        assert bare.headers["WWW-Authenticate"] == "Bearer"
        assert bare.headers["X-Request-Id"]
    stranger = HttpWorker(client, "nobody", token="x" * 64)
    assert (await stranger.say("poll", 401))["code"] == "unauthenticated"
    asked = await client.get(WORKER + "poll")
    assert (asked.status_code, asked.headers["Allow"]) == (405, "POST")
    assert (await client.post(WORKER + "nothing", json={})).status_code == 404


async def test_another_workers_token_is_not_this_ones(yard: Yard) -> None:
    one, two = await yard.register("i-1"), await yard.register("i-2")
    two.token = one.token
    assert (await two.say("poll", 401))["code"] == "unauthenticated"


async def test_a_house_whose_database_is_away_says_so(yard: Yard, house: House) -> None:
    worker = await yard.register()
    assert await worker.poll() is None
    await house.desk._central.engine.dispose()
    assert await worker.poll() is None  # connections come back by themselves


async def test_who_finds_others_waiting_waits_without_asking_the_queue(yard: Yard) -> None:
    workers = [await yard.elsewhere(f"10.0.1.{number}").register(f"w-{number}") for number in range(3)]
    first = asyncio.create_task(workers[0].poll(wait_seconds=20))
    await yard.parked(1)
    assert await workers[1].poll() is None  # what it may run is remembered from here on
    asked = yard.house.desk.polls.batches
    second = asyncio.create_task(workers[1].poll(wait_seconds=20, poll_id="p-1"))
    await yard.parked(2)
    assert yard.house.desk.polls.batches == asked
    ids = {str(await yard.add()), str(await yard.add())}
    assert {(await asyncio.wait_for(each, 5))["dispatch_id"] for each in (first, second)} == ids
    # A lost reply comes again, whoever else waits.
    third = asyncio.create_task(workers[2].poll(wait_seconds=20))
    await yard.parked(1)
    again = await asyncio.wait_for(workers[1].poll(wait_seconds=20, poll_id="p-1"), 5)
    assert again["dispatch_id"] == second.result()["dispatch_id"]
    third.cancel()
