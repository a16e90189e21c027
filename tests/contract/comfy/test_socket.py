"""The socket against a real WebSocket server that behaves as the recordings show, and worse."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from comfyfleet.comfy.address import parse_address
from comfyfleet.comfy.errors import AccessRefused, ServerUnreachable
from comfyfleet.comfy.feed import Feed
from comfyfleet.comfy.messages import (
    Disconnected,
    Executing,
    ExecutionStart,
    ExecutionSuccess,
    FeatureFlags,
    Heard,
    PreviewImage,
    Reconnected,
    Status,
)
from comfyfleet.comfy.socket import ComfySocket

WITHIN_S = 20.0


@dataclass
class Far:
    """ComfyUI's end: one socket a clientId, forgotten when any socket of that id ends."""

    sockets: dict[str, ServerConnection] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    first_frames: list[str | bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    refuse: HTTPStatus | None = None
    redirect_to: str | None = None
    greets: bool = True
    _server: Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"127.0.0.1:{next(iter(self._server.sockets)).getsockname()[1]}"

    async def start(self, port: int = 0) -> None:
        self._server = await serve(
            self._handle, "127.0.0.1", port, process_request=self._door, ping_interval=None, max_size=None
        )

    async def stop(self) -> None:
        """As a process that dies: no closing handshake."""
        assert self._server is not None
        for socket in list(self._server.connections):
            socket.transport.abort()
        self._server.close()
        await self._server.wait_closed()

    def _door(self, connection: ServerConnection, request: Request) -> Response | None:
        self.headers.append(dict(request.headers.raw_items()))
        if self.redirect_to:
            response = connection.respond(HTTPStatus.FOUND, "")
            response.headers["Location"] = self.redirect_to
            return response
        return None if self.refuse is None else connection.respond(self.refuse, "no")

    async def _handle(self, socket: ServerConnection) -> None:
        assert socket.request is not None
        client_id = socket.request.path.partition("clientId=")[2]
        self.sockets[client_id] = socket
        self.ids.append(client_id)
        with suppress(ConnectionClosed):
            if not self.greets:
                await socket.wait_closed()
            await socket.send(status(0, sid=client_id))
            self.first_frames.append(await socket.recv())
            await socket.send(json.dumps({"type": "feature_flags", "data": {"supports_preview_metadata": True}}))
            await socket.wait_closed()
        self.sockets.pop(client_id, None)  # whichever socket it is now: this is what makes the second one deaf

    async def say(self, client_id: str, *frames: str | bytes) -> None:
        for frame in frames:
            await self.sockets[client_id].send(frame)


def status(remaining: int, **more: Any) -> str:
    return json.dumps({"type": "status", "data": {"status": {"exec_info": {"queue_remaining": remaining}}, **more}})


def said(kind: str, **facts: Any) -> str:
    return json.dumps({"type": kind, "data": facts})


@pytest.fixture
async def far() -> AsyncIterator[Far]:
    made = Far()
    await made.start()
    yield made
    await made.stop()


@asynccontextmanager
async def listening(far: Far, **options: Any) -> AsyncIterator[ComfySocket]:
    socket = ComfySocket(parse_address(f"http://ada:hush@{far.url}"), reconnect_base_s=0.01, **options)
    try:
        yield socket
    finally:
        await socket.close()


async def hear_until(feed: Feed, wanted: Callable[[Heard], bool]) -> list[Heard]:
    heard: list[Heard] = []
    async with asyncio.timeout(WITHIN_S):
        while not heard or not wanted(heard[-1]):
            heard.append(await feed.receive())
    return heard


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(WITHIN_S):
        while True:
            if holds():
                return
            await asyncio.sleep(0.005)


async def test_a_prompt_hears_its_own_messages_and_the_status_of_all(far: Far) -> None:
    async with listening(far) as socket:
        await socket.open()
        mine, other = socket.listen("p"), socket.listen("q")
        await far.say(
            socket.client_id,
            said("execution_start", prompt_id="p"),
            said("executing", prompt_id="q", node="1"),
            said("crystools.monitor", cpu=1),
            status(2),
            said("execution_success", prompt_id="p"),
        )
        heard = await hear_until(mine, lambda one: isinstance(one, ExecutionSuccess))
        assert heard == [ExecutionStart("p"), Status(2), ExecutionSuccess("p")]
        assert await hear_until(other, lambda one: isinstance(one, Status)) == [Executing("1", "q"), Status(2)]


async def test_the_first_frame_asks_for_previews_with_their_prompt(far: Far) -> None:
    async with listening(far) as socket:
        await socket.open()
        await eventually(lambda: bool(far.first_frames))
    first = far.first_frames[0]
    assert json.loads(first) == {"type": "feature_flags", "data": {"supports_preview_metadata": True}}


async def test_a_preview_of_an_old_server_goes_to_the_prompt_that_runs(far: Far) -> None:
    async with listening(far) as socket:
        await socket.open()
        idle, running = socket.listen("p"), socket.listen("q")
        await far.say(
            socket.client_id,
            said("execution_start", prompt_id="q"),
            b"\0\0\0\1\0\0\0\1jpeg",
            said("execution_success", prompt_id="p"),
        )
        heard = await hear_until(running, lambda one: isinstance(one, PreviewImage))
        assert heard[-1] == PreviewImage("image/jpeg", b"jpeg")
        assert await hear_until(idle, lambda one: True) == [ExecutionSuccess("p")]


async def test_garbage_does_not_end_the_socket(far: Far) -> None:
    async with listening(far) as socket:
        await socket.open()
        feed = socket.listen("p")
        await far.say(socket.client_id, "", "{", "[" * 50_000, b"", b"\0", b"\0\0\0\4\xff\xff", b"\xff\xfe", "<html>")
        await far.say(socket.client_id, said("execution_success", prompt_id="p"))
        assert await hear_until(feed, lambda one: True) == [ExecutionSuccess("p")]
        assert len(far.ids) == 1


async def test_a_frame_beyond_the_limit_costs_one_connection_and_no_memory(far: Far) -> None:
    async with listening(far, frame_bytes_max=100_000) as socket:
        await socket.open()
        feed = socket.listen("p")
        await far.say(socket.client_id, b"\0\0\0\1\0\0\0\2" + b"x" * 200_000)
        heard = await hear_until(feed, lambda one: isinstance(one, Reconnected))
        assert [type(one) for one in heard if not isinstance(one, Status | FeatureFlags)] == [Disconnected, Reconnected]


async def test_after_a_lost_connection_the_watcher_is_told_and_hears_on(far: Far) -> None:
    async with listening(far) as socket:
        await socket.open()
        feed = socket.listen("p")
        far.sockets[socket.client_id].transport.abort()
        await hear_until(feed, lambda one: isinstance(one, Reconnected))
        # The running prompt was submitted with this id, so only a socket of this id hears it.
        assert far.ids == [socket.client_id] * 2
        await far.say(socket.client_id, said("execution_success", prompt_id="p"))
        assert await hear_until(feed, lambda one: isinstance(one, ExecutionSuccess))


async def test_a_deaf_socket_is_opened_anew(far: Far) -> None:
    """The server notices late that the lost connection is gone, and forgets the id of the new one."""
    async with listening(far, suspect_silence_s=0.05) as socket:
        await socket.open()
        feed = socket.listen("p")
        far.sockets[socket.client_id].transport.abort()
        await hear_until(feed, lambda one: isinstance(one, Reconnected))
        far.sockets.clear()
        await hear_until(feed, lambda one: isinstance(one, Reconnected))
        await eventually(lambda: socket.client_id in far.sockets)
        await far.say(socket.client_id, said("execution_success", prompt_id="p"))
        await hear_until(feed, lambda one: isinstance(one, ExecutionSuccess))


async def test_a_suspect_socket_gets_a_fresh_id_before_the_next_prompt(far: Far) -> None:
    async with listening(far) as socket:
        await socket.open()
        feed = socket.listen("p")
        old_id = socket.client_id
        far.sockets[old_id].transport.abort()
        await hear_until(feed, lambda one: isinstance(one, Reconnected))
        feed.close()
        await socket.open()
        assert socket.client_id != old_id
        assert socket.connected
        assert far.ids == [old_id, old_id, socket.client_id]
        await far.say(socket.client_id, status(1))


async def test_a_healthy_socket_keeps_its_id(far: Far) -> None:
    async with listening(far, suspect_silence_s=0.01) as socket:
        await socket.open()
        await socket.open()
        await asyncio.sleep(0.05)
        assert far.ids == [socket.client_id]


async def test_a_restarted_server_is_found_again(far: Far) -> None:
    async with listening(far) as socket:
        changes: list[bool] = []
        socket.follow(changes.append)
        await socket.open()
        port = int(far.url.rpartition(":")[2])
        await far.stop()
        await eventually(lambda: not socket.connected)
        with pytest.raises(ServerUnreachable):
            await socket.open()
        assert socket.refused
        await far.start(port)
        await eventually(lambda: socket.connected)
        assert not socket.refused
        # The second False says that its port refuses: not only is the connection lost, the server does not run.
        await eventually(lambda: changes == [True, False, False, True])


async def test_who_follows_and_fails_does_not_end_the_socket(far: Far) -> None:
    loop = asyncio.get_running_loop()
    problems: list[Any] = []
    loop.set_exception_handler(lambda loop, context: problems.append(context["exception"]))

    def fail(connected: bool) -> None:
        raise RuntimeError("follower")

    async with listening(far) as socket:
        stop = socket.follow(fail)
        await socket.open()
        await eventually(lambda: bool(problems))
        stop()
        feed = socket.listen("p")
        await far.say(socket.client_id, said("execution_success", prompt_id="p"))
        await hear_until(feed, lambda one: isinstance(one, ExecutionSuccess))


async def test_a_server_that_is_not_there_is_unreachable_at_once() -> None:
    far = Far()
    await far.start()
    url = far.url
    await far.stop()
    socket = ComfySocket(parse_address(url))
    with pytest.raises(ServerUnreachable) as unreachable:
        await socket.open()
    assert unreachable.value.refused
    await socket.close()


async def test_credentials_are_sent_and_never_told(far: Far) -> None:
    far.refuse = HTTPStatus.UNAUTHORIZED
    async with listening(far) as socket:
        with pytest.raises(AccessRefused) as refused:
            await socket.open()
    assert far.headers[0]["Authorization"] == "Basic YWRhOmh1c2g="
    assert "hush" not in str(refused.value)


async def test_a_redirect_does_not_take_our_credentials_elsewhere(far: Far) -> None:
    elsewhere = Far()
    await elsewhere.start()
    far.redirect_to = f"ws://{elsewhere.url}/ws"
    async with listening(far) as socket:
        with pytest.raises(ServerUnreachable):
            await socket.open()
    await elsewhere.stop()
    assert elsewhere.headers == []


async def test_closing_ends_those_who_wait(far: Far) -> None:
    far.greets = False
    socket = ComfySocket(parse_address(far.url))
    opening = asyncio.create_task(socket.open())
    await eventually(lambda: bool(far.ids))
    await socket.close()
    with pytest.raises(ServerUnreachable):
        await opening
