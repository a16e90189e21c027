"""From an announced upload to a video, over HTTP; and every way in which it can go wrong. On both engines."""

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import httpx2
import pytest
from fastapi import FastAPI

from comfyfleet import storage
from comfyfleet.house import House
from comfyfleet.kernel.ids import FileId, VideoId, new_id
from comfyfleet.media.model import MEDIA_TYPES
from comfyfleet.storage import File, object_key, parts
from comfyfleet.storage.model import MIB
from comfyfleet.upkeep import collect_uploads
from tests.api.asking import Json, at, fault, row_counts
from tests.builders import Member, a_member
from tests.conftest import ManualClock
from tests.database.videos.shelf import an_output, complete, fail, start
from tests.made_media import FORMATS, a_film, a_picture, a_pixel_bomb

Client = httpx2.AsyncClient
FILM = a_film()


@pytest.fixture
async def member(house: House) -> Member:
    return await a_member(house)


async def announce(client: Client, member: Member, **given: Any) -> httpx2.Response:
    body = {"name": "clip.mp4", "mime_type": "video/mp4", "size": len(FILM), **given}
    return await client.post("/api/videos/uploads", json=body, headers=member.headers)


async def upload(
    client: Client, member: Member, content: bytes = FILM, mime_type: str = "video/mp4", name: str = "clip.mp4"
) -> str:
    answer = await announce(client, member, name=name, mime_type=mime_type, size=len(content))
    assert answer.status_code == 201, answer.text
    [put] = answer.json()["upload"]["requests"]
    sent = await client.put(put["url"], content=content, headers=put["headers"])
    assert sent.status_code == 200, sent.text
    return str(answer.json()["file"]["id"])


async def make(client: Client, member: Member, file_id: str, **given: Any) -> httpx2.Response:
    body = {"original_file_id": file_id, **given}
    return await client.post("/api/videos", json=body, headers=member.headers)


async def made(client: Client, member: Member, content: bytes = FILM, mime_type: str = "video/mp4") -> Json:
    answer = await make(client, member, await upload(client, member, content, mime_type))
    assert answer.status_code == 201, answer.text
    video: Json = answer.json()
    return video


async def stored_objects(house: House, member: Member) -> list[str]:
    return await house.store.list_names(object_key("tenants", member.tenant.id, "files"))


async def read_file(house: House, member: Member, file_id: str) -> File:
    async with house.tenant_tx(member.tenant, read_only=True) as tx:
        return await storage.read_file(tx, FileId(UUID(file_id)), member.user.id)


async def test_a_film_is_uploaded_looked_at_and_read_back(client: Client, house: House, member: Member) -> None:
    video = await made(client, member)
    assert (video["status"], video["title"], video["mime_type"]) == ("uploaded", "clip.mp4", "video/mp4")
    assert (video["width"], video["height"]) == (64, 48)
    assert video["duration_seconds"] == pytest.approx(1.0, abs=0.11)
    assert (video["processed_file_url"], video["error"], video["job_id"]) == (None, None, None)
    read = (await client.get(f"/api/videos/{video['id']}", headers=member.headers)).json()
    volatile = ("original_file_url", "poster_url")
    assert {**read, **dict.fromkeys(volatile)} == {**video, **dict.fromkeys(volatile)}
    original, poster = await client.get(read["original_file_url"]), await client.get(read["poster_url"])
    assert (original.content, original.headers["content-type"]) == (FILM, "video/mp4")
    assert (poster.content[8:12], poster.headers["content-type"]) == (b"WEBP", "image/webp")
    assert len(await stored_objects(house, member)) == 2


async def test_pictures_go_the_same_way(client: Client, member: Member) -> None:
    for mime_type in FORMATS:
        video = await made(client, member, a_picture(mime_type), mime_type)
        assert (video["status"], video["mime_type"], video["duration_seconds"]) == ("uploaded", mime_type, None)
        assert (video["width"], video["height"]) == (120, 80)
        assert (await client.get(video["poster_url"])).content[8:12] == b"WEBP"


async def test_the_same_upload_asked_for_at_once_is_one_video(app: FastAPI, house: House, member: Member) -> None:
    async with at(app) as client:
        file_id = await upload(client, member)
        answers = await asyncio.gather(*(make(client, member, file_id) for _ in range(4)))
        assert {answer.status_code for answer in answers} == {201}
        assert len({answer.json()["id"] for answer in answers}) == 1
        listed = (await client.get("/api/videos", headers=member.headers)).json()["videos"]
        assert [each["id"] for each in listed] == [answers[0].json()["id"]]


async def test_a_large_film_comes_in_parts(client: Client, member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "SINGLE_BYTES_MAX", MIB)
    monkeypatch.setattr(parts, "PART_BYTES_MIN", MIB)
    free = (2 * MIB).to_bytes(4, "big") + b"free" + bytes(2 * MIB - 8)
    film = FILM + free
    announced = (await announce(client, member, size=len(film))).json()
    size, named = announced["upload"]["part_size"], []
    for number, put in enumerate(announced["upload"]["requests"], start=1):
        piece = film[(number - 1) * size : number * size]
        sent = await client.put(put["url"], content=piece, headers=put["headers"])
        named.append({"number": number, "etag": sent.headers["etag"]})
    assert len(named) == 3
    missing = await make(client, member, announced["file"]["id"])
    assert (missing.status_code, fault(missing)["code"]) == (409, "upload_missing")
    video = await make(client, member, announced["file"]["id"], parts=named)
    assert (video.status_code, video.json()["width"]) == (201, 64), video.text


async def test_a_processed_video_shows_its_result_and_a_failed_one_its_error(
    client: Client, house: House, member: Member
) -> None:
    good, bad = [VideoId(UUID((await made(client, member))["id"])) for _ in range(2)]
    job_id = await start(house, member, good)
    assert (await client.get(f"/api/videos/{good}", headers=member.headers)).json()["status"] == "processing"
    refused = await client.delete(f"/api/videos/{good}", headers=member.headers)
    assert (refused.status_code, fault(refused)["code"]) == (409, "illegal_move")
    await complete(house, member, good, job_id, await an_output(house, member))
    await fail(house, member, bad, await start(house, member, bad), "Processing failed.")
    done = (await client.get(f"/api/videos/{good}", headers=member.headers)).json()
    assert (done["status"], done["error"]) == ("completed", None)
    assert (await client.get(done["processed_file_url"])).content == b"output.mp4"
    failed = (await client.get(f"/api/videos/{bad}", headers=member.headers)).json()
    assert (failed["status"], failed["error"], failed["processed_file_url"]) == ("failed", "Processing failed.", None)
    only = (await client.get("/api/videos", params={"status": "failed"}, headers=member.headers)).json()
    assert [each["id"] for each in only["videos"]] == [str(bad)]


async def test_lists_come_in_pages(client: Client, member: Member) -> None:
    film, picture = await made(client, member), await made(client, member, a_picture(), "image/png")
    first = (await client.get("/api/videos", params={"limit": 1}, headers=member.headers)).json()
    assert [each["id"] for each in first["videos"]] == [picture["id"]]
    params = {"limit": 1, "cursor": first["next_cursor"]}
    second = (await client.get("/api/videos", params=params, headers=member.headers)).json()
    assert ([each["id"] for each in second["videos"]], second["next_cursor"]) == ([film["id"]], None)
    kind = (await client.get("/api/videos", params={"kind": "image"}, headers=member.headers)).json()
    assert [each["id"] for each in kind["videos"]] == [picture["id"]]
    wrong = await client.get("/api/videos", params={"status": "lost"}, headers=member.headers)
    assert (wrong.status_code, fault(wrong)["details"]["problems"][0]["field"]) == (422, "status")


async def test_deleting_leaves_nothing(client: Client, house: House, member: Member) -> None:
    video = await made(client, member)
    url = f"/api/videos/{video['id']}"
    assert (await client.delete(url, headers=member.headers)).status_code == 204
    assert await stored_objects(house, member) == []
    assert (await client.get(url, headers=member.headers)).status_code == 404
    assert (await client.delete(url, headers=member.headers)).status_code == 404
    assert (await client.get(video["original_file_url"])).status_code == 404


async def test_what_was_uploaded_is_never_a_page(client: Client, member: Member) -> None:
    """A picture that carries a page behind it, with a name that tries its luck."""
    content = a_picture("image/png") + b"<html><script>alert(1)</script></html>"
    file_id = await upload(client, member, content, "image/png", 'x.html"; a="b.svg')
    answer = await make(client, member, file_id, title="  Holiday 🏖  ")
    assert (answer.status_code, answer.json()["title"]) == (201, "Holiday 🏖")
    for url in (answer.json()["original_file_url"], answer.json()["poster_url"]):
        got = await client.get(url)
        assert got.headers["content-type"] in ("image/png", "image/webp")
        assert got.headers["content-disposition"].startswith("attachment")
        assert got.headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in got.headers["content-security-policy"]


# ── bad input ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
async def nothing_written(house: House, member: Member) -> AsyncIterator[None]:
    before = await row_counts(house)
    yield
    assert await row_counts(house) == before
    assert await stored_objects(house, member) == []


UNTAKEN: list[tuple[Json, str]] = [
    ({"mime_type": "text/html"}, "mime_type"),
    ({"mime_type": "image/svg+xml"}, "mime_type"),
    ({"mime_type": "image/png; charset=x"}, "mime_type"),
    ({"size": 10 * 1024**3}, "size"),
    ({"mime_type": "image/png", "size": 64 * MIB + 1}, "size"),
    ({"name": "../clip.mp4"}, "name"),
]


@pytest.mark.usefixtures("nothing_written")
async def test_what_cannot_be_taken_is_refused_before_a_byte_is_sent(client: Client, member: Member) -> None:
    for given, field in UNTAKEN:
        answer = await announce(client, member, **given)
        assert (answer.status_code, fault(answer)["details"]["field"]) == (422, field), given
    empty = await announce(client, member, size=0)
    assert (empty.status_code, fault(empty)["details"]["problems"][0]["field"]) == (422, "size")


BAD = {
    "a page": (b"<!doctype html><script>alert(1)</script>", "image/png", "holds HTML"),
    "an SVG": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/png", "holds SVG"),
    "a picture for a film": (a_picture(), "video/mp4", "holds png"),
    "a picture that was cut": (a_picture()[:2000], "image/png", "cut off"),
    "a film that was cut": (FILM[:-50], "video/mp4", "cut off"),
    "a pixel bomb": (a_pixel_bomb(), "image/png", "pixels"),
    "one byte": (b"\x00", "video/webm", "holds"),
}


async def test_bad_bytes_are_refused_by_name_and_thrown_away(client: Client, house: House, member: Member) -> None:
    for name, (content, mime_type, said) in BAD.items():
        file_id = await upload(client, member, content, mime_type)
        answer = await make(client, member, file_id)
        error = fault(answer)
        assert (answer.status_code, error["code"]) == (422, "media_refused"), name
        assert error["details"]["field"] == "original_file_id"
        assert said in error["message"], name
        assert (await make(client, member, file_id)).status_code == 404
    assert await stored_objects(house, member) == []
    assert (await client.get("/api/videos", headers=member.headers)).json()["videos"] == []
    assert (await client.get("/api/files", headers=member.headers)).json()["files"] == []


async def test_an_upload_that_never_came_is_missing_and_may_still_come(client: Client, member: Member) -> None:
    announced = (await announce(client, member)).json()
    file_id = announced["file"]["id"]
    answer = await make(client, member, file_id)
    assert (answer.status_code, fault(answer)["code"]) == (409, "upload_missing")
    [put] = announced["upload"]["requests"]
    other = {**put["headers"], "Content-Length": str(len(FILM) + 1)}
    assert (await client.put(put["url"], content=FILM + b"!", headers=other)).status_code == 403
    assert (await make(client, member, file_id)).status_code == 409
    assert (await client.put(put["url"], content=FILM, headers=put["headers"])).status_code == 200
    assert (await make(client, member, file_id)).status_code == 201


async def test_an_object_of_another_length_is_refused_and_thrown_away(
    client: Client, house: House, member: Member
) -> None:
    """A store that does not hold senders to what they signed."""
    file_id = (await announce(client, member)).json()["file"]["id"]
    file = await read_file(house, member, file_id)
    await house.store.write(file.key, FILM + b"!", media_type="video/mp4")
    answer = await make(client, member, file_id)
    assert (answer.status_code, fault(answer)["code"]) == (409, "upload_mismatch")
    assert await stored_objects(house, member) == []


async def test_a_foreign_unknown_or_deleted_file_makes_no_video(client: Client, house: House, member: Member) -> None:
    stranger = await a_member(house)
    theirs, deleted = await upload(client, stranger), await upload(client, member)
    assert (await client.delete(f"/api/files/{deleted}", headers=member.headers)).status_code == 204
    before = await row_counts(house)
    for file_id in (theirs, deleted, str(new_id())):
        answer = await make(client, member, file_id)
        assert (answer.status_code, fault(answer)["details"]) == (404, {"noun": "file", "name": file_id})
    assert await row_counts(house) == before
    assert (await make(client, stranger, theirs)).status_code == 201


async def test_a_file_of_another_door_is_judged_but_kept(client: Client, house: House, member: Member) -> None:
    """It was stored as a file, and is its owner's; it is only no video."""
    text = {"name": "notes.txt", "mime_type": "text/plain", "size": 5}
    pending = (await client.post("/api/files", json=text, headers=member.headers)).json()["file"]["id"]
    untaken = await make(client, member, pending)
    assert (untaken.status_code, fault(untaken)["code"]) == (422, "media_refused")
    assert all(each in fault(untaken)["message"] for each in MEDIA_TYPES)
    assert (await client.get(f"/api/files/{pending}", headers=member.headers)).status_code == 200


async def test_a_file_for_another_property_is_looked_at_too(client: Client, house: House, member: Member) -> None:
    """A mask that is a bomb would do the same harm to a server as the picture."""
    answers = {}
    for content in (b"notes", a_picture()[:-200], a_picture()):
        body = {"name": "mask.png", "mime_type": "image/png", "size": len(content)}
        announced = (await client.post("/api/files", json=body, headers=member.headers)).json()
        [put] = announced["upload"]["requests"]
        await client.put(put["url"], content=content, headers=put["headers"])
        confirm = f"/api/files/{announced['file']['id']}/confirm"
        answers[content] = [await client.post(confirm, json={}, headers=member.headers) for _ in range(2)]
    *bad, good = answers.values()
    for refused, gone in bad:
        assert (refused.status_code, fault(refused)["code"], gone.status_code) == (422, "media_refused", 404)
        assert fault(refused)["details"]["field"] == "file_id"
    assert [(each.status_code, each.json()["status"]) for each in good] == [(200, "stored")] * 2
    assert len(await stored_objects(house, member)) == 1


async def test_without_the_media_extra_the_upload_is_kept_and_the_answer_says_so(
    client: Client, member: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_id = await upload(client, member)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "av", None)
        answer = await make(client, member, file_id)
    assert (answer.status_code, fault(answer)["code"]) == (503, "media_tools_missing")
    assert "comfyfleet[media]" in fault(answer)["message"]
    assert (await make(client, member, file_id)).status_code == 201


async def test_an_upload_that_became_no_video_is_collected(
    client: Client, house: House, member: Member, clock: ManualClock
) -> None:
    await upload(client, member)
    for _ in range(2):
        clock.advance(collect_uploads.AGE_S + 10)
        await collect_uploads.tick(house, "main")
    assert await stored_objects(house, member) == []
