"""What a connection may cost: how many there are, how large headers are, and how slowly a request may come.

It stands below the application, so it holds for every route, those that read no body included. A request that waits for
its answer (a long poll, a stream) is not limited here; neither is one whose body the application has not taken yet.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import Any

import structlog
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from comfyfleet.api.errors import CONNECTION_WORDS
from comfyfleet.kernel.open_files import raise_open_files

# Databases, object stores, files and other replicas need some of the open files, too.
FILES_KEPT_FREE = 256
FILES_KEPT_FREE_SHARE = 0.25
WARN_EVERY_S = 60.0
RETRY_AFTER_S = 5
LINGER_S = 1.0
LINGERING_MAX = 200

WORDS = {code: (status, message) for status, code, message in CONNECTION_WORDS}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ConnectionRules:
    """`body_bytes_per_s_min`: measured over windows of `body_window_s`, while the server is waiting for the client."""

    connections_max: int = 10_000
    per_address_max: int = 4_000
    head_bytes_max: int = 64 * 1024
    head_s: float = 15.0
    body_window_s: float = 20.0
    body_bytes_per_s_min: float = 1024.0
    unread_s: float = 60.0
    idle_s: float = 30.0
    look_every_s: float = 5.0


class Phase(Enum):
    IDLE = auto()  # between two requests
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()  # all of the request is here


class Connections:
    """All connections of one server, counted by address. Proxies that are trusted carry many clients and are not."""

    def __init__(self, rules: ConnectionRules, *, trusted_proxies: Collection[str] = ()) -> None:
        files = raise_open_files()
        room = max(1, files - max(FILES_KEPT_FREE, int(files * FILES_KEPT_FREE_SHARE)))
        self.rules = rules
        self.connections_max = min(rules.connections_max, room)
        self._trusted = frozenset(trusted_proxies)
        self._by_address: Counter[str] = Counter()
        self._warned_at = float("-inf")
        self.count = self.lingering = 0

    def admit(self, address: str) -> bool:
        is_one_client = address not in self._trusted
        if self.count >= self.connections_max or (
            is_one_client and self._by_address[address] >= self.rules.per_address_max
        ):
            self._warn(address)
            return False
        self.count += 1
        self._by_address[address] += 1
        return True

    def release(self, address: str) -> None:
        self.count -= 1
        self._by_address[address] -= 1
        if self._by_address[address] <= 0:
            del self._by_address[address]

    def _warn(self, address: str) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._warned_at >= WARN_EVERY_S:
            self._warned_at = now
            of_address = self._by_address[address]
            log.warning("connections.full", count=self.count, address=address, of_this_address=of_address)


class GuardedProtocol(HttpToolsProtocol):
    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        guard: Connections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._guard, self._rules = guard, guard.rules
        self._address = ""
        self._is_counted = self._lingers = False
        self._phase, self._since = Phase.HEAD, 0.0
        self._head_bytes = self._quiet_bytes = self._window_bytes = 0
        self._heard = False  # the parser found the end of something in this piece
        self._looking: asyncio.TimerHandle | None = None
        self._unwritable_since: float | None = None
        self._unsent_bytes = 0

    # ── the connection ──

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = self.client[0] if self.client else "unknown"
        if not self._guard.admit(self._address):
            self._refuse("too_many_connections")
            return
        self._is_counted = True
        self._enter(Phase.HEAD)
        self._looking = self.loop.call_later(self._rules.look_every_s, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._let_go()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        self._let_go()  # another protocol takes over; only replicas get further than the handshake
        super().handle_websocket_upgrade()

    def _let_go(self) -> None:
        if self._lingers:
            self._lingers = False
            self._guard.lingering -= 1
        if self._looking is not None:
            self._looking.cancel()
            self._looking = None
        if self._is_counted:
            self._is_counted = False
            self._guard.release(self._address)

    # ── what comes in ──

    def data_received(self, data: bytes) -> None:
        if self._lingers or self.transport.is_closing():
            return
        if self._phase is Phase.IDLE:
            self._enter(Phase.HEAD)
        self._heard = False
        super().data_received(data)
        # What the parser takes without telling anybody it keeps: half a header, trailers, extensions of chunks.
        self._quiet_bytes = 0 if self._heard else self._quiet_bytes + len(data)
        if self._quiet_bytes > self._rules.head_bytes_max:
            self._refuse("headers_too_large")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_bytes = 0
        self._enter(Phase.HEAD)

    def on_url(self, url: bytes) -> None:
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_head(len(name) + len(value) + 4)
        super().on_header(name, value)

    def _count_head(self, size_bytes: int) -> None:
        self._head_bytes += size_bytes
        if self._head_bytes > self._rules.head_bytes_max:
            self._refuse("headers_too_large")
            raise ValueError("headers too large")  # the parser stops; what it then wants answered has been answered

    def on_headers_complete(self) -> None:
        self._heard = True
        self._window_bytes = 0
        self._enter(Phase.BODY)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._heard = True
        self._window_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._heard = True
        self._enter(Phase.ANSWER)
        super().on_message_complete()
        if self.cycle is not None and self.cycle.response_complete:
            self._enter(Phase.IDLE)  # it was answered before all of it had come

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._phase is Phase.ANSWER and not self.pipeline and self.cycle.response_complete:
            self._enter(Phase.IDLE)

    def _enter(self, phase: Phase) -> None:
        self._phase, self._since = phase, self.loop.time()

    # ── looking after it ──

    def _look(self) -> None:
        self._looking = None
        if self._lingers or self.transport.is_closing():
            return
        now = self.loop.time()
        if self._phase is Phase.HEAD and now - self._since >= self._rules.head_s and not self.flow.read_paused:
            self._refuse("headers_too_slow")
        elif self._phase is Phase.BODY:
            self._look_at_body(now)
        elif self._phase is Phase.IDLE and now - self._since >= self._rules.idle_s:
            self.transport.close()  # uvicorn's own timer does not run after a body that came late
        if self._reads_nothing(now):
            self.transport.abort()
        if not self.transport.is_closing():
            self._looking = self.loop.call_later(self._rules.look_every_s, self._look)

    def _look_at_body(self, now: float) -> None:
        # What the application has not taken yet, or not asked for, is not the client's delay.
        waits_for_us = self.flow.read_paused or bool(self.cycle.body) or self.cycle.waiting_for_100_continue
        if waits_for_us and not self.cycle.response_complete:
            self._enter(Phase.BODY)
            self._window_bytes = 0
        elif now - self._since >= self._rules.body_window_s:
            if self._window_bytes < self._rules.body_bytes_per_s_min * self._rules.body_window_s:
                self._refuse("body_too_slow")
            self._enter(Phase.BODY)
            self._window_bytes = 0

    def _reads_nothing(self, now: float) -> bool:
        """The client takes nothing of what was sent, for a long time."""
        unsent = self.transport.get_write_buffer_size()
        if not self.flow.write_paused or unsent != self._unsent_bytes or self._unwritable_since is None:
            self._unsent_bytes = unsent
            self._unwritable_since = now if self.flow.write_paused else None
            return False
        return now - self._unwritable_since >= self._rules.unread_s

    # ── refusing ──

    def send_400_response(self, msg: str) -> None:
        self._refuse("bad_request")

    def _refuse(self, code: str) -> None:
        """Answered where an answer can still be read, and closed in any case."""
        if self._lingers or self.transport.is_closing():
            return
        busy = self.cycle is not None and not self.cycle.response_complete
        if busy and self.cycle.response_started:
            self.transport.abort()  # it would stand in the middle of another answer
            return
        status, message = WORDS[code]
        body = json.dumps({"error": {"code": code, "message": message, "details": {}}}).encode()
        retry = f"retry-after: {RETRY_AFTER_S}\r\n" if status == 503 else ""
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
            f"cache-control: no-store\r\n{retry}connection: close\r\n\r\n"
        )
        if busy:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.write(head.encode() + body)
        self._linger()

    def _linger(self) -> None:
        """A connection that is closed while data still comes is reset, and the answer lost. Not for many at once."""
        if self._guard.lingering >= LINGERING_MAX:
            self.transport.close()
            return
        self._guard.lingering += 1
        self._lingers = True
        self.transport.write_eof()
        self.loop.call_later(LINGER_S, self.transport.close)
