"""A client as small as can be: submit, and hear everything until the prompt is over."""

import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx2
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.engines import RunningEngine

WITHIN_S = 20.0


@dataclass
class Conversation:
    http: httpx2.AsyncClient
    client_id: str
    heard: list[Any] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def submit(self, graph: dict[str, Any], **faults: Any) -> str:
        body = {"prompt": graph, "client_id": self.client_id, "extra_data": {"comfyfleet_faults": faults}}
        answer = await self.http.post("/prompt", json=body)
        answer.raise_for_status()
        return str(answer.json()["prompt_id"])

    async def until(self, kind: str, **facts: Any) -> dict[str, Any]:
        async with asyncio.timeout(WITHIN_S):
            while True:
                for message in self.texts():
                    if message["type"] == kind and facts.items() <= message["data"].items():
                        return message
                self.news.clear()
                await self.news.wait()

    async def run(self, graph: dict[str, Any], **faults: Any) -> dict[str, Any]:
        """To the end; its entry in history."""
        prompt_id = await self.submit(graph, **faults)
        await self.until("executing", node=None, prompt_id=prompt_id)
        return await self.entry(prompt_id)

    async def entry(self, prompt_id: str) -> dict[str, Any]:
        history = (await self.http.get(f"/history/{prompt_id}")).json()
        found: dict[str, Any] = history.get(prompt_id, {})
        return found

    def texts(self) -> list[dict[str, Any]]:
        return [each for each in self.heard if isinstance(each, dict)]

    def kinds(self) -> list[str]:
        return [each["type"] for each in self.texts() if each["type"] != "status"]


@contextlib.asynccontextmanager
async def talk_to(engine: RunningEngine) -> AsyncIterator[Conversation]:
    client_id = uuid.uuid4().hex
    async with (
        httpx2.AsyncClient(base_url=engine.url, timeout=WITHIN_S) as http,
        connect(f"{engine.ws_url}?clientId={client_id}", max_size=None) as socket,
    ):
        conversation = Conversation(http, client_id)

        async def listen() -> None:
            with contextlib.suppress(ConnectionClosed):
                async for frame in socket:
                    conversation.heard.append(json.loads(frame) if isinstance(frame, str) else frame)
                    conversation.news.set()
            conversation.closed.set()

        task = asyncio.create_task(listen())
        await conversation.until("status")
        yield conversation
        await socket.close()
        await task
