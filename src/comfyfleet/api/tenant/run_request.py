"""One call that runs an effect, read to its end: JSON, or a form whose files go to the store as they come."""

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from comfyfleet import jobs
from comfyfleet.api.forms import FormReader, Part, is_form
from comfyfleet.api.requests import BODY_WITHIN_S
from comfyfleet.api.tenant.inbox import Inbox, Received
from comfyfleet.api.tenant.jobs import OrderBody
from comfyfleet.kernel.errors import EffectUnavailable, InvalidInput, LimitReached
from comfyfleet.kernel.ids import FileId
from comfyfleet.kernel.turns import Turns
from comfyfleet.workflows import Version
from comfyfleet.workflows.effects import Offer

FILE = "file"
PIECE_WITHIN_S = 60.0
FORM_WITHIN_S = 3600.0
TURN_WITHIN_S = 20.0
RETRY_AFTER_S = 10

TakeOffer = Callable[[], Awaitable[tuple[Offer, Version]]]


class RunBody(OrderBody):
    """What the effect works on, if it works on something: by `video_id`, or by `file_id` of an upload."""

    file_id: Annotated[FileId | None, Field(description="An upload of `POST /api/videos/uploads`.")] = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One call, read to its end. `brought`: its files, by property; the one that the effect works on as `file`.

    `sums`: the SHA-256 of each. With a `refusal` the files were weighed and not kept: it stands, unless the same was
    ordered before.
    """

    body: RunBody
    brought: Mapping[str, Received] = field(default_factory=dict)
    sums: Mapping[str, str] = field(default_factory=dict)
    refusal: EffectUnavailable | None = None


async def read_asked(request: Request, inbox: Inbox, take_offer: TakeOffer) -> Asked:
    """A form is not read before it is known what may be in it, or that nothing of it will be kept."""
    content_type = request.headers.get("content-type", "")
    if not is_form(content_type):
        return Asked(_checked(_parsed(await _small_body(request), "body")))
    offered, refusal = None, None
    try:
        offered = await take_offer()
    except EffectUnavailable as unavailable:
        refusal = unavailable
    # So many uploads at once and no more: each takes memory. Who waits too long comes again.
    turns: Turns = request.app.state.uploads
    try:
        async with turns.take(inbox.tenant_id, within_s=TURN_WITHIN_S):
            asked = await _in_time(_read_form(FormReader(content_type, _steady(request)), inbox, offered))
            return replace(asked, refusal=refusal)
    except TimeoutError:
        raise LimitReached(retry_after_s=RETRY_AFTER_S) from None


async def _in_time(reading: Awaitable[Asked]) -> Asked:
    try:
        async with asyncio.timeout(FORM_WITHIN_S):
            return await reading
    except TimeoutError:
        raise HTTPException(408) from None
    except ClientDisconnect:
        raise HTTPException(400) from None  # nobody is left to read it


async def _read_form(form: FormReader, inbox: Inbox, offered: tuple[Offer, Version] | None) -> Asked:
    texts: dict[str, Any] = {}
    sums: dict[str, str] = {}
    brought: dict[str, Received] = {}
    while (part := await form.next_part()) is not None:
        if part.file_name is None:
            if part.name in texts:
                raise InvalidInput(part.name, "comes twice")
            texts[part.name] = await form.text(part)
            continue
        name, where = _place_of(part, *offered) if offered else (part.name, part.name)
        if name in sums:
            raise InvalidInput(where, "comes twice")
        if offered:
            brought[name] = await inbox.receive(part, form.content(), field=where)
        sums[name] = brought[name].sha256 if offered else await _weigh(form.content())
    if "properties" in texts:
        texts["properties"] = _parsed(texts["properties"].encode(), "properties")
    return Asked(_checked(texts), brought, sums)


async def _weigh(content: AsyncIterator[bytes]) -> str:
    digest = hashlib.sha256()
    async for piece in content:
        digest.update(piece)
    return digest.hexdigest()


def _place_of(part: Part, offer: Offer, version: Version) -> tuple[str, str]:
    """Which property a file is for, before a byte of it is read; and how a refusal calls it."""
    primary = jobs.open_input(offer, version)
    if part.name == FILE or (primary is not None and part.name == primary.name):
        if primary is None:
            raise InvalidInput(FILE, "this effect works on none")
        return FILE, FILE
    takes = [each.name for each in offer.properties if each.is_media]
    if part.name not in takes:
        known = ", ".join([FILE, *takes])
        raise InvalidInput(f"properties.{part.name:.100}", f"takes no file (a form may bring: {known})")
    return part.name, f"properties.{part.name}"


def _parsed(text: bytes, where: str) -> Any:
    try:
        return json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        if where == "body":
            raise RequestValidationError([{"type": "json_invalid", "loc": (where,), "msg": "is not JSON"}]) from None
        raise InvalidInput(where, "is not JSON") from None


def _checked(said: Any) -> RunBody:
    try:
        return RunBody.model_validate(said)
    except ValidationError as error:
        raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in error.errors()]) from None


async def _small_body(request: Request) -> bytes:
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            return await request.body()
    except TimeoutError:
        raise HTTPException(408) from None


async def _steady(request: Request) -> AsyncIterator[bytes]:
    """A sender that goes silent must not keep a turn and a connection for ever."""
    chunks = request.stream()
    while True:
        try:
            async with asyncio.timeout(PIECE_WITHIN_S):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        if chunk:
            yield chunk
