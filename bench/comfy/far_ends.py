"""The far ends of the pool's bench, in a process of their own: engines, or a crowd of servers with nothing to do.

`python -m bench.comfy.far_ends engines 4` or `… idle 200` prints one URL a line and serves until it is stopped.
"""

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import uvicorn
import uvloop

from comfyfleet.engine.engine import Engine
from comfyfleet.engine.server import listen, serve_here

Message = MutableMapping[str, Any]
STATUS = json.dumps({"type": "status", "data": {"status": {"exec_info": {"queue_remaining": 0}}, "sid": "x"}})
FACTS = json.dumps({"system": {"comfyui_version": "0.33.0"}, "devices": []}).encode()


@asynccontextmanager
async def far_ends(kind: str, count: int) -> AsyncIterator[list[str]]:
    """Starts them beside us; what they burn is not ours."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.comfy.far_ends", kind, str(count), stdout=asyncio.subprocess.PIPE
    )
    said = cast(asyncio.StreamReader, process.stdout)
    try:
        yield [(await said.readline()).decode().strip() for _ in range(count)]
    finally:
        process.terminate()
        await process.wait()


async def serve_engines(count: int) -> None:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for number in range(count):
            url = await stack.enter_async_context(serve_here(Engine(folder / str(number))))
            print(url, flush=True)
        await asyncio.Event().wait()


async def serve_idle(count: int) -> None:
    listener = listen("127.0.0.1", 0)
    for number in range(count):
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/server-{number}", flush=True)
    config = uvicorn.Config(answer, log_config=None, access_log=False, lifespan="off", ws="websockets-sansio")
    config.ws_ping_interval = None  # as the real server
    await uvicorn.Server(config).serve(sockets=[listener])


async def answer(
    scope: MutableMapping[str, Any],
    receive: Callable[[], Awaitable[Message]],
    send: Callable[[Message], Awaitable[None]],
) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": STATUS})
        while (await receive())["type"] != "websocket.disconnect":
            pass
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": FACTS})


if __name__ == "__main__":
    serve = {"engines": serve_engines, "idle": serve_idle}[sys.argv[1]]
    uvloop.run(serve(int(sys.argv[2])))
