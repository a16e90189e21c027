"""What operators of the installation call."""

from fastapi import APIRouter

from comfyfleet.api.operator import (
    audit,
    audit_alarms,
    blocks,
    credits,
    dispatches,
    effects,
    fleet_scaling,
    fleet_secrets,
    fleets,
    live,
    notifications,
    overview,
    settings,
    settlements,
    tenants,
    timeline,
    wallets,
    workers,
    workflows,
)

PARTS = (
    overview,
    timeline,
    tenants,
    credits,
    wallets,
    fleets,
    fleet_scaling,
    fleet_secrets,
    workers,
    workflows,
    effects,
    dispatches,
    blocks,
    settlements,
    audit,
    audit_alarms,
    notifications,
    live,
    settings,
)


def operator_router() -> APIRouter:
    router = APIRouter(prefix="/api/admin", tags=["operator"])
    for part in PARTS:
        router.include_router(part.router)
    return router
