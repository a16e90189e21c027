"""Replicas listen to each other here. Nobody else: a caller must hold the installation's key."""

import asyncio
from contextlib import suppress
from typing import Annotated
from uuid import UUID

import structlog
from fastapi import APIRouter, Depends
from msgspec import MsgspecError
from starlette.websockets import WebSocket, WebSocketDisconnect

from comfyfleet.api.policy import PeerReplica
from comfyfleet.house import House
from comfyfleet.live import Outbox
from comfyfleet.wire import replica_v1 as wire

router = APIRouter()
log = structlog.get_logger()


@router.websocket(wire.PATH)
async def listen(websocket: WebSocket, caller: Annotated[UUID, Depends(PeerReplica())]) -> None:
    house: House = websocket.app.state.house
    await websocket.accept()
    box = house.live.open_outbox(websocket.send_bytes)
    sending = asyncio.create_task(box.run())
    try:
        await _hear(websocket, box, sending)
    except MsgspecError as problem:
        log.warning("live.replica_not_understood", replica=str(caller), problem=str(problem))
    finally:
        sending.cancel()
        with suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError, OSError):
            await sending
        house.live.close_outbox(box)


async def _hear(websocket: WebSocket, box: Outbox, sending: "asyncio.Task[None]") -> None:
    with suppress(WebSocketDisconnect):
        while not sending.done():
            box.take(await websocket.receive_bytes())
