"""This process listens to one other: it says which jobs are watched here, and hears what that one's workers report."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

import structlog
from msgspec import MsgspecError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.live.hub import Hub
from comfyfleet.live.model import Event, Replica
from comfyfleet.live.replicas import ReplicaSigner
from comfyfleet.wire import replica_v1 as wire

OPEN_WITHIN_S = 3.0
PING_EVERY_S, PING_WITHIN_S = 5.0, 5.0
RETRY_S_MAX = 5.0
BEGIN_MAX = 10_000

log = structlog.get_logger()


class Link:
    def __init__(
        self, hub: Hub, me: Replica, other: Replica, signer: ReplicaSigner, *, on_hint: Callable[[UUID], None]
    ) -> None:
        self._hub, self._me, self._other, self._signer, self._on_hint = hub, me, other, signer, on_hint
        self._begin: set[UUID] = set()
        self._end: set[UUID] = set()
        self._woken = asyncio.Event()
        self._asked = self._answered = 0
        self._awaited: list[tuple[int, asyncio.Future[None]]] = []
        self.is_open = False
        self._may_have_missed = False

    # ── interest ──

    def want(self, topic: UUID, wanted: bool) -> None:
        (self._begin if wanted else self._end).add(topic)
        (self._end if wanted else self._begin).discard(topic)
        self._woken.set()

    def catch_up(self) -> "asyncio.Future[None] | None":
        """Done when all that came before is here. None: the other one cannot be reached."""
        if not self.is_open:
            return None
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        wanted = self._asked + (1 if self._begin or self._end else 0)
        if wanted <= self._answered:
            future.set_result(None)
        else:
            self._awaited.append((wanted, future))
        return future

    # ── the connection ──

    async def run(self) -> None:
        failures = 0
        while True:
            try:
                async with connect(
                    _address(self._other.url),
                    additional_headers={"Authorization": f"Replica {self._token()}"},
                    max_size=wire.MESSAGE_BYTES_MAX,
                    open_timeout=OPEN_WITHIN_S,
                    ping_interval=PING_EVERY_S,
                    ping_timeout=PING_WITHIN_S,
                    close_timeout=1,
                    compression=None,
                    proxy=None,
                ) as connection:
                    failures = 0
                    await self._talk(connection)
            except (OSError, TimeoutError, WebSocketException, MsgspecError) as problem:
                log.info("live.link_lost", replica=str(self._other.id), problem=str(problem))
            finally:
                self._closed()
            failures += 1
            await asyncio.sleep(backoff_s(min(failures, 6), chance=0.5, base_s=0.2, ceiling_s=RETRY_S_MAX))

    def _token(self) -> str:
        return self._signer.token(caller=self._me.id, called=self._other.id).reveal()

    async def _talk(self, connection: ClientConnection) -> None:
        # It knows nothing of us: all that is watched here, and from where on.
        self._begin, self._end = set(self._hub.topics), set()
        self._asked = self._answered = 0
        self._woken.set()
        self.is_open = True
        self._may_have_missed = True
        saying = asyncio.create_task(self._say(connection))
        try:
            async for message in connection:
                if isinstance(message, bytes):
                    await self._take(connection, message)
        finally:
            saying.cancel()
            with suppress(asyncio.CancelledError, OSError, WebSocketException):
                await saying

    async def _say(self, connection: ClientConnection) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            while self._begin or self._end:
                await connection.send(wire.encode(self._next_listen()))

    def _next_listen(self) -> wire.Listen:
        begin = [self._begin.pop() for _ in range(min(len(self._begin), BEGIN_MAX))]
        end, self._end = list(self._end), set()
        self._asked += 1
        heads = self._hub.logs.head
        return wire.Listen(self._asked, [wire.Wanted(topic, heads(topic, self._other.origin)) for topic in begin], end)

    async def _take(self, connection: ClientConnection, message: bytes) -> None:
        match wire.decode_caller(message):
            case wire.Batch() as batch:
                for said in batch.events:
                    self._hub.hear(_event(said, self._other.origin))
                for topic in batch.changed:
                    self._on_hint(topic)
                await connection.send(wire.encode(wire.Got(batch.number)))
            case wire.CaughtUp(number=number):
                self._answered = number
                self._release(number)
                if self._may_have_missed:
                    self._may_have_missed = False
                    self._hub.hint_notices()

    def _release(self, number: int | None) -> None:
        left = []
        for asked, future in self._awaited:
            if number is not None and asked > number:
                left.append((asked, future))
            elif not future.done():
                future.set_result(None)
        self._awaited = left

    def _closed(self) -> None:
        self.is_open = False
        self._release(None)


def _event(said: wire.Said, origin: str) -> Event:
    return Event(said.topic, origin, said.number, said.before, said.kind, said.data, said.at)


def _address(url: str) -> str:
    return "ws" + url.removeprefix("http") + wire.PATH
