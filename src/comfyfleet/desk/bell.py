"""Replicas tell each other that work has come, or that a worker changed.

A hint and never data: whoever misses it looks every two seconds, and no write depends on what is remembered.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress

import structlog

from comfyfleet.db import Database
from comfyfleet.db.notices import Notices
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.kernel.ids import LaneId, new_id

CHANNEL = "comfyfleet_queue"
TICK_S = 0.005
# A notice holds 8,000 bytes at most; whoever is not named is found by the next look.
LANES_MAX = 200
WORKERS_MAX = 25

log = structlog.get_logger()


class Bell:
    def __init__(
        self,
        central: Database,
        *,
        on_queued: Callable[[Mapping[LaneId, int]], None],
        on_changed: Callable[[str], None],
    ) -> None:
        self._notices = Notices(central, CHANNEL)
        self._on_queued, self._on_changed = on_queued, on_changed
        self._name = str(new_id())
        self._queued: Counter[LaneId] = Counter()
        self._changed: set[str] = set()
        self._ringing: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None

    def ring(self, queued: Mapping[LaneId, int] | None = None, *, changed: str | None = None) -> None:
        """Once per tick at most, however much is queued: a notice in each transaction would slow them all down."""
        if not self._notices.supported or not (queued or changed):
            return
        self._queued.update(queued or {})
        self._changed |= {changed} if changed else set()
        if self._ringing is None:
            self._ringing = asyncio.create_task(self._ring())

    async def _ring(self) -> None:
        """The first at once; what comes while it rings, with the next."""
        try:
            while self._queued or self._changed:
                queued, self._queued = self._queued, Counter()
                changed, self._changed = sorted(self._changed)[:WORKERS_MAX], set()
                with suppress(DatabaseUnavailable):
                    await self._notices.send(json.dumps([self._name, queued.most_common(LANES_MAX), changed]))
                await asyncio.sleep(TICK_S)
        finally:
            self._ringing = None

    def start(self) -> None:
        if self._notices.supported:
            self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        failures = 0
        while True:
            try:
                async for text in self._notices.listen():
                    failures = 0
                    self._hear(text)
            except DatabaseUnavailable as problem:
                log.warning("bell.deaf", problem=str(problem))
            failures += 1
            await asyncio.sleep(backoff_s(min(failures, 5), chance=0.5))

    def _hear(self, text: str) -> None:
        sender, queued, changed = json.loads(text)
        if sender == self._name:
            return
        self._on_queued({LaneId(lane): count for lane, count in queued})
        for worker_id in changed:
            self._on_changed(worker_id)

    async def stop(self) -> None:
        if self._ringing is not None:
            await self._ringing
        if self._listening is not None:
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening
        self._listening = None
