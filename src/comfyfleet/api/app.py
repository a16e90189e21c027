"""The HTTP application: three routers that share nothing, and default deny."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import iter_route_contexts
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import BaseRoute

from comfyfleet import __version__
from comfyfleet.api import auth, health, payments, reference, replicas, web
from comfyfleet.api.background import Background
from comfyfleet.api.describe_errors import describe_errors
from comfyfleet.api.docs_rules import DocsRules
from comfyfleet.api.errors import install_error_handlers
from comfyfleet.api.limits import RateLimits
from comfyfleet.api.objects import objects_router
from comfyfleet.api.operator import operator_router
from comfyfleet.api.operator.overview import Overviews
from comfyfleet.api.operator.timeline import FleetWatch
from comfyfleet.api.options import ApiOptions
from comfyfleet.api.passes import Passes
from comfyfleet.api.policy import SignedUrl, require_policies
from comfyfleet.api.requests import BodyLimit, RequestContext, route_patterns
from comfyfleet.api.stopping import Stopping
from comfyfleet.api.tenant import tenant_router
from comfyfleet.api.tenant.inbox import UPLOADS_MAX
from comfyfleet.api.validity import Validity
from comfyfleet.api.worker import WorkerEndpoints
from comfyfleet.api.worker.openapi import describe_worker_endpoints
from comfyfleet.house import House
from comfyfleet.kernel.turns import Turns
from comfyfleet.storage.backends.local import LocalStore

DESCRIPTION = "Run ComfyUI as a fleet. Errors are always `{error: {code, message, details}}`; codes are stable."
# FastAPI makes this route, without a policy: no data of anybody behind it.
OPEN_PATHS = frozenset({reference.SCHEMA_PATH})


def build_app(house: House, options: ApiOptions, *, upkeep: Background | None = None) -> FastAPI:
    """With `upkeep`, its loops run for as long as the application does."""
    app = FastAPI(
        title="comfyfleet",
        version=__version__,
        description=DESCRIPTION,
        servers=[{"url": "/"}],
        openapi_url=reference.SCHEMA_PATH,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.house, app.state.options, app.state.upkeep = house, options, upkeep
    app.state.limits, app.state.stopping, app.state.readings = RateLimits(), Stopping(), health.Readings()
    app.state.validity, app.state.passes = Validity(), Passes()
    app.state.page_rules = web.page_rules(house.store)
    app.state.overviews, app.state.fleet_watch = Overviews(), FleetWatch()
    app.state.uploads = Turns(UPLOADS_MAX)
    app.router.routes.extend(_routes())
    if isinstance(house.store, LocalStore):
        app.include_router(objects_router(house.store, Depends(SignedUrl())))
    install_error_handlers(app)
    _surround(app, options)
    routes = list(iter_route_contexts(app.routes))
    require_policies(routes, open_paths=OPEN_PATHS)
    app.state.patterns = route_patterns(routes)
    describe_errors(app)
    describe_worker_endpoints(app)
    return app


@cache
def _routes() -> list[BaseRoute]:
    """Made once: a route knows no application, and to make them all takes longer than the rest of it."""
    router = APIRouter()
    for each in (health.router, auth.router, payments.router, replicas.router, tenant_router(), operator_router()):
        router.include_router(each)
    router.include_router(reference.router)
    router.include_router(web.router)
    return router.routes


def _surround(app: FastAPI, options: ApiOptions) -> None:
    """The last one added is the outermost."""
    app.add_middleware(BodyLimit, bytes_max=options.body_bytes_max)
    if options.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=options.cors_origins,
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "If-None-Match", "Last-Event-ID", "Prefer"],
            expose_headers=["ETag", "Location", "Preference-Applied", "X-Request-Id", "Retry-After"],
        )
    app.add_middleware(DocsRules, path=reference.PATH)
    app.add_middleware(RequestContext, hsts=options.hsts)
    app.add_middleware(WorkerEndpoints, state=app)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    app.state.stopping.attach()
    house: House = app.state.house
    upkeep: Background | None = app.state.upkeep
    house.desk.start()
    house.live.start()
    ending_streams = asyncio.create_task(_end_streams(app.state.stopping, house))
    if upkeep is not None:
        upkeep.start()
    try:
        yield
    finally:
        ending_streams.cancel()
        # Those who wait go first: they would keep the server from stopping.
        await house.desk.stop()
        await house.live.stop()
        if upkeep is not None:
            await upkeep.stop()
        await house.close()


async def _end_streams(stopping: Stopping, house: House) -> None:
    await stopping.wait()
    house.live.close_streams()
