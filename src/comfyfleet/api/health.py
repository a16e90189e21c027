"""Is it alive, can it work."""

import logging
import math
import time
from contextlib import suppress
from typing import Literal

import anyio
import structlog
from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from comfyfleet import __version__, audit
from comfyfleet.api.policy import Public, TheHouse
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError

router = APIRouter(tags=["health"], dependencies=[Depends(Public())])

CHECK_TIMEOUT_S = 5.0
HOLDS_S = 2.0

log = structlog.get_logger()


class Health(BaseModel):
    status: Literal["ok"] = "ok"
    version: str = __version__


class Readiness(BaseModel):
    """`degraded`: tenants of a pool that does not answer have to wait, all others are served; or an audit chain does
    not hold (`audit: alarm`), and credits are stopped until an operator acknowledges it."""

    status: Literal["ready", "degraded", "unready"]
    parts: dict[str, str]


@router.get("/healthz")
async def healthz() -> Health:
    """The process answers."""
    return Health()


class Readings:
    """Asking every part costs something and anybody may ask, so an answer holds for a moment."""

    def __init__(self) -> None:
        self._turn = anyio.Lock()
        self._read_at = -math.inf
        self._last: Readiness | None = None

    async def read(self, house: House) -> Readiness:
        async with self._turn:
            if self._last is None or time.monotonic() - self._read_at > HOLDS_S:
                found = await check_parts(house)
                _tell_changes(self._last, found)
                self._last, self._read_at = found, time.monotonic()
            return self._last


def _tell_changes(before: Readiness | None, after: Readiness) -> None:
    for name, state in after.parts.items():
        was = before.parts.get(name) if before else "ok"
        if state != was:
            log.log(logging.INFO if state == "ok" else logging.ERROR, "part.changed", part=name, state=state, was=was)


@router.get("/readyz", responses={503: {"model": Readiness}})
async def readyz(request: Request, house: TheHouse, response: Response) -> Readiness:
    """The central database and the object store answer; 503 otherwise."""
    readings: Readings = request.app.state.readings
    readiness = await readings.read(house)
    if readiness.status == "unready":
        response.status_code = 503
    return readiness


async def check_parts(house: House) -> Readiness:
    parts: dict[str, str] = {}

    async def check(name: str) -> None:
        parts[name] = "unavailable"
        with anyio.move_on_after(CHECK_TIMEOUT_S):
            try:
                await _ask(house, name)
                parts[name] = "ok"
            except FleetError as error:
                parts[name] = error.code

    async with anyio.create_task_group() as group:
        for name in ("central", "storage", *(f"pool:{pool}" for pool in house.pools)):
            group.start_soon(check, name)
    if parts["central"] == "ok" and await _alarm_is_on(house):
        parts["audit"] = "alarm"
    if trouble := house.prober.trouble():
        parts["media"] = trouble
    needed = {parts["central"], parts["storage"]}
    status: Literal["ready", "degraded", "unready"] = "ready" if set(parts.values()) == {"ok"} else "degraded"
    return Readiness(status=status if needed == {"ok"} else "unready", parts=dict(sorted(parts.items())))


async def _alarm_is_on(house: House) -> bool:
    with anyio.move_on_after(CHECK_TIMEOUT_S), suppress(FleetError):
        async with house.control_tx(read_only=True) as tx:
            return bool(await audit.open_alarms(tx))
    return False


async def _ask(house: House, name: str) -> None:
    if name == "storage":
        await house.store.check()
    elif name == "central":
        await house.central.ping()
    else:
        await house.pool(name.removeprefix("pool:")).ping()
