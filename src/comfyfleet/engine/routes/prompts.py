"""POST /prompt and its queue: submit, look, delete, interrupt, free."""

import asyncio
import re
import time
import uuid
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from comfyfleet.engine.engine import Engine
from comfyfleet.engine.queue import Queued
from comfyfleet.engine.routes.answers import body_as_json, empty, engine_of, json_answer
from comfyfleet.engine.routes.middleware import cut_connection
from comfyfleet.engine.validate import Problem, problem, validate

WITHHELD_KEYS = ("auth_token_comfy_org", "api_key_comfy_org")
INSTANT_WITHIN_S = 60.0
_CANONICAL_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


async def post_prompt(request: Request) -> Response:
    engine = engine_of(request)
    body = await body_as_json(request)
    number = _number(engine, body)
    if "prompt" not in body:
        return _refused(problem("no_prompt", "No prompt provided", "No prompt provided"))
    prompt_id = body.get("prompt_id")
    if prompt_id is None:
        prompt_id = str(uuid.uuid4())
    elif not (isinstance(prompt_id, str) and _CANONICAL_UUID.fullmatch(prompt_id)):
        return _refused(_BAD_ID)
    targets = body.get("partial_execution_targets")
    validated = validate(body["prompt"], engine.registry, engine.folders, targets=targets)
    extra_data = body.get("extra_data", {})
    if "client_id" in body:
        extra_data["client_id"] = body["client_id"]
    if validated.error is not None:
        return _refused(validated.error, validated.node_errors)
    withheld = {key: extra_data.pop(key) for key in WITHHELD_KEYS if key in extra_data}
    try:
        faults = engine.board.for_prompt(extra_data)
    except msgspec.ValidationError as error:
        return _refused(problem("bad_faults", "No such faults", str(error)))
    extra_data["create_time"] = int(time.time() * 1000)
    queued = Queued(number, prompt_id, body["prompt"], extra_data, validated.outputs, withheld, faults)
    engine.hub.log("got prompt")
    engine.queue.put(queued)
    await _obey(queued)
    return json_answer({"prompt_id": prompt_id, "number": number, "node_errors": validated.node_errors})


_BAD_ID = problem(
    "invalid_prompt_id",
    "prompt_id must be a valid UUID",
    "prompt_id must be a UUID string in canonical lowercase hyphenated form; omit it to let the server generate one",
)


def _refused(error: Problem, node_errors: dict[str, Any] | None = None) -> Response:
    return json_answer({"error": error, "node_errors": node_errors or {}}, 400)


def _number(engine: Engine, body: dict[str, Any]) -> float:
    if "number" in body:
        return float(body["number"])
    number = engine.next_number()
    return -number if body.get("front") else number


async def _obey(queued: Queued) -> None:
    if queued.faults.instant_cached:
        await asyncio.to_thread(queued.over.wait, INSTANT_WITHIN_S)
    if queued.faults.slow_post_s:
        await asyncio.sleep(queued.faults.slow_post_s)
    if queued.faults.drop_post:
        cut_connection()


async def get_prompt(request: Request) -> Response:
    return json_answer(engine_of(request).exec_facts())


async def get_queue(request: Request) -> Response:
    running, pending = engine_of(request).queue.snapshot()
    return json_answer(
        {
            "queue_running": [each.as_listed() for each in running],
            "queue_pending": [each.as_listed() for each in pending],
        }
    )


async def post_queue(request: Request) -> Response:
    body = await body_as_json(request)
    queue = engine_of(request).queue
    if body.get("clear"):
        queue.clear()
    for prompt_id in body.get("delete", ()):
        queue.delete(prompt_id)
    return empty()


async def post_interrupt(request: Request) -> Response:
    """A body that says no prompt, or nothing that can be read, means whatever runs."""
    try:
        prompt_id = (await body_as_json(request)).get("prompt_id")
    except (ValueError, AttributeError):
        prompt_id = None
    engine_of(request).queue.interrupt(prompt_id or None)
    return empty()


async def post_free(request: Request) -> Response:
    body = await body_as_json(request)
    if body.get("free_memory") or body.get("unload_models"):
        engine_of(request).queue.ask_to_free(drop_cache=bool(body.get("free_memory")))
    return empty()
