"""Answers that no ComfyUI gives: each ends in a typed error, never in a crash or a hang."""

import asyncio
import gzip
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from comfyfleet.comfy.client import ComfyClient
from comfyfleet.comfy.errors import AnswerTooLarge, ServerTimedOut, ServerUnreachable, UnexpectedAnswer
from comfyfleet.comfy.limits import MIB, Limits
from comfyfleet.comfy.model import OutputFile, new_prompt

Speak = Callable[[asyncio.StreamWriter], Awaitable[None]]
SMALL = Limits(look_s=0.5, submit_s=0.5, view_s=0.5, idle_s=0.3, words_bytes=MIB, queue_bytes=MIB, history_bytes=MIB)
PATIENT = Limits(look_s=60, view_s=60, words_bytes=MIB, queue_bytes=MIB, history_bytes=MIB, view_bytes=MIB)
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


@asynccontextmanager
async def speaking(speak: Speak, limits: Limits) -> AsyncIterator[ComfyClient]:
    """A server that reads a request's head and then says what it likes."""

    speeches: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            speech = asyncio.create_task(speak(writer))
            speeches.add(speech)
            await asyncio.wait([speech])
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        async with ComfyClient(f"http://{host}:{port}", limits=limits) as client:
            yield client
    finally:
        for speech in speeches:
            speech.cancel()
        await asyncio.gather(*speeches, return_exceptions=True)
        server.close()
        await server.wait_closed()


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(CHUNKED)
    while True:
        writer.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
        await writer.drain()


async def dripping(writer: asyncio.StreamWriter) -> None:
    """Always within the time between two chunks, never done."""
    writer.write(CHUNKED)
    while True:
        writer.write(b"1\r\n \r\n")
        await writer.drain()
        await asyncio.sleep(0.05)


async def silent(writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


def saying(raw: bytes) -> Speak:
    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        await writer.drain()

    return speak


async def test_an_endless_history_is_too_large() -> None:
    async with speaking(endless, PATIENT) as client:
        with pytest.raises(AnswerTooLarge) as too_large:
            await client.history("p")
    assert too_large.value.facts["limit_bytes"] == MIB


async def test_a_history_of_a_gigabyte_is_not_even_begun() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n"
    async with speaking(saying(head + b"{"), PATIENT) as client:
        with pytest.raises(AnswerTooLarge):
            await client.history("p")


async def test_an_endless_output_is_too_large_and_leaves_nothing(tmp_path: Path) -> None:
    async with speaking(endless, PATIENT) as client:
        with pytest.raises(AnswerTooLarge):
            await client.fetch(OutputFile("9", "images", "a.png"), tmp_path / "a.png")
    assert os.listdir(tmp_path) == []


async def test_a_drip_ends_at_the_time_limit() -> None:
    async with speaking(dripping, SMALL) as client:
        with pytest.raises(ServerTimedOut):
            await client.queue()


async def test_a_dripping_output_ends_at_the_time_limit_and_leaves_nothing(tmp_path: Path) -> None:
    async with speaking(dripping, SMALL) as client:
        with pytest.raises(ServerTimedOut):
            await client.fetch(OutputFile("9", "images", "a.png"), tmp_path / "a.png")
    assert os.listdir(tmp_path) == []


async def test_silence_ends_at_the_time_limit() -> None:
    async with speaking(silent, SMALL) as client:
        with pytest.raises(ServerTimedOut):
            await client.submit(new_prompt({"1": {}}))


async def test_a_body_cut_short_is_no_answer(tmp_path: Path) -> None:
    cut = saying(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}")
    async with speaking(cut, PATIENT) as client:
        with pytest.raises(ServerUnreachable):
            await client.queue()
    async with speaking(cut, PATIENT) as client:
        with pytest.raises(ServerUnreachable):
            await client.fetch(OutputFile("9", "images", "a.png"), tmp_path / "a.png")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "raw", [b"", b"\x00\xff garbage\r\n\r\n", b"SSH-2.0-OpenSSH_9\r\n", b"HTTP/1.1 banana\r\n\r\n"]
)
async def test_what_does_not_speak_http_is_unreachable(raw: bytes) -> None:
    async with speaking(saying(raw), PATIENT) as client:
        with pytest.raises(ServerUnreachable) as unreachable:
            await client.queue()
    assert unreachable.value.sent


async def test_endless_headers_end() -> None:
    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"X-A: " + b"a" * 60_000 + b"\r\n")
            await writer.drain()

    async with speaking(speak, PATIENT) as client:
        with pytest.raises(ServerUnreachable):
            await client.queue()


async def test_a_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    async with speaking(saying(head + bomb), PATIENT) as client:
        with pytest.raises(UnexpectedAnswer, match="compressed"):
            await client.queue()


async def test_where_nobody_listens_nothing_was_sent() -> None:
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with ComfyClient(f"127.0.0.1:{port}") as client:
        with pytest.raises(ServerUnreachable) as unreachable:
            await client.submit(new_prompt({"1": {}}))
    assert not unreachable.value.sent


async def test_a_client_survives_and_asks_again() -> None:
    answers = [b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n<p>", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"]

    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(answers.pop(0))
        await writer.drain()

    async with speaking(speak, PATIENT) as client:
        with pytest.raises(UnexpectedAnswer):
            await client.history("p")
        assert await client.history("p") is None
