"""/ws: what the clients hear, and the one thing they may say first."""

import json
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from comfyfleet.engine.engine import Engine
from comfyfleet.engine.messages import Listener
from comfyfleet.engine.routes.facts import FEATURES
from comfyfleet.engine.routes.middleware import is_foreign


async def websocket(socket: WebSocket) -> None:
    engine: Engine = socket.app.state.engine
    if is_foreign(socket.headers):
        await socket.close(1008)
        return
    await socket.accept()
    listener = Listener(socket)
    client_id = engine.hub.connect(socket.query_params.get("clientId"), listener)
    try:
        await _welcome(engine, socket, client_id)
        await _listen(engine, socket, listener)
    except (WebSocketDisconnect, RuntimeError):
        pass  # gone; RuntimeError: we closed it ourselves
    finally:
        engine.hub.forget(client_id)


async def _welcome(engine: Engine, socket: WebSocket, client_id: str) -> None:
    status = {"status": engine.exec_facts(), "sid": client_id}
    await socket.send_text(json.dumps({"type": "status", "data": status}))
    if engine.now.client_id == client_id and engine.now.node_id is not None:
        # No prompt_id here, on the real server neither.
        await socket.send_text(json.dumps({"type": "executing", "data": {"node": engine.now.node_id}}))


async def _listen(engine: Engine, socket: WebSocket, listener: Listener) -> None:
    first = True
    while True:
        flags = _flags(await socket.receive())
        if first and flags is not None:
            listener.flags = flags
            await socket.send_text(json.dumps({"type": "feature_flags", "data": FEATURES}))
        first = False


def _flags(message: Any) -> dict[str, Any] | None:
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    try:
        said = json.loads(message.get("text") or "")
    except ValueError:
        return None
    if not isinstance(said, dict) or said.get("type") != "feature_flags":
        return None
    flags = said.get("data")
    return flags if isinstance(flags, dict) else {}
