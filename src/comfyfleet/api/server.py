"""Run the application until a signal, then stop quickly even with streams open."""

import asyncio
import gc
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from types import FrameType

import uvicorn
from fastapi import FastAPI

from comfyfleet.api.connections import ConnectionRules, Connections, GuardedProtocol
from comfyfleet.api.stopping import Stopping

LeaveFirst = Callable[[], Awaitable[None]]


class Server(uvicorn.Server):
    """`leave_first` is awaited between the first signal and the stop: for those who need the server to leave well.
    A second signal does not wait for it."""

    def __init__(self, config: uvicorn.Config, stopping: Stopping, leave_first: LeaveFirst | None) -> None:
        super().__init__(config)
        self._stopping, self._leave_first = stopping, leave_first
        self._leaving: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # All that was loaded stays for ever: looking through it for garbage would hold everybody up, time and again.
        gc.collect()
        gc.freeze()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._leave_first is None or self._leaving is not None:
            self._stop(sig)
            return
        # A signal may come in the middle of the loop's own code; its handler runs in the loop's thread.
        asyncio.get_running_loop().call_soon_threadsafe(self._begin_to_leave, sig, self._leave_first)

    def _begin_to_leave(self, sig: int, leave_first: LeaveFirst) -> None:
        if self._leaving is None:
            self._leaving = asyncio.create_task(self._leave(sig, leave_first), name="leave-first")

    async def _leave(self, sig: int, leave_first: LeaveFirst) -> None:
        try:
            await leave_first()
        finally:
            self._stop(sig)

    def _stop(self, sig: int) -> None:
        """Streams never end by themselves: tell them before uvicorn starts to wait for them."""
        self._stopping.announce()
        super().handle_exit(sig, None)


def build_server(
    app: FastAPI,
    *,
    host: str,
    port: int,
    grace_s: float,
    trusted_proxies: list[str],
    connections: ConnectionRules | None = None,
    leave_first: LeaveFirst | None = None,
) -> Server:
    guard = Connections(connections or ConnectionRules(), trusted_proxies=trusted_proxies)
    config = uvicorn.Config(
        app,
        http=partial(GuardedProtocol, guard=guard),  # type: ignore[arg-type]
        host=host,
        port=port,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=max(1, round(grace_s)),
        forwarded_allow_ips=trusted_proxies,
    )
    return Server(config, app.state.stopping, leave_first)
