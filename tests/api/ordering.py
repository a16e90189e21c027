"""An effect that can be ordered, somebody to order it, and a worker's part of it played by hand."""

import random
from dataclasses import dataclass, field
from typing import Any

import httpx2

from comfyfleet import fleet
from comfyfleet.fleet import NewWorker
from comfyfleet.house import House
from comfyfleet.kernel.ids import new_id
from comfyfleet.upkeep import apply_settlements, relay_submissions, tell_starts
from comfyfleet.videos import Video
from comfyfleet.workflows import effects, read_properties
from comfyfleet.workflows.effects import Effect, NewEffect
from tests.builders import Member, a_member, a_workflow, balance
from tests.database.videos.shelf import a_video

Client = httpx2.AsyncClient
GRAPH: dict[str, Any] = {
    "1": {"class_type": "LoadImage", "inputs": {"image": "a.png"}},
    "2": {"class_type": "LoadImage", "inputs": {"image": "b.png"}},
    "3": {"class_type": "CLIPTextEncode", "inputs": {"text": "{{prompt}}"}},
    "4": {"class_type": "KSampler", "inputs": {"seed": 1, "steps": 20}},
}
PICTURE = {"name": "picture", "type": "image", "node": "1", "input_name": "image", "is_primary_input": True}
OTHERS: list[dict[str, Any]] = [
    {"name": "mask", "type": "image", "node": "2", "input_name": "image"},
    {"name": "prompt", "type": "text", "placeholder": "prompt", "required": True},
    {"name": "seed", "type": "seed", "node": "4", "input_name": "seed"},
    {"name": "steps", "type": "integer", "maximum": 50, "node": "4", "input_name": "steps", "default": 20},
]
PRICE, CREDIT = 10, 100


async def an_effect(house: House, slug: str = "old-film", *, takes_input: bool = True, price: int = PRICE) -> Effect:
    properties = read_properties([PICTURE, *OTHERS] if takes_input else OTHERS)
    workflow = await a_workflow(house, f"{slug}-graph", graph=GRAPH, properties=properties)
    async with house.control_tx() as tx:
        # Most tests play the worker's part themselves, after the order.
        new = NewEffect(slug, slug.title(), credits_cost=price, waits_for_worker=True)
        await effects.add_effect(tx, new, workflow=workflow.slug)
        return await effects.publish_effect(tx, slug)


@dataclass
class Studio:
    house: House
    client: Client
    member: Member
    effect: Effect
    video: Video
    worker: dict[str, str] = field(default_factory=dict)

    @classmethod
    async def open(cls, house: House, client: Client) -> "Studio":
        effect, member = await an_effect(house), await a_member(house, tokens=CREDIT)
        return cls(house, client, member, effect, await a_video(house, member, media_type="image/png"))

    def body(self, **given: Any) -> dict[str, Any]:
        video = {"video_id": str(self.video.id)}
        return {"effect": self.effect.slug, **video, "properties": {"prompt": "a cat"}, **given}

    async def post(self, **given: Any) -> httpx2.Response:
        return await self.client.post("/api/ai-jobs", json=self.body(**given), headers=self.member.headers)

    async def ordered(self, **given: Any) -> str:
        answer = await self.post(**given)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def say(self, verb: str, job_id: str, **said: Any) -> httpx2.Response:
        return await self.client.post(f"/api/ai-jobs/{job_id}/{verb}", json=said, headers=self.member.headers)

    async def job(self, job_id: str) -> dict[str, Any]:
        answer = await self.client.get(f"/api/ai-jobs/{job_id}", headers=self.member.headers)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def shown(self, video_id: str) -> dict[str, Any]:
        found: dict[str, Any] = (await self.client.get(f"/api/videos/{video_id}", headers=self.member.headers)).json()
        return found

    async def balance(self) -> int:
        return await balance(self.house, self.member.tenant, self.member.user)

    async def relay(self) -> None:
        await relay_submissions.tick(self.house, "main")

    async def settle(self) -> None:
        await tell_starts.tick(self.house)
        await apply_settlements.tick(self.house, "main", chance=random.Random(1))

    async def work(self, verb: str, **said: Any) -> dict[str, Any]:
        if not self.worker:
            async with self.house.control_tx() as tx:
                crew = await fleet.create_fleet(tx, slug="crew", stage="test", name="Crew")
                await fleet.assign_workflow(tx, crew.id, self.effect.workflow_id)
                made = await fleet.register_worker(
                    tx, NewWorker("gpu-1", "127.0.0.1", max_concurrency=8), fleet=crew, rules=self.house.fleet_rules
                )
            self.worker = {"Authorization": f"Bearer {made.token.reveal()}"}
        answer = await self.client.post(f"/api/worker/{verb}", json={"worker_id": "gpu-1", **said}, headers=self.worker)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def leased(self) -> dict[str, Any]:
        await self.relay()
        await self.house.desk.polls.look()
        job = (await self.work("poll", poll_id=str(new_id()), max_concurrency=8))["job"]
        assert job is not None
        found: dict[str, Any] = job
        return found

    async def upload(self, job: dict[str, Any], *contents: bytes) -> list[dict[str, Any]]:
        lease = {"dispatch_id": job["dispatch_id"], "lease_token": job["lease_token"]}
        wanted = [
            {"name": f"out-{at}.png", "mime_type": "image/png", "size": len(it)} for at, it in enumerate(contents)
        ]
        signed = (await self.work("outputs", **lease, outputs=wanted))["outputs"]
        for request, content in zip(signed, contents, strict=True):
            put = await self.client.put(request["output_url"], content=content, headers=request["output_headers"])
            assert put.status_code == 200, put.text
        return [{**want, "path": request["path"]} for want, request in zip(wanted, signed, strict=True)]

    async def complete(self, job: dict[str, Any], *contents: bytes) -> dict[str, Any]:
        outputs = await self.upload(job, *contents) if contents else []
        lease = {"dispatch_id": job["dispatch_id"], "lease_token": job["lease_token"]}
        return await self.work("complete", **lease, outputs=outputs)
