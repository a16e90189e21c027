"""The engine on a socket: in this process's event loop, or as the process itself."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import uvicorn

from comfyfleet.engine.app import build_app
from comfyfleet.engine.engine import Engine

STOP_WITHIN_S = 2
BACKLOG = 2048


def listen(host: str, port: int) -> socket.socket:
    """Port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's waiting off only where the protocol is named: without it each answer takes 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def build_server(engine: Engine) -> uvicorn.Server:
    config = uvicorn.Config(
        build_app(engine),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        ws="websockets-sansio",
        ws_ping_interval=None,  # the real server sends none, and clients must live with that
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=STOP_WITHIN_S,
    )
    return uvicorn.Server(config)


class _Embedded(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        """Signals belong to whoever embeds it."""
        yield


@contextlib.asynccontextmanager
async def serve_here(engine: Engine, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """Serve in the running event loop while the block lasts; gives the URL."""
    listener = listen(host, port)
    server = _Embedded(build_server(engine).config)
    task = asyncio.create_task(server.serve(sockets=[listener]), name="engine-server")
    try:
        while not server.started:
            if task.done():
                task.result()
                raise RuntimeError("the engine did not start")
            await asyncio.sleep(0.001)
        yield f"http://{host}:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listener.close()
