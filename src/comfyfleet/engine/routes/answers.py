"""Answers as aiohttp words them: clients tell servers by such things."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from comfyfleet.engine.engine import Engine

TROUBLE = "500 Internal Server Error\n\nServer got itself in trouble"


def engine_of(request: Request) -> Engine:
    engine: Engine = request.app.state.engine
    return engine


def json_answer(content: Any, status: int = 200) -> Response:
    return Response(json.dumps(content), status, {"content-type": "application/json; charset=utf-8"})


def empty(status: int = 200) -> Response:
    return Response(None, status)


def text(content: str, status: int, headers: Mapping[str, str] | None = None) -> Response:
    return Response(content, status, {"content-type": "text/plain; charset=utf-8", **(headers or {})})


def no_such_file() -> Response:
    """What falls through to the files of the web interface and is none."""
    return Response(None, 404, {"content-type": "application/octet-stream"})


async def body_as_json(request: Request) -> Any:
    """Whatever the content type says."""
    return json.loads(await request.body())
