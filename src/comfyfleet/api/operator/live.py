"""What the server is doing, as it happens."""

import itertools
import os
import time
from collections.abc import AsyncIterable
from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel

from comfyfleet import __version__
from comfyfleet.api.health import Readiness, Readings
from comfyfleet.api.policy import OperatorCaller, TheHouse, is_still_valid
from comfyfleet.api.stopping import Stopping
from comfyfleet.tenants import Caller, Scope

router = APIRouter()

EVERY_S = 1.0
CHECK_EVERY = 3  # events: a revoked key must not go on listening
STARTED = time.monotonic()


class ServerStatus(BaseModel):
    at: datetime
    version: str
    process_id: int
    uptime_s: float
    status: Literal["ready", "degraded", "unready"]
    parts: dict[str, str]


@router.get("/live", response_class=EventSourceResponse)
async def live(
    request: Request, house: TheHouse, caller: Annotated[Caller, Depends(OperatorCaller(Scope.READ))]
) -> AsyncIterable[ServerSentEvent]:
    """Server status, once a second, as `status` events. Ends when the server stops or the credential does."""
    stopping: Stopping = request.app.state.stopping
    readings: Readings = request.app.state.readings
    for number in itertools.count(1):
        if number % CHECK_EVERY == 0 and not await is_still_valid(house, caller):
            return
        yield ServerSentEvent(id=str(number), event="status", data=_status(await readings.read(house)))
        if await stopping.pause(EVERY_S):
            yield ServerSentEvent(event="stopping", data={})
            return


def _status(readiness: Readiness) -> ServerStatus:
    return ServerStatus(
        at=datetime.now(UTC),
        version=__version__,
        process_id=os.getpid(),
        uptime_s=round(time.monotonic() - STARTED, 1),
        status=readiness.status,
        parts=readiness.parts,
    )
