"""What a connection may cost, over real sockets: size and speed of headers and bodies, and how many there are."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

from comfyfleet.api.connections import ConnectionRules
from comfyfleet.api.server import build_server
from comfyfleet.api.stopping import Stopping
from comfyfleet.kernel.open_files import raise_open_files

QUICK = ConnectionRules(head_s=0.4, body_window_s=0.4, unread_s=0.6, idle_s=0.6, look_every_s=0.1)
WITHIN_S = 10.0


def an_app() -> FastAPI:
    app = FastAPI()
    app.state.stopping = Stopping()

    @app.get("/")
    async def plain() -> str:
        return "plain"

    @app.post("/deaf")
    async def deaf() -> str:
        return "answered without reading"

    @app.post("/size")
    async def size(request: Request) -> int:
        return sum([len(chunk) async for chunk in request.stream()])

    @app.post("/late")
    async def late(request: Request) -> int:
        await asyncio.sleep(1.5)
        return len(await request.body())

    _add_streams(app)
    return app


def _add_streams(app: FastAPI) -> None:
    @app.get("/stream")
    async def stream() -> StreamingResponse:
        async def ticks() -> AsyncIterator[bytes]:
            for _ in range(4):
                await asyncio.sleep(0.5)
                yield b"tick\n"

        return StreamingResponse(ticks())

    @app.get("/endless")
    async def endless() -> StreamingResponse:
        async def noughts() -> AsyncIterator[bytes]:
            while True:
                yield bytes(65_536)
                await asyncio.sleep(0)

        return StreamingResponse(noughts())


@asynccontextmanager
async def serving(rules: ConnectionRules = QUICK, *, trusted: tuple[str, ...] = ()) -> AsyncIterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    port: int = listener.getsockname()[1]
    server = build_server(
        an_app(), host="127.0.0.1", port=port, grace_s=1, trusted_proxies=list(trusted), connections=rules
    )
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:  # noqa: ASYNC110 uvicorn signals nobody
        await asyncio.sleep(0.005)
    try:
        yield port
    finally:
        server.should_exit = server.force_exit = True
        await task


async def talk(port: int, *pieces: bytes | float) -> bytes:
    """Sends the pieces, with pauses in seconds between them; all that comes until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(WITHIN_S):
            answer = asyncio.create_task(reader.read())
            try:
                for piece in pieces:
                    if isinstance(piece, float):
                        await asyncio.sleep(piece)
                    else:
                        writer.write(piece)
                        await writer.drain()
            except ConnectionError:
                pass
            try:
                return await answer
            except ConnectionError:
                return b""
    finally:
        writer.close()


def status_of(answer: bytes) -> int:
    return int(answer.split()[1]) if answer else 0


def code_of(answer: bytes) -> Any:
    return json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"]


CLOSE = b"Connection: close\r\n"
GET = b"GET / HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"X-Large: " + b"x" * 1_000_000 + b"\r\n\r\n",
        b"X-Large: " + b"x" * 66_000,
        b"".join(b"X-%d: y\r\n" % number for number in range(20_000)) + b"\r\n",
        b"X-Half: 1\r\n" * 7_000,
    ],
    ids=["one", "one that never ends", "many", "many that never end"],
)
async def test_headers_have_64_kib_together(head: bytes) -> None:
    async with serving(ConnectionRules()) as port:
        answer = await talk(port, GET + head)
    assert (status_of(answer), code_of(answer)) == (431, "headers_too_large")


async def test_headers_just_below_that_are_fine_and_so_is_an_address() -> None:
    async with serving(ConnectionRules()) as port:
        assert status_of(await talk(port, GET + CLOSE + b"X: " + b"x" * 65_000 + b"\r\n\r\n")) == 200
        long = await talk(port, b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n")
        assert (status_of(long), code_of(long)) == (431, "headers_too_large")


async def test_trailers_and_extensions_of_chunks_are_bounded_too() -> None:
    begun = b"POST /size HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with serving(ConnectionRules()) as port:
        for rest in (b"0\r\nX-Late: " + b"x" * 500_000, b"1;" + b"x" * 500_000):
            answer = await talk(port, begun + rest)
            assert status_of(answer) in (0, 431)


@pytest.mark.parametrize("begun", [b"", b"GET /", GET], ids=["nothing", "half a line", "half the headers"])
async def test_headers_that_trickle_are_cut_off(begun: bytes) -> None:
    trickle = [each for _ in range(30) for each in (b"X", 0.1)]
    async with serving() as port:
        began = time.monotonic()
        answer = await talk(port, begun, *(trickle if begun else ()))
        assert time.monotonic() - began < 2.0
    assert (status_of(answer), code_of(answer)) == (408, "headers_too_slow")


@pytest.mark.parametrize("path", [b"/size", b"/deaf"], ids=["a route that reads", "a route that does not"])
async def test_a_body_that_trickles_is_cut_off(path: bytes) -> None:
    head = b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
    async with serving() as port:
        began = time.monotonic()
        answer = await talk(port, head, *(each for _ in range(60) for each in (b"x", 0.05)))
        assert time.monotonic() - began < 2.5
    assert b"body_too_slow" in answer


async def test_a_request_after_another_has_its_time_anew_and_no_longer() -> None:
    async with serving() as port:
        kept = GET + b"\r\n"
        answer = await talk(port, kept, 0.3, kept, 0.3, kept, 0.3, b"GET", 3.0)
    assert answer.count(b"200 OK") == 3
    assert b"408 Request Timeout" in answer


async def test_a_body_has_no_end_in_time_while_it_comes() -> None:
    """A large upload takes as long as it takes; only its rate counts."""
    size, pieces = 20_000, 16
    head = b"POST /size HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"Content-Length: %d\r\n\r\n" % (size * pieces)
    async with serving() as port:
        answer = await talk(port, head, *(each for _ in range(pieces) for each in (b"x" * size, 0.1)))
    assert answer.endswith(str(size * pieces).encode())


async def test_waiting_for_the_server_is_not_the_clients_delay() -> None:
    """Long polls and streams; a body that the application takes late; one that it has not asked for."""
    body = b"x" * 200_000
    head = b"POST /late HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"Content-Length: 200000\r\n"
    async with serving() as port:
        streamed, late, asked = await asyncio.gather(
            talk(port, b"GET /stream HTTP/1.1\r\nHost: x\r\n" + CLOSE + b"\r\n"),
            talk(port, head + b"\r\n" + body),
            talk(port, head + b"Expect: 100-continue\r\n\r\n", 1.8, body),
        )
    assert streamed.count(b"tick") == 4
    assert late.endswith(b"200000")
    assert asked.endswith(b"200000")


async def test_a_client_that_reads_nothing_is_let_go() -> None:
    async with serving() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        writer.write(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(2.0)
        writer.transport.resume_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(WITHIN_S):
            await to_the_end(reader)
        writer.close()


async def to_the_end(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        while await reader.read(1024**2):
            pass


async def opened(port: int, count: int) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    return [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]


@pytest.mark.parametrize(
    ("rules", "trusted", "fits"),
    [
        (ConnectionRules(connections_max=20), (), 20),
        (ConnectionRules(per_address_max=20), (), 20),
        (ConnectionRules(per_address_max=20), ("127.0.0.1",), 40),
    ],
    ids=["in all", "of one address", "a proxy carries many"],
)
async def test_one_connection_too_many_is_told_so_and_makes_room_when_it_goes(
    rules: ConnectionRules, trusted: tuple[str, ...], fits: int
) -> None:
    async with serving(rules, trusted=trusted) as port:
        held = await opened(port, fits)
        await asyncio.sleep(0.1)
        answer = await talk(port, GET + CLOSE + b"\r\n")
        if fits == 40:
            assert status_of(answer) == 200
        else:
            assert (status_of(answer), code_of(answer)) == (503, "too_many_connections")
            assert b"retry-after: 5" in answer
        for _, writer in held:
            writer.close()
        await asyncio.sleep(0.1)
        assert status_of(await talk(port, GET + CLOSE + b"\r\n")) == 200


def test_open_files_are_raised_as_far_as_allowed() -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        assert raise_open_files() == min(hard, 1024**2)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == min(hard, 1024**2)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
