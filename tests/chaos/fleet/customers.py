"""Users over the API: they upload, order and cancel, and whoever hangs up on them is asked again."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.builders import Member
from tests.chaos.fleet.orders import PICTURES, Order, picture

AGAIN_S = 0.2
ANSWER_WITHIN_S = 30.0


@dataclass
class Customer:
    member: Member
    client: httpx2.AsyncClient
    videos: list[str] = field(default_factory=list)
    asked_again: int = 0

    async def insist(self, method: str, path: str, *, bears: int = 200, **said: Any) -> Any:
        """Until somebody answers. What may come twice has a key by which it is the same. `bears`: a status beside
        success that is no surprise."""
        while True:
            try:
                answer = await self.client.request(method, path, **said)
            except httpx2.TransportError:
                answer = None
            if answer is not None and answer.status_code < 500 and answer.status_code != 429:
                assert answer.is_success or answer.status_code == bears, (
                    f"{method} {path}: {answer.status_code} {answer.text}"
                )
                return answer.json()
            self.asked_again += 1
            await asyncio.sleep(AGAIN_S)

    async def upload_all(self) -> None:
        self.videos = [await self._upload(picture(number)) for number in range(PICTURES)]

    async def _upload(self, content: bytes) -> str:
        asked = {"name": "in.png", "mime_type": "image/png", "size": len(content)}
        begun = await self.insist("POST", "/api/videos/uploads", json=asked)
        [request] = begun["upload"]["requests"]
        put = await self.client.put(request["url"], content=content, headers=request["headers"])
        assert put.status_code == 200, put.text
        made = await self.insist("POST", "/api/videos", json={"original_file_id": begun["file"]["id"], "title": "in"})
        return str(made["id"])

    async def order(self, order: Order) -> str:
        body: dict[str, Any] = {
            "effect": order.effect,
            "properties": order.properties,
            "idempotency_key": f"order-{order.number}",
        }
        if order.picture is not None:
            body["video_id"] = self.videos[order.picture]
        return str((await self.insist("POST", "/api/ai-jobs", json=body))["id"])

    async def cancel(self, job_id: str) -> None:
        """409: it was over first."""
        await self.insist("POST", f"/api/ai-jobs/{job_id}/cancel", bears=409, json={})

    async def job(self, job_id: str) -> dict[str, Any]:
        found: dict[str, Any] = await self.insist("GET", f"/api/ai-jobs/{job_id}")
        return found

    async def outputs(self, job: dict[str, Any]) -> list[bytes]:
        """As they lie in the store, the primary one first."""
        files: Sequence[dict[str, Any]] = sorted(job["outputs"], key=lambda each: not each["is_primary"])
        return [await self._fetch(each["url"]) for each in files]

    async def _fetch(self, url: str) -> bytes:
        answer = await self.client.get(url, headers={"Authorization": ""})
        assert answer.status_code == 200, answer.text
        return answer.content


def a_customer(member: Member, door: str) -> Customer:
    return Customer(member, httpx2.AsyncClient(base_url=door, headers=member.headers, timeout=ANSWER_WITHIN_S))
