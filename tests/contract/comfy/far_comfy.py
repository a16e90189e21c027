"""A far ComfyUI over a real socket, small enough to be made to misbehave: it runs one prompt when it is told to."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

PICTURE = b"\x89PNG picture"


@dataclass
class FarComfy:
    pending: list[str] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    history: dict[str, Any] = field(default_factory=dict)
    sockets: dict[str, WebSocket] = field(default_factory=dict)
    clients: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    instantly: bool = False  # done before the POST is answered, as from the cache
    broken_submit: bool = False  # queued, and answered with 500
    shut_socket: bool = False
    interrupts_lost: int = 0
    has_cancel_route: bool = False
    url: str = ""

    def app(self) -> Starlette:
        cancelling = [Route("/api/jobs/{id}/cancel", self._cancel, methods=["POST"])] if self.has_cancel_route else []
        return Starlette(
            routes=[
                WebSocketRoute("/ws", self._ws),
                Route("/prompt", self._submit, methods=["POST"]),
                Route("/queue", self._queue, methods=["GET", "POST"]),
                Route("/history", self._forget, methods=["POST"]),
                Route("/history/{id}", self._history),
                Route("/interrupt", self._interrupt, methods=["POST"]),
                Route("/view", self._view),
                *cancelling,
            ]
        )

    async def _ws(self, socket: WebSocket) -> None:
        if self.shut_socket:
            await socket.close()
            return
        await socket.accept()
        client_id = socket.query_params["clientId"]
        self.sockets[client_id] = socket
        await socket.send_json({"type": "status", "data": {"status": {"exec_info": {"queue_remaining": 0}}}})
        try:
            while True:
                await socket.receive_text()
        except WebSocketDisconnect:
            self.sockets.pop(client_id, None)

    async def _submit(self, request: Request) -> Response:
        body = await request.json()
        prompt_id = body["prompt_id"]
        self.asked.append(("submit", body))
        self.clients[prompt_id] = body["client_id"]
        self.pending.append(prompt_id)
        if self.instantly:
            await self.begin(prompt_id)
            await self.finish(prompt_id)
        if self.broken_submit:
            return PlainTextResponse("500 Internal Server Error", status_code=500)
        return JSONResponse({"prompt_id": prompt_id, "number": 0, "node_errors": {}})

    async def _queue(self, request: Request) -> Response:
        if request.method == "POST":
            gone = (await request.json())["delete"]
            self.asked.append(("delete", gone))
            self.pending = [one for one in self.pending if one not in gone]
            return Response()
        queued = {"queue_running": self.running, "queue_pending": self.pending}
        return JSONResponse({name: [[0, one, {}, {}, []] for one in ids] for name, ids in queued.items()})

    async def _forget(self, request: Request) -> Response:
        for prompt_id in (await request.json())["delete"]:
            self.history.pop(prompt_id, None)
        return Response()

    async def _history(self, request: Request) -> Response:
        prompt_id = request.path_params["id"]
        return JSONResponse({prompt_id: self.history[prompt_id]} if prompt_id in self.history else {})

    async def _interrupt(self, request: Request) -> Response:
        prompt_id = (await request.json())["prompt_id"]
        self.asked.append(("interrupt", prompt_id))
        if self.interrupts_lost > 0:
            self.interrupts_lost -= 1
        elif prompt_id in self.running:
            await self.finish(prompt_id, kind="execution_interrupted", node_id="1", node_type="X", executed=[])
        return Response()

    async def _cancel(self, request: Request) -> Response:
        prompt_id = request.path_params["id"]
        self.asked.append(("cancel", prompt_id))
        cancelled = prompt_id in self.running
        if cancelled:
            await self.finish(prompt_id, kind="execution_interrupted", node_id="1", node_type="X", executed=[])
        return JSONResponse({"cancelled": cancelled})

    async def _view(self, request: Request) -> Response:
        return Response(PICTURE, media_type="image/png")

    async def say(self, prompt_id: str, kind: str, **facts: Any) -> None:
        if socket := self.sockets.get(self.clients[prompt_id]):
            await socket.send_text(json.dumps({"type": kind, "data": {"prompt_id": prompt_id, **facts}}))

    async def begin(self, prompt_id: str) -> None:
        self.pending.remove(prompt_id)
        self.running.append(prompt_id)
        await self.say(prompt_id, "execution_start")
        await self.say(prompt_id, "execution_cached", nodes=[])
        await self.say(prompt_id, "executing", node="1", display_node="1")

    async def finish(self, prompt_id: str, *, kind: str = "execution_success", **facts: Any) -> None:
        well = kind == "execution_success"
        picture = {"filename": "a.png", "subfolder": "", "type": "output"}
        self.running.remove(prompt_id)
        self.history[prompt_id] = {
            "outputs": {"1": {"images": [picture]}} if well else {},
            "status": {
                "status_str": "success" if well else "error",
                "completed": well,
                "messages": [["execution_start", {"prompt_id": prompt_id}], [kind, {"prompt_id": prompt_id, **facts}]],
            },
        }
        await self.say(prompt_id, kind, **facts)
        await self.say(prompt_id, "executing", node=None)


class _Embedded(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the test runner's."""
        yield


@asynccontextmanager
async def serving(far: FarComfy) -> AsyncIterator[FarComfy]:
    config = uvicorn.Config(
        far.app(), host="127.0.0.1", port=0, log_config=None, lifespan="off", ws="websockets-sansio"
    )
    server = _Embedded(config)
    task = asyncio.create_task(server.serve())
    async with asyncio.timeout(20):
        while True:
            if server.started:
                break
            await asyncio.sleep(0.005)
    far.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield far
    finally:
        server.should_exit = server.force_exit = True
        await task
