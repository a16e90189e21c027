"""An effect in one call: with the file itself, or by the id of one that is there; and, on request, with the result."""

import asyncio
import re
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.routing import APIRoute
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from comfyfleet import jobs, live
from comfyfleet.api.forms import is_form
from comfyfleet.api.policy import TenantCaller, TheHouse, TheOptions, home_of
from comfyfleet.api.tenant.effects import EffectSlug
from comfyfleet.api.tenant.inbox import Inbox
from comfyfleet.api.tenant.intake import Intake, take_in
from comfyfleet.api.tenant.job_views import JobView, view_jobs
from comfyfleet.api.tenant.ordering import order, ordered_before, wake_after
from comfyfleet.api.tenant.run_request import FILE, Asked, RunBody, read_asked
from comfyfleet.house import House
from comfyfleet.jobs import Placed
from comfyfleet.kernel.errors import InvalidInput, LimitReached
from comfyfleet.kernel.ids import JobId, VideoId
from comfyfleet.live import Followed
from comfyfleet.tenants import Caller, Home, Scope
from comfyfleet.workflows import Version
from comfyfleet.workflows.effects import Offer

WAIT_S_MAX = 60
FORM_ROOM_BYTES = 16 * 1024**2  # beside the file: other parts, and what surrounds them
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,6})\b", re.IGNORECASE)

Writer = Annotated[Caller, Depends(TenantCaller(Scope.WRITE))]
Prefer = Annotated[
    str | None,
    Header(max_length=200, description=f"`wait=30`: up to so many seconds, {WAIT_S_MAX} at most, for the result."),
]


class RunRoute(APIRoute):
    """A form may be as large as a file; JSON as large as everywhere."""

    async def handle(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        content_type = dict(scope["headers"]).get(b"content-type", b"").decode("latin-1")
        if not is_form(content_type):
            await super().handle(scope, receive, send)
            return
        # Inside another one, this replaces the outer limit.
        bytes_max = scope["app"].state.options.upload_bytes_max + FORM_ROOM_BYTES
        await RequestBodyLimitMiddleware(super().handle, max_body_size=bytes_max)(scope, receive, send)


router = APIRouter(prefix="/effects", tags=["effects"], route_class=RunRoute)


def _form_schema() -> dict[str, Any]:
    """Of the same fields, as a form has them."""
    said = RunBody.model_json_schema()
    fields = {**said["properties"], "properties": {"type": "string", "description": "As JSON."}}
    file = {"type": "string", "format": "binary", "description": "What the effect works on."}
    more = {"type": "string", "format": "binary", "description": "A file for the property of that name."}
    return {"type": "object", "properties": {FILE: file, **fields}, "additionalProperties": more}


BODY = {
    "requestBody": {
        "required": False,
        "content": {
            "application/json": {"schema": RunBody.model_json_schema()},
            "multipart/form-data": {"schema": _form_schema()},
        },
    }
}
HEADERS = {"Location": {"description": "Where the job is.", "schema": {"type": "string"}}}
DONE: dict[int | str, dict[str, Any]] = {
    200: {"model": JobView, "description": "It ended in the time that was to be waited.", "headers": HEADERS},
    202: {"model": JobView, "description": "It is under way.", "headers": HEADERS},
}


@router.post("/{effect_slug}/run", status_code=202, responses=DONE, openapi_extra=BODY)
async def run_effect(
    effect_slug: EffectSlug,
    request: Request,
    response: Response,
    caller: Writer,
    house: TheHouse,
    options: TheOptions,
    prefer: Prefer = None,
) -> JobView:
    """Order an effect in one call: a form with the `file` itself and `properties` as JSON, or JSON with an id.

    With `Prefer: wait=30` the answer is 200 and the ended job if it ends in time; else, and without it, 202."""
    home, wait_s = home_of(caller), _wait_s(prefer)
    length = request.headers.get("content-length", "")
    # What is announced counts until its size is known: no more than can come.
    bytes_max = min(options.upload_bytes_max, int(length)) if length.isdecimal() else options.upload_bytes_max
    inbox = Inbox(house, home, caller.user_id, bytes_max=bytes_max)
    try:
        asked = await read_asked(request, inbox, partial(_take_offer, house, effect_slug))
        traceparent = request.headers.get("traceparent")
        placed = await _place(house, home, caller, effect_slug, asked, inbox, traceparent=traceparent)
    except BaseException:
        await inbox.throw_away()
        raise
    if placed.replayed:
        await inbox.throw_away()
    wake_after(request, house, placed, home.pool)
    response.headers["Location"] = f"/api/ai-jobs/{placed.job.id}"
    if wait_s is None:
        return JobView.of(placed.job)
    response.headers["Preference-Applied"] = f"wait={wait_s}"
    if await _ends(request, house, home, caller, placed.job.id, wait_s):
        response.status_code = 200
    async with house.tenant_tx(home, read_only=True) as tx:
        found = await jobs.read_job(tx, placed.job.id, caller.user_id)
    return (await view_jobs(house, caller, [found], expires_s=options.url_ttl_s))[0]


# ── the order ──


async def _place(
    house: House,
    home: Home,
    caller: Caller,
    effect: str,
    asked: Asked,
    inbox: Inbox,
    *,
    traceparent: str | None,
) -> Placed:
    """Sent again under the same key with the same files, it gets the first answer, and what it brought goes."""
    body = asked.body
    wanted = replace(body.wanted(home, caller.user_id, effect), traceparent=traceparent)
    if not asked.sums and body.file_id is None:
        return await order(house, wanted)
    wanted = replace(wanted, given_digest=jobs.digest_request(wanted.digest, asked.sums, body.file_id))
    before = await ordered_before(house, wanted)
    if before is not None:
        return Placed(before, replayed=True)
    if asked.refusal is not None:
        raise asked.refusal
    await _take_offer(house, effect)  # an effect that is not there is said before anything is looked at
    video_id = await _input(house, home, caller, asked, inbox)
    properties = dict(body.properties)
    for name, received in asked.brought.items():
        if name in properties:
            raise InvalidInput(received.field, "comes as a file and in `properties`")
        if name != FILE:
            properties[name] = str(await inbox.become_file(received))
    return await order(house, replace(wanted, video_id=video_id, properties=properties))


async def _take_offer(house: House, effect: str) -> tuple[Offer, Version]:
    async with house.control_tx(read_only=True) as tx:
        return await house.take_runnable(tx, effect)


async def _input(house: House, home: Home, caller: Caller, asked: Asked, inbox: Inbox) -> VideoId | None:
    body = asked.body
    choices = {FILE: asked.brought.get(FILE), "file_id": body.file_id, "video_id": body.video_id}
    given = [name for name, choice in choices.items() if choice is not None]
    if len(given) > 1:
        raise InvalidInput(given[0], f"does not go together with {given[1]}: name one thing to work on")
    if FILE in asked.brought:
        return await inbox.become_video(asked.brought[FILE])
    if body.file_id is not None:
        return (await take_in(house, Intake(home, caller.user_id, body.file_id, field="file_id"))).id
    return body.video_id


# ── the result ──


def _wait_s(prefer: str | None) -> int | None:
    found = _WAIT.search(prefer or "")
    return min(int(found[1]), WAIT_S_MAX) if found else None


async def _ends(request: Request, house: House, home: Home, caller: Caller, job_id: JobId, wait_s: int) -> bool:
    """In this time; unless its caller goes away, or has too many streams open to be given another."""
    try:
        house.live.require_room(caller.user_id)
    except LimitReached:
        return False
    job = Followed(job_id, home.tenant_id, caller.user_id, home.pool)
    waiting = asyncio.ensure_future(live.wait_until_over(house.live, job, within_s=wait_s))
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
        return waiting.done() and waiting.result()
    finally:
        for task in (waiting, gone):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
