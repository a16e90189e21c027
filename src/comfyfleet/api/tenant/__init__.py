"""What a tenant's users and programs call. Shares no credential and no route with workers and operators."""

from fastapi import APIRouter

from comfyfleet.api.tenant import (
    candidates,
    effects,
    events,
    files,
    installation,
    jobs,
    keys,
    pipeline_runs,
    pipelines,
    run,
    run_export,
    run_tree,
    storage_use,
    users,
    videos,
    wallet,
    webhooks,
)


def tenant_router() -> APIRouter:
    router = APIRouter(prefix="/api")
    for part in (
        installation,
        users,
        keys,
        wallet,
        files,
        storage_use,
        videos,
        effects,
        run,
        jobs,
        webhooks,
        events,
        pipelines,
        pipeline_runs,
        run_tree,
        run_export,
        candidates,
    ):
        router.include_router(part.router)
    router.include_router(candidates.votes_router)
    return router
