"""Sockets of ours, and what makes messages comparable."""

import asyncio
import contextlib
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from tools.conformance.normal import Side

WITHIN_S = 20.0  # long enough for a busy machine; who says what is expected is not waited for


@dataclass
class Ear:
    """One socket of ours, and what it heard."""

    connection: ClientConnection
    heard: list[dict[str, Any]] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    async def listen(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for frame in self.connection:
                self.heard.append(json.loads(frame) if isinstance(frame, str) else _read_binary(frame))
                self.news.set()

    async def until(self, enough: Callable[[list[dict[str, Any]]], bool]) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(WITHIN_S):
                while not enough(self.heard):
                    self.news.clear()
                    await self.news.wait()


def _read_binary(frame: bytes) -> dict[str, Any]:
    """As the recordings note binary frames, without the picture."""
    event, second = struct.unpack(">II", frame[:8])
    noted: dict[str, Any] = {"event_type": event}
    if event == 1:
        noted["image_type"] = second
    elif event == 3:
        noted |= {"node_id": frame[8 : 8 + second].decode(), "text": frame[8 + second :].decode()}
    elif event == 4:
        noted["metadata"] = json.loads(frame[8 : 8 + second])
    return {"type": "binary", "data": noted}


def noted_binary(frame: dict[str, Any]) -> dict[str, Any]:
    kept = {key: frame[key] for key in ("event_type", "image_type", "node_id", "text", "metadata") if key in frame}
    return {"type": "binary", "data": kept}


def kept_messages(about: str) -> dict[str, float]:
    """How many messages of a kind a prompt keeps in the file, as its first line says."""
    words = {"second": 2, "third": 3, "sixth": 6}
    limits: dict[str, float] = {}
    for word, count in words.items():
        if f"beyond the {word}" in about:
            limits["progress_state"] = count
            if "progress and progress_state messages beyond" in about:
                limits["progress"] = count
    if "progress_state messages are left out" in about:
        limits["progress_state"] = 0
    if "of each prompt and socket" in about:
        limits["progress_steps"] = 1
    return limits


def prompt_of(message: dict[str, Any]) -> str | None:
    facts = message["data"]
    return facts.get("prompt_id") or (facts.get("metadata") or {}).get("prompt_id")


def by_prompt(messages: list[dict[str, Any]], side: Side) -> dict[str, list[Any]]:
    """Binary frames without a prompt's id belong to the prompt spoken of before them."""
    found: dict[str, list[Any]] = {}
    current = ""
    for message in messages:
        current = prompt_of(message) or current
        found.setdefault(side.names.get(current, current), []).append(side.normal(message))
    return found


def without_order(messages: list[Any]) -> list[Any]:
    return sorted((each for each in messages if each["type"] != "progress_state"), key=json.dumps)


def is_chance(message: dict[str, Any]) -> bool:
    """A sampler watched through a socket that comes and goes: which steps are heard is chance, but for the ends."""
    facts = message["data"]
    return message["type"] == "progress_state" or (
        message["type"] == "progress" and facts["value"] not in (1, facts["max"])
    )
