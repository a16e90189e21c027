"""Replicas tell each other that work has come, that a worker changed, or that there is something for upkeep to do.

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
LOOPS_MAX = 20

log = structlog.get_logger()


class Bell:
    def __init__(
        self,
        central: Database,
        *,
        on_queued: Callable[[Mapping[LaneId, int]], None],
        on_changed: Callable[[str], None],
        on_called: Callable[[str, str | None], None],
    ) -> None:
        self._notices = Notices(central, CHANNEL)
        self._on_queued, self._on_changed, self._on_called = on_queued, on_changed, on_called
        self._name = str(new_id())
        self._queued: Counter[LaneId] = Counter()
        self._changed: set[str] = set()
        self._called: set[tuple[str, str | None]] = set()
        self._ringing: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None

    @property
    def is_heard(self) -> bool:
        """Other replicas can hear it: the database passes notices on."""
        return self._notices.supported

    def ring(
        self,
        queued: Mapping[LaneId, int] | None = None,
        *,
        changed: str | None = None,
        called: tuple[str, str | None] | None = None,
    ) -> None:
        """Once per tick at most, however much is queued: a notice in each transaction would slow them all down.

        `called`: a loop of upkeep, and which pool's; for a replica that has none itself.
        """
        if not self._notices.supported or not (queued or changed or called):
            return
        self._queued.update(queued or {})
        self._changed |= {changed} if changed else set()
        self._called |= {called} if called else set()
        if self._ringing is None:
            self._ringing = asyncio.create_task(self._ring())

    async def _ring(self) -> None:
        """The first at once; what comes while it rings, with the next."""
        try:
            while self._queued or self._changed or self._called:
                queued, self._queued = self._queued, Counter()
                changed, self._changed = sorted(self._changed)[:WORKERS_MAX], set()
                called, self._called = list(self._called)[:LOOPS_MAX], set()
                with suppress(DatabaseUnavailable):
                    await self._notices.send(json.dumps([self._name, queued.most_common(LANES_MAX), changed, called]))
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
        sender, queued, changed, called = json.loads(text)
        if sender == self._name:
            return
        self._on_queued({LaneId(lane): count for lane, count in queued})
        for worker_id in changed:
            self._on_changed(worker_id)
        for loop, pool in called:
            self._on_called(loop, pool)

    async def stop(self) -> None:
        if self._ringing is not None:
            await self._ringing
        if self._listening is not None:
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening
        self._listening = None
