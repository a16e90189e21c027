"""What a tenant's users and programs call. Shares no credential and no route with workers and operators."""

from fastapi import APIRouter

from comfyfleet.api.tenant import effects, events, files, jobs, keys, run, users, videos, wallet, webhooks


def tenant_router() -> APIRouter:
    router = APIRouter(prefix="/api")
    for part in (users, keys, wallet, files, videos, effects, run, jobs, webhooks, events):
        router.include_router(part.router)
    return router
