"""A user's jobs, as they happen: one, or all of them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.sse import format_sse_event
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Send
from starlette.types import Scope as AsgiScope

from comfyfleet import live
from comfyfleet.api.policy import TenantCaller, TheHouse, home_of
from comfyfleet.api.validity import Validity
from comfyfleet.house import House
from comfyfleet.kernel.ids import JobId
from comfyfleet.live import Cursor, Told
from comfyfleet.tenants import Caller, Scope

router = APIRouter(tags=["events"])
log = structlog.get_logger()

Reader = Annotated[Caller, Depends(TenantCaller(Scope.READ))]
LastEventId = Annotated[str | None, Header(description="The id of the last event that was read; the rest follows.")]
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}
OVER: dict[int | str, dict[str, Any]] = {204: {"description": "The end was read: an EventSource stays away."}}
# A browser that sleeps keeps its connection, and with it a mailbox and a place among its user's streams.
SENT_WITHIN_S = 30.0
UNBUFFERED = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


class LiveResponse(StreamingResponse):
    """FastAPI's own way to stream costs two tasks and two queues a reader, and ends with an error in the log when a
    browser goes away while it writes. The framing is FastAPI's."""

    media_type = "text/event-stream"

    def __init__(self, told: AsyncGenerator[Told, None], status_code: int = 200) -> None:
        self._told = told
        super().__init__(_framed(told), status_code, headers=UNBUFFERED)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            try:
                async with asyncio.timeout(SENT_WITHIN_S):
                    await send(message)
            except TimeoutError:
                raise _Stalled from None

        async with aclosing(self._told):
            try:
                await super().__call__(scope, receive, send_in_time)
            except* _Stalled:
                log.info("live.reader_stalled")  # what it missed it gets when it comes back


class _Stalled(Exception):
    """It took nothing for so long that it is gone, or as good as gone."""


async def _framed(told: AsyncGenerator[Told, None]) -> AsyncGenerator[bytes, None]:
    async for each in told:
        yield format_sse_event(data_str=each.data, event=each.event, id=each.id)


@router.get("/ai-jobs/{job_id}/events", response_class=LiveResponse, responses={**STREAM, **OVER})
async def job_events(
    job_id: JobId,
    caller: Reader,
    house: TheHouse,
    request: Request,
    previews: bool = True,
    last_event_id: LastEventId = None,
) -> Response:
    """One job as it happens: `status`, `queue`, `progress`, `node`, `preview`, `log`; the last is its final `status`.

    `gap` says that something was missed. Sent again with `Last-Event-ID`, at any replica, it goes on from there."""
    home, cursor = home_of(caller), Cursor.parse(last_event_id)
    async with house.tenant_tx(home, read_only=True) as tx:
        job = await live.find_followed(tx, job_id, caller.user_id, pool=home.pool)
    if cursor is not None and cursor.stage == live.STAGE_OVER:
        return Response(status_code=204)
    house.live.require_room(caller.user_id)
    valid = _validity(request, house, caller)
    return LiveResponse(live.watch_job(house.live, job, cursor, still_valid=valid, previews=previews))


@router.get("/events", response_class=LiveResponse, responses=STREAM)
async def user_events(
    caller: Reader, house: TheHouse, request: Request, previews: bool = False, last_event_id: LastEventId = None
) -> Response:
    """All of one's own jobs as they happen: each `status`, `queue`, `progress` and `node`, and `preview` on request;
    and one's runs: a `run` with its counts whenever one of them changes; `wallet`, when tokens were added; `effects`,
    when something of what is offered changed; `delivery`, when one of the tenant's webhooks was sent.

    Begins with where the active ones stand; with `Last-Event-ID`, also those that ended since."""
    home = home_of(caller)
    house.live.require_room(caller.user_id)
    stream = live.UserStream(
        house.live, tenant_id=home.tenant_id, user_id=caller.user_id, pool=home.pool, previews=previews
    )
    return LiveResponse(stream.watch(live.parse_mark(last_event_id), still_valid=_validity(request, house, caller)))


def _validity(request: Request, house: House, caller: Caller) -> live.StillValid:
    validity: Validity = request.app.state.validity

    async def still_valid() -> bool:
        return await validity.ask(house, caller)

    return still_valid
