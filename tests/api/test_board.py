"""What a board of pictures needs: thumbs, the tree in one answer, the next pair in time, and a ZIP to take home."""

import io
import json
import zipfile
from typing import Any

import httpx2
import pytest
from PIL import Image

from comfyfleet.house import House
from comfyfleet.kernel.ids import RunId
from comfyfleet.storage import object_key
from comfyfleet.upkeep import collect_uploads
from comfyfleet.upkeep.draw_thumbs import Drawing
from tests.api.asking import Json
from tests.builders import a_member
from tests.database.pipelines.studio import Studio
from tests.made_media import a_picture

Client = httpx2.AsyncClient
PICTURE = a_picture(width=800, height=600)
HOSTILE = '<img src=x onerror=alert(1)>"'


class Board:
    """A user, and a run of theirs whose pictures are there."""

    def __init__(self, client: Client, studio: Studio, run_id: RunId) -> None:
        self.client, self.studio, self.run_id = client, studio, run_id

    @classmethod
    async def set_up(cls, client: Client, house: House, **given: Any) -> "Board":
        studio = await Studio.open(house)
        board = cls(client, studio, await studio.start(**{"concurrency": 4, **given}))
        await studio.advance()
        return board

    async def finish(self, content: bytes = PICTURE) -> None:
        """All that is under way."""
        for row in await self.studio.under_way():
            key = object_key("tenants", self.studio.member.tenant.id, "ai-jobs", row.job_id, "1-x", "0")
            await self.studio.house.store.write(key, content, media_type="image/png")
            await self.studio.complete(row.job_id, size_bytes=len(content))
        await self.studio.advance()

    async def ask(self, path: str, **params: Any) -> httpx2.Response:
        return await self.client.get(path, headers=self.studio.member.headers, params=params)

    async def tree(self, **params: Any) -> Json:
        answer = await self.ask(f"/api/pipeline-runs/{self.run_id}/tree", **params)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found


async def test_the_tree_in_one_answer_with_what_is_under_way(client: Client, house: House) -> None:
    board = await Board.set_up(client, house, variants=3)
    buds = (await board.tree())["under_way"]
    assert [(each["position"], each["parent_id"], each["status"]) for each in buds] == [(0, None, "queued")] * 3
    await board.finish()
    await board.studio.approve(board.run_id, 0, top=1)
    await board.studio.advance()
    found = await board.tree()
    assert [each["position"] for each in found["candidates"]] == [0, 0, 0]
    best = found["under_way"][0]["parent_id"]
    assert {each["parent_id"] for each in found["under_way"]} == {best}
    leaf = found["candidates"][0]
    assert leaf["thumb_url"] == f"http://localhost/api/files/{leaf['file_id']}/thumb"
    first = await board.tree(limit=2)
    rest = await board.tree(limit=2, cursor=first["next_cursor"])
    assert [*first["candidates"], *rest["candidates"]] == found["candidates"]
    assert rest["next_cursor"] is None
    assert (await board.tree(cursor=rest["last_cursor"]))["candidates"] == []


async def test_a_thumb_is_made_once_and_goes_with_its_file(client: Client, house: House) -> None:
    board = await Board.set_up(client, house)
    await board.finish()
    leaf = (await board.tree())["candidates"][0]
    answer = await board.ask(leaf["thumb_url"])
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/webp")
    assert "immutable" in answer.headers["cache-control"]
    with Image.open(io.BytesIO(answer.content)) as thumb:
        assert thumb.size == (256, 192)
    key = object_key("tenants", board.studio.member.tenant.id, "thumbs", leaf["file_id"])
    kept = await house.store.head(key)
    assert (await board.ask(leaf["thumb_url"])).content == answer.content
    assert await house.store.head(key) == kept
    stranger = await a_member(house)
    assert (await client.get(leaf["thumb_url"], headers=stranger.headers)).status_code == 404
    job = (await board.ask(f"/api/ai-jobs/{leaf['job_id']}")).json()
    assert job["outputs"][0]["thumb_url"] == leaf["thumb_url"]
    headers = board.studio.member.headers
    assert (await client.delete(f"/api/files/{leaf['file_id']}", headers=headers)).status_code == 204
    assert await house.store.head(key) is None
    assert (await board.ask(leaf["thumb_url"])).status_code == 404


async def test_what_cannot_be_drawn_is_tried_once(
    client: Client, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = await Board.set_up(client, house)
    await board.finish(PICTURE[:200])
    url = (await board.tree())["candidates"][0]["thumb_url"]
    assert (await board.ask(url)).status_code == 404
    monkeypatch.setattr(house.prober, "thumb", None)  # asked again, it would fail
    assert (await board.ask(url)).status_code == 404


async def test_thumbs_are_drawn_before_anybody_asks(client: Client, house: House) -> None:
    board = await Board.set_up(client, house)
    await board.finish()
    drawing = Drawing(house, "main")
    drawing.want(board.studio.member.tenant.id, [board.run_id])
    assert await drawing.tick() == 0
    leaves = (await board.tree())["candidates"]
    keys = [object_key("tenants", board.studio.member.tenant.id, "thumbs", each["file_id"]) for each in leaves]
    assert len(keys) == 2
    assert all([await house.store.head(key) for key in keys])
    await collect_uploads.tick(house, "main")
    assert all([await house.store.head(key) for key in keys])


@pytest.mark.parametrize("variants", [2, 3, 8])
async def test_the_next_pair_is_another_one(client: Client, house: House, variants: int) -> None:
    board = await Board.set_up(client, house, variants=variants, concurrency=8)
    await board.finish()
    path = f"/api/pipeline-runs/{board.run_id}/pair"
    for _ in range(5):
        now = {each["id"] for each in (await board.ask(path)).json()["pair"]}
        following = {each["id"] for each in (await board.ask(path, beside=list(now))).json()["pair"]}
        assert len(following) == 2
        assert (now == following) == (variants == 2)
        assert not (variants == 8 and now & following)


async def test_a_run_as_one_zip(client: Client, house: House) -> None:
    board = await Board.set_up(client, house, variants=2, top=1, name=HOSTILE)
    for position in (0, 1):
        await board.finish()
        await board.studio.approve(board.run_id, position)
        await board.studio.advance()
    await board.finish()
    answer = await board.ask(f"/api/pipeline-runs/{board.run_id}/export")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/zip")
    assert answer.headers["content-disposition"].startswith('attachment; filename="gym-shoot-')
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        record = json.loads(archive.read("run.json"))
        pictures = [archive.read(each["file"]) for each in record["winners"]]
        sheet = archive.read("contact-sheet.html").decode()
        thumbs = [name for name in archive.namelist() if name.startswith("thumbs/")]
    assert pictures == [PICTURE, PICTURE]
    assert [len(each["parents"]) for each in record["winners"]] == [2, 2]
    assert len(record["candidates"]) == len(thumbs) == 4
    assert all(each["graph"] for each in record["candidates"].values())
    assert record["missing"] == {}
    assert HOSTILE not in sheet
    best = await board.ask(f"/api/pipeline-runs/{board.run_id}/export", top=1)
    with zipfile.ZipFile(io.BytesIO(best.content)) as archive:
        assert len(json.loads(archive.read("run.json"))["winners"]) == 1
