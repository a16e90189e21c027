"""An effect in one call, on both engines: with the file itself, by an id, with the result, and with nothing left."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from fastapi import FastAPI

from comfyfleet import workflows
from comfyfleet.db.tables import ai_jobs, files, videos
from comfyfleet.house import House
from comfyfleet.storage import object_key
from comfyfleet.storage.model import MIB
from tests.api.asking import fault
from tests.api.ordering import CREDIT, PRICE, Client, Studio, an_effect
from tests.api.test_videos import upload
from tests.made_media import a_film, a_picture

PICTURE, OTHER = a_picture(), a_picture("image/jpeg")
CAT = {"properties": json.dumps({"prompt": "a cat"})}


@pytest.fixture
async def studio(house: House, client: Client) -> Studio:
    return await Studio.open(house, client)


async def run(studio: Studio, *, effect: str = "old-film", prefer: str | None = None, **sent: Any) -> httpx2.Response:
    headers = studio.member.headers | ({"Prefer": prefer} if prefer else {})
    return await studio.client.post(f"/api/effects/{effect}/run", headers=headers, **sent)


async def form(studio: Studio, content: bytes = PICTURE, name: str = "a.png", **given: Any) -> httpx2.Response:
    prefer, brings = given.pop("prefer", None), given.pop("brings", {})
    return await run(studio, prefer=prefer, data={**CAT, **given}, files={"file": (name, content), **brings})


async def kept(house: House, studio: Studio) -> tuple[int, ...]:
    """Objects, and rows that somebody could see."""
    names = await house.store.list_names(object_key("tenants", studio.member.tenant.id, "files"))
    shown = [
        sa.select(sa.func.count()).select_from(files).where(files.c.status != "deleted"),
        sa.select(sa.func.count()).select_from(videos).where(videos.c.status != "deleted"),
        sa.select(sa.func.count()).select_from(ai_jobs),
    ]
    async with house.pool("main").engine.connect() as connection:
        return (len(names), *[int(await connection.scalar(each) or 0) for each in shown], await studio.balance())


@asynccontextmanager
async def running(house: House) -> AsyncIterator[None]:
    house.live.start()
    try:
        yield
    finally:
        await house.live.stop()


async def until_waiting(house: House) -> None:
    async with asyncio.timeout(20):
        while not house.live.hub.topics:  # noqa: ASYNC110 nobody is told
            await asyncio.sleep(0.005)


async def test_a_form_is_run_and_answered_with_the_result(studio: Studio, house: House) -> None:
    async with running(house):
        mask = {"mask": ("mask.jpg", OTHER, "image/jpeg")}
        asking = asyncio.create_task(form(studio, a_picture(), brings=mask, prefer="respond-async, wait=30"))
        await until_waiting(house)
        lease = await studio.leased()
        assets = {each["name"]: each for each in lease["input_payload"]["assets"]}
        assert (await studio.client.get(assets["picture"]["url"])).content == PICTURE
        assert (await studio.client.get(assets["mask"]["url"])).content == OTHER
        told = {name: (each["content_hash"], each["is_users_own"]) for name, each in assets.items()}
        assert told == {"picture": (sha256(PICTURE).hexdigest(), True), "mask": (sha256(OTHER).hexdigest(), True)}
        await studio.complete(lease, b"the result")
        await studio.settle()
        answer = await asking
    assert (answer.status_code, answer.headers["preference-applied"]) == (200, "wait=30")
    done = answer.json()
    assert answer.headers["location"] == f"/api/ai-jobs/{done['id']}"
    assert (done["status"], done["properties"]["prompt"]) == ("completed", "a cat")
    assert (await studio.client.get(done["outputs"][0]["url"])).content == b"the result"
    assert await studio.balance() == CREDIT - PRICE
    assert house.live.hub.topics == []


async def test_what_is_not_ready_in_time_is_under_way(studio: Studio, house: House) -> None:
    async with running(house):
        early = await form(studio, prefer="wait=0")
        assert (early.status_code, early.headers["preference-applied"]) == (202, "wait=0")
        failing = asyncio.create_task(form(studio, prefer="wait=60"))
        await until_waiting(house)
        for _ in range(2):
            lease = await studio.leased()
            proof = {"dispatch_id": lease["dispatch_id"], "lease_token": lease["lease_token"]}
            await studio.work("fail", **proof, error="no face", error_class="user_input")
        await studio.settle()
        failed = await failing
    assert (failed.status_code, failed.json()["status"], failed.json()["error"]) == (200, "failed", "no face")
    plain = await form(studio)
    assert (plain.status_code, "preference-applied" in plain.headers) == (202, False)
    assert (plain.json()["status"], plain.json()["outputs"]) == ("queued", [])


async def test_by_the_id_of_what_is_there_already(studio: Studio, house: House) -> None:
    file_id = await upload(studio.client, studio.member, PICTURE, "image/png", "a.png")
    said = {"properties": {"prompt": "a cat"}, "idempotency_key": "k"}
    first = await run(studio, json={**said, "file_id": file_id})
    assert first.status_code == 202, first.text
    before = await kept(house, studio)
    assert (await run(studio, json={**said, "file_id": file_id})).text == first.text
    assert await kept(house, studio) == before
    by_video = await run(studio, json={"properties": {"prompt": "x"}, "video_id": str(studio.video.id)})
    assert (by_video.status_code, by_video.json()["video_id"]) == (202, str(studio.video.id))
    await an_effect(house, "dream", takes_input=False)
    assert (await run(studio, effect="dream", json={"properties": {"prompt": "x"}})).status_code == 202


async def test_the_same_form_under_the_same_key_is_one_job_and_one_upload(studio: Studio, house: House) -> None:
    answers = await asyncio.gather(*(form(studio, idempotency_key="k-1") for _ in range(4)))
    assert {answer.status_code for answer in answers} == {202}, [answer.text for answer in answers]
    assert len({answer.text for answer in answers}) == 1
    assert await studio.balance() == CREDIT - PRICE
    before = await kept(house, studio)
    assert before[:4] == (4, 4, 2, 1), before  # of the studio and of this: a picture, its poster; two videos, one job
    for other in (
        await form(studio, OTHER, "b.jpg", idempotency_key="k-1"),
        await form(studio, idempotency_key="k-1", priority=3),
    ):
        assert (other.status_code, fault(other)["code"]) == (422, "idempotency_key_reused")
    assert await kept(house, studio) == before
    async with house.control_tx() as tx:
        await workflows.set_workflow_active(tx, "old-film-graph", is_active=False)
    late, new = await form(studio, idempotency_key="k-1"), await form(studio, idempotency_key="k-2")
    assert late.text == answers[0].text
    assert (new.status_code, fault(new)["code"]) == (422, "effect_unavailable")
    assert await kept(house, studio) == before


async def test_what_is_refused_is_named_and_leaves_nothing(studio: Studio, house: House) -> None:
    await an_effect(house, "dream", takes_input=False)
    await an_effect(house, "dear", price=CREDIT + 1)
    whole = {"file": ("a.png", PICTURE)}
    cases: list[tuple[dict[str, Any], int, str]] = [
        ({"files": {"file": ("a.png", b"")}}, 422, "file"),
        ({"files": {"file": ("a.bin", b"<html>")}}, 422, "file: the file holds HTML"),
        ({"files": {"file": ("a.png", OTHER, "image/png")}}, 422, "file: the file was announced as image/png"),
        ({"files": {"file": ("a.png", PICTURE[:-200])}}, 422, "file: the file"),
        ({"files": {"file": ("a.mp4", a_film())}}, 422, "properties.picture"),
        ({"files": {**whole, "mask": ("m.png", PICTURE[:-200])}}, 422, "properties.mask"),
        ({"files": {**whole, "prompt": ("m.png", PICTURE)}}, 422, "properties.prompt"),
        ({"files": {**whole, "picture": ("m.png", PICTURE)}}, 422, "file: comes twice"),
        ({"files": whole, "data": {}}, 422, "properties.prompt"),
        ({"files": whole, "data": {**CAT, "stepz": "1"}}, 422, "stepz"),
        ({"files": whole, "data": {"properties": "{"}}, 422, "properties: is not JSON"),
        ({"files": whole, "data": {**CAT, "priority": "high"}}, 422, "priority"),
        ({"files": whole, "data": {**CAT, "video_id": str(studio.video.id)}}, 422, "file: does not go together"),
        ({"files": whole, "effect": "dream"}, 422, "file: this effect works on none"),
        ({"files": whole, "effect": "dear"}, 422, "Insufficient token balance."),
        ({"files": whole, "effect": "nothing"}, 404, "effect"),
        ({"files": {}, "data": {}}, 422, "video_id"),
        ({"content": b"--x\r\nno form", "type": "multipart/form-data; boundary=x"}, 422, "body: the form is cut off"),
        ({"content": b"--x--", "type": "multipart/form-data"}, 422, "boundary"),
        ({"content": b"{", "type": "application/json"}, 400, "not JSON"),
        ({"content": b"[1]", "type": "application/json"}, 422, "body"),
        ({"content": b'{"no": 1}', "type": "application/json"}, 422, "no"),
    ]
    before = await kept(house, studio)
    for given, status, named in cases:
        said = {"data": CAT, **given}
        if "type" in said:
            headers = studio.member.headers | {"Content-Type": said["type"]}
            answer = await studio.client.post("/api/effects/old-film/run", content=said["content"], headers=headers)
        else:
            answer = await run(studio, **said)
        assert answer.status_code == status, (given, answer.text)
        assert named in answer.text, (given, answer.text)
    assert await kept(house, studio) == before
    assert before[-1] == CREDIT


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
async def test_a_file_that_is_too_large_is_not_read_to_its_end(studio: Studio, house: House, app: FastAPI) -> None:
    app.state.options = replace(app.state.options, upload_bytes_max=MIB)
    sent, film = 0, a_film()
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.mp4"\r\n\r\n'

    async def body() -> AsyncIterator[bytes]:
        nonlocal sent
        yield head + film
        for _ in range(100):
            sent += 64 * 1024
            yield bytes(64 * 1024)

    before = await kept(house, studio)
    headers = studio.member.headers | {"Content-Type": "multipart/form-data; boundary=x"}
    answer = await studio.client.post("/api/effects/old-film/run", content=body(), headers=headers)
    assert (answer.status_code, fault(answer)["code"]) == (422, "media_refused")
    assert sent < 3 * MIB
    assert await kept(house, studio) == before
