"""What the server is doing, as it happens."""

import itertools
import json
import os
import time
from collections.abc import AsyncIterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Request
from fastapi.sse import EventSourceResponse, ServerSentEvent
from pydantic import BaseModel

from comfyfleet import __version__
from comfyfleet.api.health import Readiness, Readings
from comfyfleet.api.operator.overview import Overviews, OverviewView
from comfyfleet.api.operator.timeline import FleetWatch
from comfyfleet.api.policy import OperatorCaller, TheHouse, is_still_valid
from comfyfleet.api.stopping import Stopping
from comfyfleet.audit import RecordedEvent, recent_block_events
from comfyfleet.desk.live import KEPT_S, LiveEvent
from comfyfleet.house import House
from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.live import ACTIONS, PEOPLE, SCALING
from comfyfleet.tenants import Caller, Scope

router = APIRouter()

EVERY_S = 1.0
OVERVIEW_EVERY = 2  # events
CHECK_EVERY = 3  # events: a revoked key must not go on listening
STARTED = time.monotonic()
NOTICES = {ACTIONS: "actions", PEOPLE: "tenants", SCALING: "scaling"}


class ServerStatus(BaseModel):
    at: datetime
    version: str
    process_id: int
    uptime_s: float
    status: Literal["ready", "degraded", "unready"]
    parts: dict[str, str]
    workers_waiting: int  # polls that wait at this replica


@router.get("/live", response_class=EventSourceResponse)
async def live(
    request: Request, house: TheHouse, caller: Annotated[Caller, Depends(OperatorCaller(Scope.READ))]
) -> AsyncIterable[ServerSentEvent]:
    """Once a second: `status` of the server; `worker` events, as running jobs report them to this replica; `block`
    events, as workers are kept from workflows; `fleet`, where something changed: leases that were given or ended and
    workers in another state, at whichever replica, in the form of the timeline; `actions`, when operators did
    something, `tenants`, when tenants' users or wallets changed, and `scaling`, when a fleet that scales was looked at:
    a page looks again then. Every other second `overview`. Ends when the server stops or the credential does."""
    stopping: Stopping = request.app.state.stopping
    readings: Readings = request.app.state.readings
    watch: FleetWatch = request.app.state.fleet_watch
    reported, told = 0, set[UUID]()
    await _look(watch, house)
    seen = watch.number
    with house.live.noticing(NOTICES) as reader:
        for number in itertools.count(1):
            if number % CHECK_EVERY == 0 and not await is_still_valid(house, caller):
                return
            yield ServerSentEvent(id=str(number), event="status", data=_status(await readings.read(house), house))
            for event in house.desk.live.after(reported):
                reported = event.number
                yield ServerSentEvent(event="worker", data=_report(event))
            for change in await _block_changes(house):
                if change.id not in told:
                    told.add(change.id)
                    yield ServerSentEvent(event="block", data=_change(change))
            await _look(watch, house)
            for place, changed in watch.after(seen):
                seen = place
                yield ServerSentEvent(event="fleet", raw_data=changed)
            for notice in reader.take_notices():
                yield ServerSentEvent(event=notice, data={})
            if number % OVERVIEW_EVERY == 1 and (overview := await _overview(request, house)) is not None:
                yield ServerSentEvent(event="overview", data=overview)
            if await stopping.pause(EVERY_S):
                yield ServerSentEvent(event="stopping", data={})
                return


async def _look(watch: FleetWatch, house: House) -> None:
    with suppress(DatabaseUnavailable):  # the status says so
        await watch.look(house)


async def _overview(request: Request, house: House) -> OverviewView | None:
    overviews: Overviews = request.app.state.overviews
    try:
        return await overviews.read(house, request.app.state.readings)
    except DatabaseUnavailable:
        return None


async def _block_changes(house: House) -> list[RecordedEvent]:
    try:
        async with house.control_tx(read_only=True) as tx:
            return await recent_block_events(tx, seconds=KEPT_S)
    except DatabaseUnavailable:
        return []  # the status says so


def _report(event: LiveEvent) -> dict[str, Any]:
    return {
        "worker_id": event.worker_id,
        "dispatch_id": str(event.dispatch_id) if event.dispatch_id else None,
        "kind": event.kind,
        "ago_s": round(time.monotonic() - event.at, 3),
        "data": event.data,
    }


def _change(event: RecordedEvent) -> dict[str, Any]:
    return {"event": event.event, "worker_id": event.worker_id, "at": event.at, **json.loads(event.detail)}


def _status(readiness: Readiness, house: House) -> ServerStatus:
    return ServerStatus(
        at=datetime.now(UTC),
        version=__version__,
        process_id=os.getpid(),
        uptime_s=round(time.monotonic() - STARTED, 1),
        status=readiness.status,
        parts=readiness.parts,
        workers_waiting=len(house.desk.polls.room),
    )
