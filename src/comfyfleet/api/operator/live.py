"""What the server is doing, as it happens."""

import itertools
import os
import time
from collections.abc import AsyncIterable
from datetime import UTC, datetime
from typing import Literal

from fastapi import APIRouter, Depends, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel

from comfyfleet import __version__
from comfyfleet.api.health import Readiness, check_parts
from comfyfleet.api.policy import OperatorCaller, TheHouse
from comfyfleet.api.stopping import Stopping
from comfyfleet.tenants import Scope

router = APIRouter()

EVERY_S = 1.0
CHECK_EVERY = 5  # events: asking all databases and the store costs more than telling
STARTED = time.monotonic()


class ServerStatus(BaseModel):
    at: datetime
    version: str
    process_id: int
    uptime_s: float
    status: Literal["ready", "degraded", "unready"]
    parts: dict[str, str]


@router.get("/live", response_class=EventSourceResponse, dependencies=[Depends(OperatorCaller(Scope.READ))])
async def live(request: Request, house: TheHouse) -> AsyncIterable[ServerSentEvent]:
    """Server status, once a second, as `status` events. Ends when the server stops."""
    stopping: Stopping = request.app.state.stopping
    readiness = await check_parts(house)
    for number in itertools.count(1):
        if number % CHECK_EVERY == 0:
            readiness = await check_parts(house)
        yield ServerSentEvent(id=str(number), event="status", data=_status(readiness))
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
