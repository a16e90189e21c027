"""The engine's routes as one application."""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route, WebSocketRoute

from comfyfleet.engine.engine import Engine
from comfyfleet.engine.routes import facts, faults, history, jobs, prompts, uploads, view
from comfyfleet.engine.routes.answers import no_such_file, text
from comfyfleet.engine.routes.middleware import FrontDoor
from comfyfleet.engine.routes.sockets import websocket

# Plain and under /api.
BOTH: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("GET", "/prompt", prompts.get_prompt),
    ("POST", "/prompt", prompts.post_prompt),
    ("GET", "/queue", prompts.get_queue),
    ("POST", "/queue", prompts.post_queue),
    ("POST", "/interrupt", prompts.post_interrupt),
    ("POST", "/free", prompts.post_free),
    ("GET", "/history", history.get_history),
    ("POST", "/history", history.post_history),
    ("GET", "/history/{prompt_id}", history.get_one),
    ("POST", "/upload/image", uploads.post_image),
    ("POST", "/upload/mask", uploads.post_mask),
    ("GET", "/view", view.get_view),
    ("GET", "/object_info", facts.get_object_info),
    ("GET", "/object_info/{node_class}", facts.get_one_object_info),
    ("GET", "/system_stats", facts.get_system_stats),
    ("GET", "/features", facts.get_features),
    ("GET", "/embeddings", facts.get_nothing_listed),
    ("GET", "/extensions", facts.get_nothing_listed),
    ("GET", "/models", facts.get_models),
    ("GET", "/models/{folder}", facts.get_models_of),
    ("GET", "/settings", facts.get_nothing_named),
    ("GET", "/users", facts.get_users),
    ("GET", "/workflow_templates", facts.get_nothing_named),
    ("GET", "/global_subgraphs", facts.get_nothing_named),
    ("GET", "/node_replacements", facts.get_nothing_named),
    ("GET", "/i18n", facts.get_nothing_named),
    ("GET", "/view_metadata/{folder}", facts.get_no_metadata),
    ("GET", "/userdata", facts.get_no_userdata),
    ("GET", "/v2/userdata", facts.get_nothing_listed),
    ("GET", "/api/jobs", jobs.get_jobs),
    ("GET", "/api/jobs/{job_id}", jobs.get_job),
    ("POST", "/api/jobs/cancel", jobs.post_cancel_many),
    ("POST", "/api/jobs/{job_id}/cancel", jobs.post_cancel),
    ("GET", "/api/assets", facts.no_assets),
    ("GET", "/api/tags", facts.no_assets),
)
PLAIN_ONLY: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    ("GET", "/internal/files/{directory_type}", facts.get_files),
    ("GET", "/internal/folder_paths", facts.get_folder_paths),
    ("PATCH", "/internal/logs/subscribe", facts.patch_logs_subscription),
    ("GET", "/comfyfleet/faults", faults.get_faults),
    ("POST", "/comfyfleet/faults", faults.post_faults),
    ("DELETE", "/comfyfleet/faults", faults.delete_faults),
)


def build_app(engine: Engine) -> Starlette:
    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await engine.start()
        try:
            yield
        finally:
            await engine.stop()

    app = Starlette(
        routes=list(_routes()),
        middleware=[Middleware(FrontDoor, engine=engine)],
        exception_handlers={404: _fall_through, 405: _fall_through},
        lifespan=lifespan,
    )
    app.state.engine = engine
    return app


def _routes() -> Iterator[BaseRoute]:
    for prefix in ("", "/api"):
        for method, path, endpoint in BOTH:
            yield Route(prefix + path, endpoint, methods=[method])
        yield WebSocketRoute(f"{prefix}/ws", websocket)
    for method, path, endpoint in PLAIN_ONLY:
        yield Route(path, endpoint, methods=[method])


async def _fall_through(request: Request, error: Exception) -> Response:
    """The real server ends in the files of its web interface: what no route takes is a missing file, and anything
    but reading is not allowed there."""
    if isinstance(error, HTTPException) and error.detail and error.status_code not in (404, 405):
        raise error
    if request.method in ("GET", "HEAD"):
        return no_such_file()
    allowed = {"GET", "HEAD"}
    for route in request.app.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            allowed |= route.methods or set()
    return text("405: Method Not Allowed", 405, {"allow": ",".join(sorted(allowed))})
