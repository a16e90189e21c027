"""Jobs of effects over HTTP, on both engines: ordered exactly, run, paid for once."""

import asyncio
import base64
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from prometheus_client.registry import CollectorRegistry

from comfyfleet import storage, videos, workflows
from comfyfleet.comfy.graph import pack_definitions
from comfyfleet.db.tables import ai_jobs, token_transactions, webhook_events
from comfyfleet.db.tables import videos as videos_table
from comfyfleet.desk.starts import Starts
from comfyfleet.house import House
from comfyfleet.kernel.ids import new_id
from comfyfleet.metrics.control_plane import ControlPlaneCounters
from comfyfleet.storage import object_key
from comfyfleet.upkeep import tell_starts
from comfyfleet.workflows import effects
from comfyfleet.workflows.effects import NewEffect
from tests.api.asking import fault, row_counts
from tests.api.ordering import CREDIT, PRICE, Client, Studio, an_effect
from tests.builders import a_member, an_operator_key
from tests.conftest import ManualClock
from tests.database.videos.shelf import a_video, a_written_upload


@pytest.fixture
async def studio(house: House, client: Client) -> Studio:
    return await Studio.open(house, client)


async def in_pool(house: House, statement: Any) -> list[Any]:
    async with house.pool("main").engine.connect() as connection:
        return list(await connection.execute(statement))


async def test_a_text_that_workers_call_a_file_since_it_was_registered_is_no_users(studio: Studio) -> None:
    flagged = {"CLIPTextEncode": {"input": {"required": {"text": ["STRING", {"image_upload": True}]}}}}
    found = pack_definitions([flagged])
    assert found is not None
    packed = base64.b64encode(found.packed).decode()
    assert await studio.work("definitions", digest=found.digest, gzip=packed) == {"wanted": False}
    refused = await studio.post()
    assert refused.status_code == 422
    assert "properties.prompt: names a file of the server" in fault(refused)["message"]


async def test_an_effect_is_ordered_run_and_delivered(studio: Studio, house: House) -> None:
    hook = {"url": "https://example.com/hook"}
    assert (await studio.client.post("/api/webhooks", json=hook, headers=studio.member.headers)).status_code == 201
    text = 'quotes " braces {{prompt}} {x} \\ and 🐈' + "y" * 100_000
    job_id = await studio.ordered(properties={"prompt": text, "steps": 30})
    made = await studio.job(job_id)
    assert (made["status"], made["credits_cost"], made["properties"]["steps"]) == ("queued", PRICE, 30)
    assert await studio.balance() == CREDIT - PRICE
    assert (await studio.shown(made["video_id"]))["status"] == "processing"
    lease = await studio.leased()
    payload = lease["input_payload"]
    assert payload["workflow"]["3"]["inputs"]["text"] == text
    assert (payload["workflow"]["4"]["inputs"]["steps"], payload["workflow"]["1"]["inputs"]["image"]) == (30, "")
    [asset] = payload["assets"]
    assert asset["url"] == lease["input_url"] == payload["input_url"]
    assert (await studio.client.get(lease["input_url"])).content == b"clip.mp4"
    operator, seen = await an_operator_key(house), f"/api/admin/dispatches/{job_id}/graph"
    ran = (await studio.client.get(seen, headers=operator)).json()
    assert (ran["graph"], ran["assets"][0]["path"]) == (payload["workflow"], asset["path"])
    assert "url" not in ran["assets"][0]
    await studio.complete(lease, b"first", b"second one")
    await studio.settle()
    done = await studio.job(job_id)
    assert (done["status"], [each["is_primary"] for each in done["outputs"]]) == ("completed", [True, False])
    assert (await studio.client.get(done["outputs"][1]["url"])).content == b"second one"
    video = await studio.shown(made["video_id"])
    assert video["status"] == "completed"
    assert (await studio.client.get(video["processed_file_url"])).content == b"first"
    assert await studio.balance() == CREDIT - PRICE
    types = [row.event_type for row in await in_pool(house, sa.select(webhook_events.c.event_type))]
    assert sorted(types) == ["job.completed", "job.queued", "job.started"]
    effect = (await studio.client.get("/api/effects/old-film", headers=studio.member.headers)).json()
    assert effect["estimated_seconds"] != 1.0
    await studio.client.delete(f"/api/ai-jobs/{job_id}", headers=studio.member.headers)
    assert (await studio.client.get(seen, headers=operator)).status_code == 404


async def test_fifty_posts_with_one_key_are_one_job_and_fifty_equal_answers(studio: Studio, house: House) -> None:
    answers = await asyncio.gather(*(studio.post(idempotency_key="k-1") for _ in range(50)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.text for answer in answers}) == 1
    assert len(await in_pool(house, sa.select(ai_jobs.c.id))) == 1
    reserves = sa.select(token_transactions.c.id).where(token_transactions.c.type == "JOB_RESERVE")
    assert len(await in_pool(house, reserves)) == 1
    await studio.complete(await studio.leased(), b"x")
    await studio.settle()
    assert (await studio.post(idempotency_key="k-1")).text == answers[0].text
    other = await studio.post(idempotency_key="k-1", properties={"prompt": "a dog"})
    assert (other.status_code, fault(other)["code"]) == (422, "idempotency_key_reused")
    assert await studio.balance() == CREDIT - PRICE


async def test_five_jobs_at_once_and_no_sixth_however_many_ask(studio: Studio) -> None:
    answers = await asyncio.gather(*(studio.post() for _ in range(50)))
    assert sorted(answer.status_code for answer in answers) == [201] * 5 + [422] * 45
    refused = next(answer for answer in answers if answer.status_code == 422)
    assert (fault(refused)["code"], fault(refused)["details"]) == ("too_many_active_jobs", {"active_jobs_max": 5})
    assert await studio.balance() == CREDIT - 5 * PRICE


async def test_without_tokens_the_answer_says_how_many_and_nothing_is_left(studio: Studio, house: House) -> None:
    await an_effect(house, "dear", price=CREDIT + 1)
    before = await row_counts(house)
    answer = await studio.post(effect="dear")
    assert (answer.status_code, fault(answer)["message"]) == (422, "Insufficient token balance.")
    assert fault(answer)["details"]["required_tokens"] == CREDIT + 1
    assert await row_counts(house) == before
    assert (await studio.shown(str(studio.video.id)))["status"] == "uploaded"


async def in_hand(house: House, delete: Any, thing: Any, studio: Studio) -> None:
    async with house.tenant_tx(studio.member.tenant) as tx:
        await delete(tx, thing, studio.member.user.id)


async def expire(house: House, video_id: Any) -> None:
    v = videos_table
    async with house.pool("main").engine.begin() as connection:
        await connection.execute(sa.update(v).where(v.c.id == video_id).values(status="expired"))


async def test_what_does_not_fit_is_refused_by_its_field_and_leaves_nothing(studio: Studio, house: House) -> None:
    stranger = await a_member(house)
    theirs = await a_video(house, stranger, media_type="image/png")
    pending = await a_written_upload(house, studio.member, "mask.png", "image/png")
    film, old = await a_video(house, studio.member), await a_video(house, studio.member, media_type="image/png")
    gone, thrown_away = [await a_video(house, studio.member, media_type="image/png") for _ in range(2)]
    await in_hand(house, videos.delete_video, thrown_away.id, studio)
    await in_hand(house, storage.delete_file, gone.original_file_id, studio)
    await expire(house, old.id)
    await an_effect(house, "dream", takes_input=False)
    await an_effect(house, "off")
    async with house.control_tx() as tx:
        await workflows.set_workflow_active(tx, "off-graph", is_active=False)
        await effects.add_effect(tx, NewEffect("hidden", "Hidden"), workflow="dream-graph")
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({"properties": {}}, 422, "properties.prompt"),
        ({"properties": {"prompt": "x", "stepz": 1}}, 422, "properties.stepz"),
        ({"properties": {"prompt": "x", "steps": 51}}, 422, "properties.steps"),
        ({"properties": {"prompt": "x", "mask": str(pending.id)}}, 422, "properties.mask"),
        ({"properties": {"prompt": "x", "mask": str(theirs.original_file_id)}}, 422, "properties.mask"),
        ({"properties": {"prompt": "x", "mask": str(gone.original_file_id)}}, 422, "properties.mask"),
        ({"properties": {"prompt": "x", "mask": str(film.original_file_id)}}, 422, "is video/mp4"),
        ({"properties": {"prompt": "x", "mask": "no id"}}, 422, "properties.mask"),
        ({"properties": {"prompt": "x", "steps": "many"}}, 422, "properties.steps"),
        ({"properties": {"prompt": "x", "steps": 2.5}}, 422, "properties.steps"),
        ({"properties": {"prompt": 7}}, 422, "properties.prompt"),
        ({"properties": {"prompt": "x", "picture": str(new_id())}}, 422, "properties.picture"),
        ({"properties": {"prompt": "a\0b"}}, 422, "properties"),
        ({"video_id": None}, 422, "video_id"),
        ({"video_id": str(theirs.id)}, 404, "video"),
        ({"video_id": str(thrown_away.id)}, 404, "video"),
        ({"video_id": str(gone.id)}, 422, "video_id: this video's upload is not there any more"),
        ({"video_id": str(old.id)}, 409, "A video that is expired"),
        ({"video_id": str(film.id)}, 422, "properties.picture"),
        ({"effect": "off"}, 422, "The effect 'off' cannot be used now: its workflow is switched off."),
        ({"effect": "hidden"}, 404, "effect"),
        ({"effect": "dream"}, 422, "video_id"),
        ({"effect": "unknown"}, 404, "effect"),
        ({"effect": None}, 422, "effect_id"),
        ({"priority": 11}, 422, "priority"),
        ({"webhook_url": "ftp://x"}, 422, "'field': 'webhook_url'"),
    ]
    before, objects = await row_counts(house), await all_objects(studio)
    for given, status, named in cases:
        answer = await studio.post(**given)
        assert answer.status_code == status, (given, answer.text)
        assert named in str(fault(answer)), (given, answer.text)
    assert await row_counts(house) == before
    assert await all_objects(studio) == objects
    assert await studio.balance() == CREDIT
    assert (await studio.shown(str(studio.video.id)))["status"] == "uploaded"


async def test_a_job_that_delivers_nothing_is_not_completed(studio: Studio) -> None:
    job_id = await studio.ordered()
    lease = await studio.leased()
    said = {"worker_id": "gpu-1", "dispatch_id": lease["dispatch_id"], "lease_token": lease["lease_token"]}
    refused = await studio.client.post("/api/worker/complete", json=said, headers=studio.worker)
    assert (refused.status_code, fault(refused)["code"]) == (409, "nothing_delivered")
    await studio.settle()
    assert (await studio.job(job_id))["status"] == "processing"
    assert (await studio.complete(lease, b"made"))["replayed"] is False
    await studio.settle()
    assert (await studio.job(job_id))["status"] == "completed"


async def test_an_operator_sets_how_much_priority_a_tenant_may_ask_for(studio: Studio, house: House) -> None:
    operator = await an_operator_key(house)
    url = f"/api/admin/tenants/{studio.member.tenant.id}/priority-limit"
    for limit, asked, status in ((20, 20, 201), (0, 1, 422), (None, 11, 422), (None, 10, 201)):
        answer = await studio.client.put(url, json={"priority_max": limit}, headers=operator)
        assert (answer.status_code, answer.json()["priority_max"]) == (200, limit)
        assert (await studio.post(priority=asked)).status_code == status
    assert (await studio.client.put(url, json={"priority_max": 101}, headers=operator)).status_code == 422
    assert (await studio.client.put(url, json={"priority_max": 1}, headers=studio.member.headers)).status_code == 403


async def all_objects(studio: Studio) -> list[str]:
    return await studio.house.store.list_names(object_key("tenants", studio.member.tenant.id, "files"))


async def test_a_queued_job_is_cancelled_at_once_and_never_comes_back(studio: Studio) -> None:
    for relayed in (False, True):
        job_id = await studio.ordered()
        if relayed:
            await studio.relay()
        answers = [await studio.say("cancel", job_id) for _ in range(2)]
        assert [(each.status_code, each.json()["status"]) for each in answers] == [(200, "cancelled")] * 2
        assert await studio.balance() == CREDIT
        await studio.relay()
        await studio.settle()
        assert (await studio.job(job_id))["status"] == "cancelled"
        assert (await studio.shown(str(studio.video.id)))["error"] == "cancelled"
    await studio.house.desk.polls.look()
    assert (await studio.work("poll", poll_id="p"))["job"] is None


async def test_tokens_are_counted_once_whatever_is_repeated(studio: Studio) -> None:
    registry = CollectorRegistry()
    studio.house.facts.note = ControlPlaneCounters(registry).note
    for _ in range(2):
        assert (await studio.post(idempotency_key="once")).status_code == 201
    job_id = await studio.ordered()
    for _ in range(2):
        await studio.say("cancel", job_id)
    await studio.complete(await studio.leased(), b"made")
    for _ in range(2):
        await studio.settle()
    credit = {"user_id": str(studio.member.user.id), "amount": 7, "provider_transaction_id": "gift"}
    operator = await an_operator_key(studio.house)
    for _ in range(2):
        await studio.client.post(f"/api/admin/tenants/{studio.member.tenant.id}/credits", json=credit, headers=operator)
    retried = await studio.client.post(f"/api/ai-jobs/{job_id}/retry", json={}, headers=studio.member.headers)
    assert retried.status_code == 201
    tokens = {
        type: registry.get_sample_value("comfyfleet_tokens_total", {"type": type})
        for type in ("credit", "reserve", "refund", "consume")
    }
    assert tokens == {"credit": 7, "reserve": 3 * PRICE, "refund": PRICE, "consume": PRICE}
    ended = [each.value for family in registry.collect() for each in family.samples if "jobs_total" in each.name]
    assert ended == [1, 1], "a job that was cancelled before a worker had it is counted, too"


async def test_a_running_job_hears_of_it_by_heartbeat_and_may_win(studio: Studio) -> None:
    job_id = await studio.ordered()
    lease = await studio.leased()
    told = (await studio.say("cancel", job_id)).json()
    assert (told["status"] in ("queued", "processing"), told["cancel_requested"]) == (True, True)
    proof = {"dispatch_id": lease["dispatch_id"], "lease_token": lease["lease_token"]}
    assert (await studio.work("heartbeat", **proof))["leases"][0]["cancel_requested"] is True
    await studio.complete(lease, b"done first")
    await studio.settle()
    assert (await studio.job(job_id))["status"] == "completed"
    assert await studio.balance() == CREDIT - PRICE
    late = await studio.say("cancel", job_id)
    assert (late.status_code, fault(late)["code"]) == (409, "illegal_move")
    assert fault(late)["message"] == "A job that is completed cannot be moved by 'cancel'."


async def test_a_start_that_one_replica_could_not_tell_is_told_by_the_next_that_hears_of_it(
    studio: Studio, house: House, clock: ManualClock
) -> None:
    job_id = await studio.ordered()
    lease = await studio.leased()
    clock.advance(5)
    house.desk.starts = Starts()  # as in a replica that did not lease it
    proof = {"dispatch_id": lease["dispatch_id"], "lease_token": lease["lease_token"]}
    for told in (1, 0):  # once: heartbeats come often
        await studio.work("heartbeat", **proof)
        assert await tell_starts.tick(house) == told
    j = ai_jobs.c
    [row] = await in_pool(house, sa.select(j.status, j.created_at, j.started_at).where(j.id == UUID(job_id)))
    assert row.status == "processing"
    assert (row.started_at - row.created_at).total_seconds() < 4  # when it was leased, not when it was told


async def test_a_failure_is_told_in_few_words_refunded_and_can_be_tried_again(studio: Studio) -> None:
    job_id = await studio.ordered()
    early = await studio.say("retry", job_id)
    assert (early.status_code, fault(early)["code"]) == (409, "illegal_move")
    lease = await studio.leased()
    error = '{"exception_message": "No face found.", "traceback": "/home/op/secret.py"}'
    proof = {"dispatch_id": lease["dispatch_id"], "lease_token": lease["lease_token"]}
    await studio.work("fail", **proof, error=error, error_class="user_input")
    await studio.settle()
    failed = await studio.job(job_id)
    assert (failed["status"], failed["error"]) == ("failed", "No face found.")
    assert (await studio.shown(failed["video_id"]))["error"] == "No face found."
    assert await studio.balance() == CREDIT
    again = [await studio.say("retry", job_id, idempotency_key="r-1") for _ in range(2)]
    assert again[0].text == again[1].text
    assert (again[0].json()["retry_of"], again[0].json()["video_id"]) == (job_id, failed["video_id"])
    repeated = (await studio.leased())["input_payload"]
    first = lease["input_payload"]
    assert (repeated["workflow"], repeated["properties"]) == (first["workflow"], first["properties"])
    # What nobody may run any more would wait in vain, paid for.
    async with studio.house.control_tx() as tx:
        await workflows.set_workflow_active(tx, "old-film-graph", is_active=False)
    late = await studio.say("retry", job_id)
    assert (late.status_code, fault(late)["code"]) == (422, "effect_unavailable")
    assert (await studio.say("retry", job_id, idempotency_key="r-1")).text == again[0].text
    assert await studio.balance() == CREDIT - PRICE


async def test_a_file_that_a_job_needs_cannot_be_deleted(studio: Studio, house: House) -> None:
    job_id = await studio.ordered()
    for url in (f"/api/files/{studio.video.original_file_id}", f"/api/videos/{studio.video.id}"):
        answer = await studio.client.delete(url, headers=studio.member.headers)
        assert (answer.status_code, fault(answer)["code"]) == (409, "file_in_use")
    await studio.say("cancel", job_id)
    url = f"/api/videos/{studio.video.id}"
    assert (await studio.client.delete(url, headers=studio.member.headers)).status_code == 204
    gone = await studio.say("retry", job_id)
    assert (gone.status_code, fault(gone)["code"]) == (422, "invalid_input")
    async with house.tenant_tx(studio.member.tenant, read_only=True) as tx:
        assert await videos.find_video(tx, studio.video.original_file_id, studio.member.user.id) is None  # type: ignore[arg-type]


async def test_jobs_are_listed_filtered_and_thrown_away(studio: Studio) -> None:
    done = await studio.ordered()
    await studio.complete(await studio.leased(), b"first", b"second")
    await studio.settle()
    waiting = [await studio.ordered() for _ in range(3)]

    async def ids(**params: Any) -> list[str]:
        answer = await studio.client.get("/api/ai-jobs", params=params, headers=studio.member.headers)
        assert answer.status_code == 200, answer.text
        found = [each["id"] for each in answer.json()["jobs"]]
        cursor = answer.json()["next_cursor"]
        return found + (await ids(**params, cursor=cursor) if cursor and "cursor" not in params else [])

    assert await ids(limit=2) == [*reversed(waiting), done]
    assert await ids(status="completed") == [done]
    assert await ids(effect_id=str(studio.effect.id), video_id=str(new_id())) == []
    url = f"/api/ai-jobs/{done}"
    assert (await studio.client.delete(f"/api/ai-jobs/{waiting[0]}", headers=studio.member.headers)).status_code == 409
    second = (await studio.job(done))["outputs"][1]["file_id"]
    assert (await studio.client.delete(url, headers=studio.member.headers)).status_code == 204
    assert (await studio.client.get(url, headers=studio.member.headers)).status_code == 404
    assert (await studio.client.get(f"/api/files/{second}", headers=studio.member.headers)).status_code == 404
    assert done not in await ids()
