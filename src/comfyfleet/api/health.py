"""Is it alive, can it work."""

from typing import Literal

import anyio
from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel

from comfyfleet import __version__
from comfyfleet.api.policy import Public, TheHouse
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError

router = APIRouter(tags=["health"], dependencies=[Depends(Public())])

CHECK_TIMEOUT_S = 5.0


class Health(BaseModel):
    status: Literal["ok"] = "ok"
    version: str = __version__


class Readiness(BaseModel):
    """`degraded`: tenants of a pool that does not answer have to wait, all others are served."""

    status: Literal["ready", "degraded", "unready"]
    parts: dict[str, str]


@router.get("/healthz")
async def healthz() -> Health:
    """The process answers."""
    return Health()


@router.get("/readyz", responses={503: {"model": Readiness}})
async def readyz(house: TheHouse, response: Response) -> Readiness:
    """The central database and the object store answer; 503 otherwise."""
    readiness = await check_parts(house)
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
    needed = {parts["central"], parts["storage"]}
    status: Literal["ready", "degraded", "unready"] = "ready" if set(parts.values()) == {"ok"} else "degraded"
    return Readiness(status=status if needed == {"ok"} else "unready", parts=dict(sorted(parts.items())))


async def _ask(house: House, name: str) -> None:
    if name == "storage":
        await house.store.check()
    elif name == "central":
        await house.central.ping()
    else:
        await house.pool(name.removeprefix("pool:")).ping()
