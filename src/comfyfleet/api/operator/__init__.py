"""What operators of the installation call."""

from fastapi import APIRouter

from comfyfleet.api.operator import audit, credits, live, tenants


def operator_router() -> APIRouter:
    router = APIRouter(prefix="/api/admin", tags=["operator"])
    for part in (tenants, credits, audit, live):
        router.include_router(part.router)
    return router
