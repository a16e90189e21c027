"""How steps are performed: by blocking, and by awaiting. Nothing is decided here."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import httpx2

from comfyfleet.client.access import Access
from comfyfleet.client.source import Piece
from comfyfleet.client.steps import Answer, Broken, Call, Close, Open, Pause, Read, Send, Step, Tell, Work
from comfyfleet.client.transport import (
    CHUNK_BYTES,
    LINE_ERRORS,
    Gathering,
    answer,
    broken,
    build_request,
    host_of,
)


class Hands:
    """Performs one step at a time."""

    def __init__(self, http: httpx2.Client, access: Access) -> None:
        self._http, self._access = http, access
        self._response: httpx2.Response | None = None
        self._chunks: Iterator[bytes] = iter(())
        self._host = access.host

    def perform(self, step: Step) -> Any:
        match step:
            case Send(call):
                return self._send(call)
            case Open(call):
                return self._open(call)
            case Read():
                return self._read()
            case Close():
                return self.close()
            case Pause(seconds):
                return time.sleep(seconds)
            case Work(work):
                return work()
            case Tell():
                return None

    def close(self) -> None:
        if self._response is not None:
            with suppress(*LINE_ERRORS):
                self._response.close()
            self._response = None

    def _send(self, call: Call) -> Answer | Broken:
        opened = self._open(call, whole=True)
        self.close()
        return opened

    def _open(self, call: Call, *, whole: bool = False) -> Answer | Broken:
        self.close()
        self._host = host_of(self._access, call)
        content = _sent(call.body) if isinstance(call.body, Piece) else call.body
        try:
            self._response = self._http.send(build_request(self._http, self._access, call, content), stream=True)
            self._chunks = self._response.iter_raw(None if call.body is None and not call.is_signed else CHUNK_BYTES)
            return answer(self._host, self._response, self._gathered(whole))
        except LINE_ERRORS as error:
            return broken(self._host, error)

    def _gathered(self, whole: bool) -> bytes:
        if self._response is None or (self._response.status_code < 300 and not whole):
            return b""
        gathering = Gathering()
        for chunk in self._chunks:
            gathering.add(chunk)
        return gathering.whole()

    def _read(self) -> bytes | Broken | None:
        try:
            return next(self._chunks, None)
        except LINE_ERRORS as error:
            return broken(self._host, error)


def _sent(piece: Piece) -> Iterator[bytes]:
    sent_bytes = 0
    for chunk in piece.chunks():
        yield chunk
        sent_bytes += len(chunk)
        piece.on_sent(sent_bytes)


class AsyncHands:
    """The same, awaited."""

    def __init__(self, http: httpx2.AsyncClient, access: Access) -> None:
        self._http, self._access = http, access
        self._response: httpx2.Response | None = None
        self._chunks: AsyncIterator[bytes]
        self._host = access.host

    async def perform(self, step: Step) -> Any:
        match step:
            case Send(call):
                return await self._send(call)
            case Open(call):
                return await self._open(call)
            case Read():
                return await self._read()
            case Close():
                return await self.close()
            case Pause(seconds):
                return await asyncio.sleep(seconds)
            case Work(work):
                return await asyncio.to_thread(work)
            case Tell():
                return None

    async def close(self) -> None:
        if self._response is not None:
            with suppress(*LINE_ERRORS):
                await self._response.aclose()
            self._response = None

    async def _send(self, call: Call) -> Answer | Broken:
        opened = await self._open(call, whole=True)
        await self.close()
        return opened

    async def _open(self, call: Call, *, whole: bool = False) -> Answer | Broken:
        await self.close()
        self._host = host_of(self._access, call)
        content = _sent_async(call.body) if isinstance(call.body, Piece) else call.body
        try:
            self._response = await self._http.send(build_request(self._http, self._access, call, content), stream=True)
            self._chunks = self._response.aiter_raw(None if call.body is None and not call.is_signed else CHUNK_BYTES)
            return answer(self._host, self._response, await self._gathered(whole))
        except LINE_ERRORS as error:
            return broken(self._host, error)

    async def _gathered(self, whole: bool) -> bytes:
        if self._response is None or (self._response.status_code < 300 and not whole):
            return b""
        gathering = Gathering()
        async for chunk in self._chunks:
            gathering.add(chunk)
        return gathering.whole()

    async def _read(self) -> bytes | Broken | None:
        try:
            return await anext(self._chunks, None)
        except LINE_ERRORS as error:
            return broken(self._host, error)


async def _sent_async(piece: Piece) -> AsyncIterator[bytes]:
    chunks, sent_bytes = piece.chunks(), 0
    while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
        yield chunk
        sent_bytes += len(chunk)
        piece.on_sent(sent_bytes)
