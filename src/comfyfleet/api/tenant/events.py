"""A user's jobs, as they happen: one, or all of them."""

from collections.abc import AsyncIterable
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Header, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from comfyfleet import live
from comfyfleet.api.policy import TenantCaller, TheHouse, home_of, is_still_valid
from comfyfleet.kernel.ids import JobId
from comfyfleet.live import Cursor, Followed, Told
from comfyfleet.tenants import Caller, Scope

router = APIRouter(tags=["events"])

Reader = Annotated[Caller, Depends(TenantCaller(Scope.READ))]
LastEventId = Annotated[str | None, Header(description="The id of the last event that was read; the rest follows.")]


class NothingMore(Exception):
    """The reader has seen the end."""


async def followed_job(
    job_id: JobId, caller: Reader, house: TheHouse, last_event_id: LastEventId = None
) -> tuple[Followed, Cursor | None]:
    """Before the stream begins: afterwards there is no way to say 404."""
    home, cursor = home_of(caller), Cursor.parse(last_event_id)
    async with house.tenant_tx(home, read_only=True) as tx:
        job = await live.find_followed(tx, job_id, caller.user_id, pool=home.pool)
    if cursor is not None and cursor.stage == live.STAGE_OVER:
        raise NothingMore
    house.live.require_room(caller.user_id)
    return job, cursor


async def roomy_reader(caller: Reader, house: TheHouse) -> Caller:
    house.live.require_room(caller.user_id)
    return caller


@router.get(
    "/ai-jobs/{job_id}/events",
    response_class=EventSourceResponse,
    responses={204: {"description": "The reader has seen the end: do not connect again."}},
)
async def job_events(
    followed: Annotated[tuple[Followed, Cursor | None], Depends(followed_job)],
    caller: Reader,
    house: TheHouse,
    previews: bool = True,
) -> AsyncIterable[ServerSentEvent]:
    """One job as it happens: `status`, `queue`, `progress`, `node`, `preview`, `log`; the last is its final `status`.

    `gap` says that something was missed. Sent again with `Last-Event-ID`, at any replica, it goes on from there."""
    job, cursor = followed
    told = live.watch_job(house.live, job, cursor, still_valid=lambda: is_still_valid(house, caller), previews=previews)
    async for each in told:
        yield _sent(each)


@router.get("/events", response_class=EventSourceResponse)
async def user_events(
    caller: Annotated[Caller, Depends(roomy_reader)],
    _reader: Reader,
    house: TheHouse,
    previews: bool = False,
    last_event_id: LastEventId = None,
) -> AsyncIterable[ServerSentEvent]:
    """All of one's own jobs as they happen: each `status`, `queue`, `progress` and `node`, and `preview` on request.

    Begins with where the active ones stand; with `Last-Event-ID`, also those that ended since."""
    home = home_of(caller)
    stream = live.UserStream(
        house.live, tenant_id=home.tenant_id, user_id=caller.user_id, pool=home.pool, previews=previews
    )
    since = live.parse_mark(last_event_id)
    async for each in stream.watch(since, still_valid=lambda: is_still_valid(house, caller)):
        yield _sent(each)


def _sent(told: Told) -> ServerSentEvent:
    return ServerSentEvent(event=told.event, raw_data=told.data, id=told.id)


def install_nothing_more(app: FastAPI) -> None:
    @app.exception_handler(NothingMore)
    async def on_nothing_more(_request: Request, _nothing: NothingMore) -> Response:
        """An EventSource connects again when a stream ends, unless it is told so."""
        return Response(status_code=204)
