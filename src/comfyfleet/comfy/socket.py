"""The one WebSocket to a server: connected while it is wanted, always drained, shared by all prompts we run there.

A second socket with the same clientId takes over from the first, and when the server notices that the first is gone it
forgets the id: the second stays open and hears nothing more, not even `status`. That can only happen to us after a
connection that ended without a closing handshake. From then on the socket is suspect: it is opened anew when it has
been silent for a while, and gets a fresh id as soon as no prompt of the old one is listened to.
"""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Callable

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from comfyfleet.comfy.address import Address
from comfyfleet.comfy.errors import AccessRefused, ServerUnreachable
from comfyfleet.comfy.exchange import trusted_authorities
from comfyfleet.comfy.feed import Feed
from comfyfleet.comfy.frames import FEATURE_FLAGS_FRAME, parse_frame
from comfyfleet.comfy.limits import MIB
from comfyfleet.comfy.log_lines import LogLines, clean_lines
from comfyfleet.comfy.messages import (
    Disconnected,
    Executing,
    ExecutionStart,
    Logs,
    Message,
    NodeText,
    PreviewImage,
    ProgressState,
    Reconnected,
    Status,
    prompt_of,
)
from comfyfleet.comfy.model import new_prompt_id
from comfyfleet.comfy.refused import was_refused
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.exchanges import Kind, timed_exchange

FRAME_BYTES_MAX = 64 * MIB  # SaveImageWebsocket sends its result as one frame
FRAMES_AHEAD_MAX = 4
OPEN_S = 10.0
CLOSE_S = 2.0
PING_EVERY_S = 30.0  # the server sends none and would not notice a half-open connection
PONG_WITHIN_S = 60.0  # loading a large model can keep it from answering for long
SUSPECT_SILENCE_S = 30.0
RECONNECT_BASE_S = 0.5
RECONNECT_CEILING_S = 10.0
REFUSED_CEILING_S = 2.0  # a refused connection costs next to nothing, and work waits for the server

# At its debug level the library writes every header, and ours may hold credentials.
_quiet = logging.Logger("comfyfleet.comfy.socket", level=logging.CRITICAL)


class _Connect(connect):
    server = ""

    def process_redirect(self, exc: Exception) -> Exception:
        """Never followed: our headers are for this server only."""
        return exc

    async def __aenter__(self) -> ClientConnection:
        with timed_exchange(Kind.COMFYUI, "WebSocket /ws", server=self.server):
            return await super().__aenter__()


class ComfySocket:
    def __init__(
        self,
        address: Address,
        *,
        chance: Callable[[], float] = random.random,
        reconnect_base_s: float = RECONNECT_BASE_S,
        suspect_silence_s: float = SUSPECT_SILENCE_S,
        frame_bytes_max: int = FRAME_BYTES_MAX,
    ) -> None:
        self.address = address
        self.client_id = new_prompt_id()
        self._chance = chance
        self._reconnect_base_s = reconnect_base_s
        self._suspect_silence_s = suspect_silence_s
        self._frame_bytes_max = frame_bytes_max
        self._feeds: dict[str, Feed] = {}
        self._followers: list[Callable[[bool], None]] = []
        self._connected = False
        self._refused = False
        self._told_away = False
        self._suspect = False
        self._lines = LogLines()
        self._tell_line: Callable[[str, str], None] | None = None
        self._running: str | None = None  # whose preview it is, when an old server does not tell
        self._task: asyncio.Task[None] | None = None
        self._now = asyncio.Event()  # no more waiting between two attempts
        self._attempted: asyncio.Future[None] | None = None
        self._connection: ClientConnection | None = None

    @property
    def connected(self) -> bool:
        return self._connected

    @property
    def refused(self) -> bool:
        """The last try met a port at which nothing listens."""
        return self._refused

    def follow(self, tell: Callable[[bool], None]) -> Callable[[], None]:
        """`tell` hears every change of `connected`, a first try that failed, and that the server `refused`; what comes
        back ends that."""
        self._followers.append(tell)
        return lambda: self._followers.remove(tell) if tell in self._followers else None

    def follow_log(self, tell: Callable[[str, str], None]) -> None:
        """`tell` hears the prompt and each line that its server wrote meanwhile, where somebody has asked for them."""
        self._tell_line = tell

    def start(self) -> None:
        """Connects in the background, and again after every loss."""
        if self._task is None:
            self._task = asyncio.create_task(self._stay_connected(), name=f"socket of {self.address.name}")

    async def open(self) -> None:
        """Comes back when the server's messages reach us. One attempt: whoever wants more asks again."""
        self.start()
        if self._suspect and not self._feeds:
            await self._hang_up()
        if self._connected:
            return
        if self._attempted is None:
            self._attempted = asyncio.get_running_loop().create_future()
            self._attempted.add_done_callback(_retrieved)
        self._now.set()
        await asyncio.shield(self._attempted)

    def listen(self, prompt_id: str) -> Feed:
        """What is said about this prompt from now on. Close the feed when it is no longer read."""
        if prompt_id not in self._feeds:
            self._feeds[prompt_id] = Feed(prompt_id, on_close=self._unlisten)
        return self._feeds[prompt_id]

    def _unlisten(self, feed: Feed) -> None:
        if self._feeds.get(feed.prompt_id) is feed:
            del self._feeds[feed.prompt_id]

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._fell_silent("closed by us")
        self._settle(ServerUnreachable(self.address.name, problem="the socket has been closed"))

    async def _stay_connected(self) -> None:
        failures = 0
        while True:
            heard = False
            if failures and not self._feeds:
                self.client_id, self._suspect = new_prompt_id(), False
            try:
                async with self._connecting() as connection:
                    self._connection = connection
                    await connection.send(FEATURE_FLAGS_FRAME)
                    await self._hear_first(connection)
                    heard, failures = True, 0
                    await self._drain(connection)
                problem = "silent for too long"
            except (OSError, TimeoutError, EOFError, WebSocketException) as error:
                problem = str(error) or type(error).__name__
                if not heard:
                    self._note_failure(refused=was_refused(error))
                self._suspect = self._suspect or (heard and not _was_closed_by_both(error))
                if not heard:
                    self._settle(self._trouble(error, problem))
            failures += 1
            self._fell_silent(problem)
            await self._pause(failures)

    def _connecting(self) -> _Connect:
        url = self.address.socket_url(self.client_id)
        connecting = _Connect(
            url,
            additional_headers=dict(self.address.headers),
            ssl=trusted_authorities() if url.startswith("wss:") else None,
            compression=None,  # on the server it would run on the loop that everything else waits for
            proxy=None,
            max_size=self._frame_bytes_max,
            max_queue=FRAMES_AHEAD_MAX,
            open_timeout=OPEN_S,
            close_timeout=CLOSE_S,
            ping_interval=PING_EVERY_S,
            ping_timeout=PONG_WITHIN_S,
            logger=_quiet,
        )
        connecting.server = self.address.name
        return connecting

    async def _hear_first(self, connection: ClientConnection) -> None:
        """The server greets with `status`. Before that it may not know us yet, and what it says would be missed."""
        async with asyncio.timeout(OPEN_S):
            frame = await connection.recv(decode=False)
        self._connected, self._refused, self._told_away = True, False, False
        self._hear(parse_frame(frame))
        for feed in list(self._feeds.values()):
            feed.put(Reconnected())
        self._settle(None)
        self._tell(True)

    async def _drain(self, connection: ClientConnection) -> None:
        while True:
            if not self._suspect:
                self._hear(parse_frame(await connection.recv(decode=False)))
                continue
            try:
                async with asyncio.timeout(self._suspect_silence_s):
                    frame = await connection.recv(decode=False)
            except TimeoutError:
                return
            self._hear(parse_frame(frame))

    def _hear_lines(self, logs: Logs) -> None:
        tell = self._tell_line
        if tell is None:
            return
        for entry in logs.entries:
            prompt_id = self._lines.owner_of(entry, now_s=time.time())
            if prompt_id is not None:
                for line in clean_lines(entry.m):
                    asyncio.get_running_loop().call_soon(tell, prompt_id, line)

    def _hear(self, message: Message) -> None:
        self._lines.note(message)
        prompt_id: str | None = None
        match message:
            case Logs():
                self._hear_lines(message)
            case Status():
                for feed in self._feeds.values():
                    feed.put(message)
            case PreviewImage(prompt_id=None) | NodeText():
                prompt_id = self._running
            case ExecutionStart(prompt_id=str(told)) | Executing(prompt_id=str(told)) | ProgressState(prompt_id=told):
                prompt_id = self._running = told
            case _:
                prompt_id = prompt_of(message)
        if prompt_id is not None and (listener := self._feeds.get(prompt_id)):
            listener.put(message)

    def _fell_silent(self, problem: str) -> None:
        self._connection = None
        self._running = None
        if self._connected:
            self._connected, self._told_away = False, True
            for feed in list(self._feeds.values()):
                feed.put(Disconnected(problem))
            self._tell(False)

    def _note_failure(self, *, refused: bool) -> None:
        news = not self._told_away or (refused and not self._refused)
        self._refused, self._told_away = refused, True
        if news:
            self._tell(False)

    async def _pause(self, failures: int) -> None:
        wait_s = backoff_s(
            failures,
            chance=self._chance(),
            base_s=self._reconnect_base_s,
            ceiling_s=REFUSED_CEILING_S if self._refused else RECONNECT_CEILING_S,
        )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await self._now.wait()
        self._now.clear()

    async def _hang_up(self) -> None:
        """Ends the connection with a handshake, so that the server forgets the id now and not later."""
        if self._connection is not None:
            await self._connection.close()
            self._fell_silent("opened anew")

    def _trouble(self, error: Exception, problem: str) -> Exception:
        if isinstance(error, InvalidStatus) and error.response.status_code in (401, 403, 407):
            return AccessRefused(self.address.name, route="/ws", status=error.response.status_code)
        return ServerUnreachable(self.address.name, problem=problem, refused=was_refused(error))

    def _settle(self, trouble: Exception | None) -> None:
        waiting, self._attempted = self._attempted, None
        if waiting is None or waiting.done():
            return
        if trouble is None:
            waiting.set_result(None)
        else:
            waiting.set_exception(trouble)

    def _tell(self, connected: bool) -> None:
        for tell in self._followers:
            # Not called here: a follower's error must not end the socket.
            asyncio.get_running_loop().call_soon(tell, connected)


def _was_closed_by_both(error: Exception) -> bool:
    return isinstance(error, ConnectionClosed) and error.rcvd is not None and error.sent is not None


def _retrieved(future: asyncio.Future[None]) -> None:
    """Nobody may be waiting any more when the attempt fails."""
    if not future.cancelled():
        future.exception()
