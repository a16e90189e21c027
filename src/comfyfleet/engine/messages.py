"""Who is told what. One task sends everything in order, as on the real server: a socket that is not read holds up all
others (but not for ever)."""

import asyncio
import contextlib
import json
import struct
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any, Protocol

from comfyfleet.engine.node import Preview

# The real server waits without end; a stuck reader would then stop an embedded one for good.
SEND_WITHIN_S = 60.0


class BinaryEvent(IntEnum):
    PREVIEW_IMAGE = 1
    TEXT = 3
    PREVIEW_IMAGE_WITH_METADATA = 4


class Socket(Protocol):
    async def send_text(self, data: str) -> None: ...
    async def send_bytes(self, data: bytes) -> None: ...
    async def close(self, code: int = 1000) -> None: ...


@dataclass(slots=True)
class Listener:
    socket: Socket
    flags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def wants_preview_metadata(self) -> bool:
        return bool(self.flags.get("supports_preview_metadata"))


@dataclass(frozen=True, slots=True)
class Drop:
    """Cut the client's connection here."""


@dataclass(frozen=True, slots=True)
class Letter:
    """One message for one client, or for all (`to` None). `body` is text, bytes, or a word to the postman."""

    body: str | bytes | Drop
    to: str | None


class Hub:
    def __init__(self, *, send_within_s: float = SEND_WITHIN_S) -> None:
        self._send_within_s = send_within_s
        self._listeners: dict[str, Listener] = {}
        self._letters: asyncio.Queue[Letter] = asyncio.Queue()
        self._log_readers: set[str] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._publish(), name="engine-messages")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._loop = None

    def connect(self, client_id: str | None, listener: Listener) -> str:
        """A second socket of the same client takes over silently."""
        client_id = client_id or uuid.uuid4().hex
        self._listeners[client_id] = listener
        return client_id

    def forget(self, client_id: str) -> None:
        """By name, as ComfyUI does: when a socket goes that was taken over, its successor becomes deaf."""
        self._listeners.pop(client_id, None)
        self._log_readers.discard(client_id)

    def subscribe_log(self, client_id: str, *, enabled: bool) -> None:
        """Only a client that is connected: as in ComfyUI, its socket comes first."""
        if enabled and client_id in self._listeners:
            self._log_readers.add(client_id)
        else:
            self._log_readers.discard(client_id)

    def log(self, line: str) -> None:
        """To those who have asked for it. From any thread."""
        entry = {"t": datetime.now().isoformat(), "m": f"{line}\n"}  # noqa: DTZ005 ComfyUI's are local times, too
        for client_id in tuple(self._log_readers):
            self.send("logs", {"entries": [entry], "size": None}, client_id)

    def wants_preview_metadata(self, client_id: str | None) -> bool:
        listener = self._listeners.get(client_id or "")
        return listener is not None and listener.wants_preview_metadata

    def send(self, kind: str, data: Mapping[str, Any], to: str | None = None) -> None:
        if to is None or to in self._listeners:
            self.post(Letter(json.dumps({"type": kind, "data": data}), to))

    def send_preview(self, preview: Preview, facts: Mapping[str, Any], to: str | None) -> None:
        self.post(Letter(preview_frame(preview, facts, with_metadata=self.wants_preview_metadata(to)), to))

    def post(self, letter: Letter) -> None:
        """From any thread."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just been closed: nobody is left to be told
                loop.call_soon_threadsafe(self._letters.put_nowait, letter)

    async def _publish(self) -> None:
        while True:
            letter = await self._letters.get()
            names = list(self._listeners) if letter.to is None else [letter.to]
            for name in names:
                listener = self._listeners.get(name)
                if listener is not None:
                    await self._deliver(name, listener, letter)

    async def _deliver(self, name: str, listener: Listener, letter: Letter) -> None:
        try:
            async with asyncio.timeout(self._send_within_s):
                await _send(listener.socket, letter.body)
        except Exception:
            # Gone, or stuck: whoever reads the socket notices by itself; here nobody else must suffer.
            if self._listeners.get(name) is listener:
                self.forget(name)


async def _send(socket: Socket, body: str | bytes | Drop) -> None:
    match body:
        case str():
            await socket.send_text(body)
        case bytes():
            await socket.send_bytes(body)
        case Drop():
            await socket.close(1011)


def preview_frame(preview: Preview, facts: Mapping[str, Any], *, with_metadata: bool) -> bytes:
    if not with_metadata:
        image_type = {"JPEG": 1, "PNG": 2}[preview.format]
        return struct.pack(">II", BinaryEvent.PREVIEW_IMAGE, image_type) + preview.image
    words = json.dumps({**facts, "image_type": f"image/{preview.format.lower()}"}).encode()
    return struct.pack(">II", BinaryEvent.PREVIEW_IMAGE_WITH_METADATA, len(words)) + words + preview.image


def text_frame(node_id: str, text: str) -> bytes:
    name = node_id.encode()
    return struct.pack(">II", BinaryEvent.TEXT, len(name)) + name + text.encode()
