"""Progress, nodes, previews and log lines on their way to whoever watches: in batches, the latest of a kind only.

They are hints for people: one that cannot be sent is left out, never kept, and nothing waits for it.
"""

import asyncio
import base64
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import structlog

from comfyfleet.comfy.model import Preview, Progress
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.masking import masked
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.control import ControlClient
from comfyfleet.worker.log_allowance import LogAllowance
from comfyfleet.worker.response import clean_text

GAP_S = 0.1
GAP_AFTER_TROUBLE_S = 5.0
FLUSH_S = 2.0
PREVIEW_GAP_S = 0.5
PREVIEW_BYTES_MAX = 192 * 1024
BATCH_BYTES_MAX = 768 * 1024  # a body has 1 MiB at most
BATCH_MAX = 400
WAITING_MAX = 2000
LINE_CHARS_MAX = 1_000  # as JSON at most 6 KB; the control plane takes 8 KiB

log = structlog.get_logger()


@dataclass(slots=True)
class _Waiting:
    event: wire.Event
    at: float
    size_bytes: int


@dataclass(slots=True)
class Reporter:
    client: ControlClient
    on_cancel: Callable[[UUID], None]
    _waiting: dict[tuple[UUID, str, int], _Waiting] = field(default_factory=dict)
    _awake: asyncio.Event = field(default_factory=asyncio.Event)
    _sending: asyncio.Lock = field(default_factory=asyncio.Lock)
    _number: int = 0
    _previewed_at: dict[UUID, float] = field(default_factory=dict)
    _nodes: dict[UUID, str | None] = field(default_factory=dict)
    _prompts: dict[str, Callable[[], wire.LeaseProof]] = field(default_factory=dict)
    _allowances: dict[UUID, LogAllowance] = field(default_factory=dict)

    def stands(self, lease: wire.LeaseProof, *, waits: bool) -> None:
        """`waits`: behind another one."""
        self._put(lease, "progress", {"fraction": 0.0, "waits": waits})

    def progress(self, lease: wire.LeaseProof, heard: Progress) -> None:
        if heard.node is not None and self._nodes.get(lease.dispatch_id) != heard.node:
            self._nodes[lease.dispatch_id] = heard.node
            self._put(lease, "node", {"node": heard.node, "node_class": heard.node_class}, replaces=False)
        shown: dict[str, Any] = {
            "fraction": round(heard.fraction, 4),
            "node": heard.node,
            "node_class": heard.node_class,
            "step": heard.step,
            "steps": heard.steps,
            "nodes_done": heard.nodes_done,
            "nodes_total": heard.nodes_total,
        }
        self._put(lease, "progress", {name: value for name, value in shown.items() if value is not None})

    def preview(self, lease: wire.LeaseProof, heard: Preview) -> None:
        now = time.monotonic()
        if len(heard.image) > PREVIEW_BYTES_MAX or now - self._previewed_at.get(lease.dispatch_id, 0.0) < PREVIEW_GAP_S:
            return
        self._previewed_at[lease.dispatch_id] = now
        image = base64.b64encode(heard.image).decode()
        self._put(lease, "preview", {"node": heard.node, "mime_type": heard.media_type, "image": image})

    def log(self, lease: wire.LeaseProof, line: str, *, source: str = "worker") -> None:
        """`source`: `worker`, or `comfyui` for what the server logged. Secrets are masked."""
        allowance = self._allowances.setdefault(lease.dispatch_id, LogAllowance())
        admitted = allowance.admit(clean_text(masked(line))[:LINE_CHARS_MAX], now_s=time.monotonic())
        if admitted is not None:
            self._put(lease, "log", {"line": admitted, "source": source}, replaces=False)

    def hears(self, prompt_id: str, lease: Callable[[], wire.LeaseProof]) -> None:
        """From now on lines that a server logs while it runs this prompt are this lease's."""
        self._prompts[prompt_id] = lease

    def server_line(self, prompt_id: str, line: str) -> None:
        if (lease := self._prompts.get(prompt_id)) is not None:
            self.log(lease(), line, source="comfyui")

    def forget(self, dispatch_id: UUID) -> None:
        """The lease is over: what is still here would be refused."""
        self._allowances.pop(dispatch_id, None)
        for prompt_id in [each for each, lease in self._prompts.items() if lease().dispatch_id == dispatch_id]:
            del self._prompts[prompt_id]
        for key in [key for key in self._waiting if key[0] == dispatch_id]:
            del self._waiting[key]
        self._previewed_at.pop(dispatch_id, None)
        self._nodes.pop(dispatch_id, None)

    async def run(self) -> None:
        while True:
            await self._awake.wait()
            self._awake.clear()
            gap_s = GAP_S
            while self._waiting:
                gap_s = GAP_S if await self.tick() else GAP_AFTER_TROUBLE_S
                await asyncio.sleep(gap_s)

    async def flush(self, dispatch_id: UUID, *, within_s: float = FLUSH_S) -> None:
        """What is still here of a job that is about to end: after its end it would be refused.

        It waits for what is under way, too, and never long: the end of a job is worth more than its last lines.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while any(key[0] == dispatch_id for key in self._waiting) or self._sending.locked():
                    if not await self.tick():
                        return

    async def tick(self) -> bool:
        """One batch. False: it was not taken."""
        async with self._sending:
            return await self._send(self._take())

    async def _send(self, batch: list[_Waiting]) -> bool:
        if not batch:
            return True
        now = time.monotonic()
        for each in batch:
            each.event.ago_seconds = min(3600.0, max(0.0, now - each.at))
        said = wire.Events(worker_id=self.client.session.worker_id, events=[each.event for each in batch])
        try:
            reply = await self.client.events(said)
        except FleetError as problem:
            log.info("events.not_taken", count=len(batch), problem=problem.code)
            return False
        if reply.too_large:
            log.warning("events.too_large", count=len(reply.too_large))
        for dispatch_id in reply.cancel_requested:
            self.on_cancel(dispatch_id)
        return True

    def _put(self, lease: wire.LeaseProof, kind: Any, data: dict[str, Any], *, replaces: bool = True) -> None:
        self._number += 1
        key = (lease.dispatch_id, kind, 0 if replaces else self._number)
        self._waiting.pop(key, None)
        while len(self._waiting) >= WAITING_MAX:
            del self._waiting[next(iter(self._waiting))]
        event = wire.Event(kind=kind, dispatch_id=lease.dispatch_id, lease_token=lease.lease_token, data=data)
        size_bytes = 300 + sum(len(value) if isinstance(value, str) else 30 for value in data.values())
        self._waiting[key] = _Waiting(event, time.monotonic(), size_bytes)
        self._awake.set()

    def _take(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        size_bytes = 0
        for key, each in list(self._waiting.items()):
            if batch and (len(batch) >= BATCH_MAX or size_bytes + each.size_bytes > BATCH_BYTES_MAX):
                break
            batch.append(each)
            size_bytes += each.size_bytes
            del self._waiting[key]
        return batch
