"""A control plane of its own process, a tenant with tokens, effects that work on the engine, and orders of them."""

import asyncio
import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from comfyfleet import dispatch, fleet
from comfyfleet.bootstrap import build_house
from comfyfleet.house import House
from comfyfleet.settings import Settings
from comfyfleet.workflows import effects, read_properties
from comfyfleet.workflows.effects import NewEffect
from tests.builders import Member, a_member, a_workflow
from tests.server import ServerProcess, server_process

WITHIN_S = 60.0
FLEET, STAGE = "crew", "test"
SEED = {"name": "seed", "type": "seed", "node": "1", "input_name": "seed"}
SECONDS = {"name": "seconds", "type": "number", "node": "1", "input_name": "seconds", "default": 0.0, "minimum": 0.0}
STEPS = {"name": "steps", "type": "integer", "node": "1", "input_name": "steps", "default": 1, "minimum": 1}
PICTURE = {"name": "picture", "type": "image", "node": "2", "input_name": "image", "is_primary_input": True}
SLEEP: dict[str, Any] = {
    "class_type": "FleetSleep",
    "inputs": {"seconds": 0.0, "steps": 1, "seed": 1, "previews": True},
}
SAVE: dict[str, Any] = {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "still"}}
DRAW: dict[str, Any] = {"1": SLEEP, "9": SAVE}
WORDS = {"name": "words", "type": "text", "placeholder": "words", "required": True}
SAY: dict[str, Any] = {
    **DRAW,
    "5": {"class_type": "PrimitiveString", "inputs": {"value": "{{words}}"}},
    "6": {
        "class_type": "StringConcatenate",
        "inputs": {"string_a": ["5", 0], "string_b": "{{words}}!", "delimiter": ""},
    },
    "7": {"class_type": "PreviewAny", "inputs": {"source": ["6", 0]}},
}
INVERT: dict[str, Any] = {
    "1": {**SLEEP, "inputs": {**SLEEP["inputs"], "image": ["3", 0]}},
    "2": {"class_type": "LoadImage", "inputs": {"image": "x.png"}},
    "3": {"class_type": "ImageInvert", "inputs": {"image": ["2", 0]}},
    "9": SAVE,
}
# Its picture goes to whoever listens on the socket, and nothing is left of it.
MUTE: dict[str, Any] = {"1": SLEEP, "9": {"class_type": "SaveImageWebsocket", "inputs": {"images": ["1", 0]}}}


@dataclass
class Plant:
    server: ServerProcess
    settings: Settings
    fleet_secret: str
    member: Member
    client: httpx2.Client = field(init=False)
    ordered: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client = httpx2.Client(base_url=self.server.url, headers=self.member.headers, timeout=30)

    @property
    def url(self) -> str:
        return self.server.url

    def order(self, effect: str = "draw", *, video_id: str | None = None, **properties: Any) -> str:
        body = {"effect": effect, "properties": properties} | ({"video_id": video_id} if video_id else {})
        answer = self.client.post("/api/ai-jobs", json=body)
        assert answer.status_code == 201, answer.text
        self.ordered.append(str(answer.json()["id"]))
        return self.ordered[-1]

    def clear(self) -> None:
        """What a test left would be the next one's."""
        left = [job_id for job_id in self.ordered if self._ended(job_id) is None]
        self.ordered.clear()
        for job_id in left:
            self.cancel(job_id)

    def upload(self, content: bytes, media_type: str = "image/png") -> str:
        asked = {"name": "in.png", "mime_type": media_type, "size": len(content)}
        answer = self.client.post("/api/videos/uploads", json=asked)
        assert answer.status_code == 201, answer.text
        file, [request] = answer.json()["file"], answer.json()["upload"]["requests"]
        put = httpx2.put(_absolute(request["url"], self.url), content=content, headers=request["headers"])
        assert put.status_code == 200, put.text
        made = self.client.post("/api/videos", json={"original_file_id": file["id"], "title": "in"})
        assert made.status_code == 201, made.text
        return str(made.json()["id"])

    def job(self, job_id: str) -> dict[str, Any]:
        answer = self.client.get(f"/api/ai-jobs/{job_id}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def watch(self, job_id: str) -> dict[str, list[dict[str, Any]]]:
        """All that its stream tells, by kind, until its end."""
        told: dict[str, list[dict[str, Any]]] = defaultdict(list)
        with self.client.stream("GET", f"/api/ai-jobs/{job_id}/events", timeout=WITHIN_S) as stream:
            kind = ""
            for line in stream.iter_lines():
                if line.startswith("event:"):
                    kind = line.removeprefix("event:").strip()
                elif line.startswith("data:"):
                    told[kind].append(json.loads(line.removeprefix("data:")))
        return told

    def cancel(self, job_id: str) -> None:
        answer = self.client.post(f"/api/ai-jobs/{job_id}/cancel", json={})
        assert answer.status_code == 200, answer.text

    def output(self, job_id: str) -> bytes:
        video = self.client.get(f"/api/videos/{self.job(job_id)['video_id']}").json()
        return httpx2.get(_absolute(video["processed_file_url"], self.url)).content

    def ends(self, job_id: str, *, within_s: float = WITHIN_S) -> str:
        return str(self.waits(lambda: self._ended(job_id), f"{job_id} ends", within_s=within_s))

    def _ended(self, job_id: str) -> str | None:
        status = self.job(job_id)["status"]
        return status if status in ("completed", "failed", "cancelled") else None

    def dispatch(self, job_id: str) -> dict[str, Any]:
        """It comes to the queue a moment after its order was taken."""
        look = "select * from ai_job_dispatches where id = ?"
        [found] = self.waits(lambda: self.rows(look, job_id), f"{job_id} is queued")
        return dict(found)

    def spent(self, job_id: str) -> int:
        """Attempts that count."""
        found = self.dispatch(job_id)
        return int(found["attempts"] - found["releases"])

    def attempts(self, job_id: str) -> list[dict[str, Any]]:
        return self.rows("select * from dispatch_attempts where dispatch_id = ? order by epoch", job_id)

    def rows(self, statement: str, *values: str) -> list[dict[str, Any]]:
        path = self.settings.central_url().removeprefix("sqlite:///")
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        connection.row_factory = sqlite3.Row
        try:
            spelt = [value.replace("-", "") for value in values]
            found = connection.execute(statement, values).fetchall() or connection.execute(statement, spelt).fetchall()
            return [dict(row) for row in found]
        finally:
            connection.close()

    def worker(self, name: str) -> dict[str, Any]:
        return self.rows("select * from comfyui_workers where worker_id = ?", name)[0]

    def operate(self, path: str, **said: Any) -> Any:
        answer = httpx2.post(f"{self.url}/api/admin{path}", json=said, headers=self.server.operator, timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def take_leases_from(self, name: str) -> None:
        """As if they had run out."""
        house = build_house(self.settings)
        try:
            async with house.control_tx() as tx:
                worker = await fleet.get_worker(tx, name)
                await dispatch.return_leases(tx, worker.id, "a test took them")
        finally:
            await house.close()

    def waits(self, look: Callable[[], Any], what: str, *, within_s: float = WITHIN_S) -> Any:
        ends = time.monotonic() + within_s
        while time.monotonic() < ends:
            if found := look():
                return found
            time.sleep(0.03)
        raise AssertionError(f"not within {within_s:g} s: {what}")


def _absolute(url: str, base: str) -> str:
    return url if url.startswith("http") else base + url


@contextmanager
def a_plant(folder: Path, templates: Path, **settings: str) -> Iterator[Plant]:
    databases = {kind: folder / f"{kind}.sqlite" for kind in ("central", "tenant")}
    for kind, path in databases.items():
        path.write_bytes((templates / f"{kind}.sqlite").read_bytes())
    home = folder / "server"
    home.mkdir()
    key = "a key that only tests sign with, long enough"
    given = {
        "DATABASE_URL": f"sqlite:///{databases['central']}",
        "POOLS": json.dumps({"main": f"sqlite:///{databases['tenant']}"}),
        "SECRET_KEY": key,
        "MAX_ACTIVE_JOBS_PER_USER": "500",
        "REGISTRATIONS_PER_MINUTE": "1000",
        "REQUESTS_PER_MINUTE_PER_KEY": "1000000",
        "REQUESTS_PER_MINUTE_PER_TENANT": "1000000",
        **settings,
    }
    with server_process(home, **given) as server:
        house_settings = Settings(
            home=server.home,
            database_url=given["DATABASE_URL"],
            pools={"main": f"sqlite:///{databases['tenant']}"},
            secret_key=key,
            public_url=server.url,
        )
        secret, member = asyncio.run(_furnish(house_settings))
        plant = Plant(server, house_settings, secret, member)
        try:
            yield plant
        finally:
            plant.client.close()


async def _furnish(settings: Settings) -> tuple[str, Member]:
    house = build_house(settings)
    try:
        member = await a_member(house, tokens=1_000_000)
        await _offer(house, "draw", DRAW, [SEED, SECONDS, STEPS])
        await _offer(house, "say", SAY, [SEED, SECONDS, STEPS, WORDS], output_node="9")
        await _offer(house, "invert", INVERT, [SEED, SECONDS, STEPS, PICTURE])
        await _offer(house, "far", INVERT, [SEED, SECONDS, STEPS, PICTURE], provider="cloud", output_node="9")
        await _offer(house, "mute", MUTE, [SEED, SECONDS, STEPS])
        async with house.control_tx() as tx:
            made = await fleet.create_fleet(tx, slug=FLEET, stage=STAGE, name="Crew")
            for slug in ("draw", "say", "invert", "far", "mute"):
                offer = await effects.find_offer(tx, slug)
                await fleet.assign_workflow(tx, made.id, offer.effect.workflow_id)
            _, secret = await fleet.make_fleet_secret(tx, name="test", fleet_id=None, allows_workflows=True)
        return secret.reveal(), member
    finally:
        await house.close()


async def _offer(
    house: House, slug: str, graph: dict[str, Any], properties: list[dict[str, Any]], **given: Any
) -> None:
    declared = read_properties(properties)
    workflow = await a_workflow(house, f"{slug}-graph", graph=graph, properties=declared, **given)
    async with house.control_tx() as tx:
        # Orders come before the first worker, and while all of them are away.
        new = NewEffect(slug, slug.title(), credits_cost=1, waits_for_worker=True)
        await effects.add_effect(tx, new, workflow=workflow.slug)
        await effects.publish_effect(tx, slug)
