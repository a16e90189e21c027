"""What this process passes on to one other that listens to it. Batches: while one is under way, the next gathers."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from uuid import UUID

from comfyfleet.live.hub import Hub
from comfyfleet.live.model import Event
from comfyfleet.wire import replica_v1 as wire

Send = Callable[[bytes], Awaitable[None]]

TICK_S = 0.005
PENDING_MAX = 5_000
PENDING_BYTES_MAX = 16 * 1024**2
BATCH_BYTES_MAX = 4 * 1024**2
HINTS_MAX = 10_000
TOPICS_MAX = 100_000


class Outbox:
    def __init__(self, hub: Hub, send: Send) -> None:
        self._hub, self._send_bytes = hub, send
        self._events: deque[Event] = deque()
        self._pending_bytes = 0
        self._hints: set[UUID] = set()
        self._caught_up: int | None = None
        self._woken = asyncio.Event()
        self._topics: set[UUID] = set()
        self._batches = 0
        self._awaited: list[tuple[int, asyncio.Future[None]]] = []
        # False while the other one does not keep up: nobody waits for it then.
        self.is_prompt = True

    # ── from the hub ──

    def put(self, event: Event) -> None:
        self._events.append(event)
        self._pending_bytes += len(event.data)
        if len(self._events) > PENDING_MAX or self._pending_bytes > PENDING_BYTES_MAX:
            self._make_room()
        self._woken.set()

    def _make_room(self) -> None:
        """Previews go first. Whoever reads the rest sees by the numbers that something is missing."""
        kept: deque[Event] = deque()
        size_bytes = 0
        for event in reversed(self._events):
            if event.is_preview:
                continue
            size_bytes += len(event.data)
            if len(kept) >= PENDING_MAX // 2 or size_bytes > PENDING_BYTES_MAX // 2:
                break
            kept.appendleft(event)
        self._events = kept
        self._pending_bytes = sum(len(event.data) for event in kept)

    def hint(self, topic: UUID) -> None:
        if len(self._hints) < HINTS_MAX:  # past it, their next look finds what changed
            self._hints.add(topic)
            self._woken.set()

    def arrival(self) -> "asyncio.Future[None]":
        """Done when all that was put so far has reached its readers."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._awaited.append((self._batches + 1, future))
        return future

    # ── from the other process ──

    def take(self, message: bytes) -> None:
        match wire.decode_called(message):
            case wire.Listen() as said:
                self._listen(said)
            case wire.Got(number=number):
                self._arrived(number)

    def _listen(self, said: wire.Listen) -> None:
        self._hub.take_back(self, said.end)
        self._topics.difference_update(said.end)
        for wanted in said.begin:
            if len(self._topics) >= TOPICS_MAX:
                break
            self._topics.add(wanted.topic)
            for event in self._hub.lend(self, wanted.topic, after=wanted.after):
                self.put(event)
        self._caught_up = said.number
        self._woken.set()

    def _arrived(self, number: int) -> None:
        self.is_prompt = True
        left = []
        for batch, future in self._awaited:
            if batch > number:
                left.append((batch, future))
            elif not future.done():
                future.set_result(None)
        self._awaited = left

    # ── while the connection lasts ──

    async def run(self) -> None:
        try:
            while True:
                await self._woken.wait()
                self._woken.clear()
                while self._events or self._hints:
                    await self._send_bytes(wire.encode(self._next_batch()))
                if self._caught_up is not None:
                    number, self._caught_up = self._caught_up, None
                    await self._send_bytes(wire.encode(wire.CaughtUp(number)))
                await asyncio.sleep(TICK_S)
        finally:
            self.close()

    def _next_batch(self) -> wire.Batch:
        taken, size = [], 0
        while self._events and size < BATCH_BYTES_MAX:
            event = self._events.popleft()
            size += len(event.data)
            taken.append(wire.Said(event.topic, event.number, event.before, event.kind, event.data, event.at))
        self._pending_bytes -= size
        hints, self._hints = list(self._hints), set()
        self._batches += 1
        return wire.Batch(self._batches, taken, hints)

    def close(self) -> None:
        self._hub.take_back(self, self._topics)
        for _, future in self._awaited:
            with suppress(asyncio.InvalidStateError):
                future.set_result(None)
        self._awaited = []
