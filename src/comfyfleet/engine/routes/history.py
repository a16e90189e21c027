"""What became of prompts: GET and POST /history."""

from starlette.requests import Request
from starlette.responses import Response

from comfyfleet.engine.routes.answers import body_as_json, empty, engine_of, json_answer


async def get_history(request: Request) -> Response:
    entries_max = request.query_params.get("max_items")
    offset = int(request.query_params.get("offset", -1))
    entries = engine_of(request).history.page(None if entries_max is None else int(entries_max), offset)
    return json_answer({entry.prompt_id: entry.as_listed() for entry in entries})


async def get_one(request: Request) -> Response:
    prompt_id = request.path_params["prompt_id"]
    entry = engine_of(request).history.get(prompt_id)
    return json_answer({} if entry is None else {prompt_id: entry.as_listed()})


async def post_history(request: Request) -> Response:
    body = await body_as_json(request)
    history = engine_of(request).history
    if body.get("clear"):
        history.clear()
    for prompt_id in body.get("delete", ()):
        history.delete(prompt_id)
    return empty()
