"""What a reader is told of one job: where it stands, what was missed, then all as it happens, and how it ended."""

import asyncio
import itertools
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Self

import msgspec

from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.live.live import Live
from comfyfleet.live.model import STAGE_OVER, Cursor, Event, Followed, JobState, Told, Waiting
from comfyfleet.live.subscription import Subscription

# A revoked credential must not go on listening.
CHECK_EVERY_S = 3.0
# A proxy gives up on a connection on which nothing comes. An event and no comment: a browser shows comments to nobody,
# and a page that hears nothing cannot tell a quiet server from a dead connection.
PING_EVERY_S = 15.0
PING = "ping"
StillValid = Callable[[], Awaitable[bool]]
_encode = msgspec.json.Encoder().encode


async def watch_job(
    live: Live, job: Followed, cursor: Cursor | None, *, still_valid: StillValid, previews: bool = True
) -> AsyncGenerator[Told, None]:
    """Ends with the status in which the job ended; or with `stopping`; or when the credential does."""
    story = _Story(job, cursor or Cursor())
    with live.reading(Subscription(previews=previews), job.user_id) as reader:
        live.follow(reader, job)
        state, _ = await asyncio.gather(_first_state(live, job), live.catch_up())
        if cursor is not None and any(not live.knows(origin) for origin in cursor.seen):
            yield story.gap("a replica is gone, and what it had not passed on")
        for told in [*story.move(state), *story.replay(live, reader, previews=previews)]:
            yield told
        with Watchman(still_valid, reader) as watchman:
            while not story.is_over:
                await reader.wait(within_s=CHECK_EVERY_S)
                for told in itertools.chain(watchman.look(), story.read(reader)):
                    yield told
                if reader.closed:
                    yield stopping()
                if reader.closed or not watchman.lets_pass:
                    return
        # What came with the end, or just before it.
        for told in [*story.read(reader), story.end()]:
            yield told


async def _first_state(live: Live, job: Followed) -> JobState | None:
    return (await live.states.look([job.job_id])).get(job.job_id)


class _Story:
    """What one reader has been told."""

    def __init__(self, job: Followed, cursor: Cursor) -> None:
        self._job, self._cursor = job, cursor
        self._state: JobState | None = None
        self._waiting: Waiting | None = None

    @property
    def is_over(self) -> bool:
        return self._state is not None and self._state.is_over

    def replay(self, live: Live, reader: Subscription, *, previews: bool) -> Iterator[Told]:
        """All that is remembered and new to this reader; what came meanwhile is among it."""
        reader.clear_events()
        log = live.hub.logs.get(self._job.job_id)
        for event in list(log.in_order()) if log else []:
            # A frame of a job that is over is no news: there is a result.
            if not event.is_preview or (previews and not self.is_over):
                yield from self.tell(event)

    def read(self, reader: Subscription) -> Iterator[Told]:
        for event in reader.take_events():
            yield from self.tell(event, lost=reader.take_lost())
        for state in reader.take_states():
            yield from self.move(state)

    def tell(self, event: Event, *, lost: int = 0) -> Iterator[Told]:
        if not self._cursor.admits(event):
            return
        if lost or self._cursor.misses(event):
            yield self.gap("the reader was too slow" if lost else "more came than is kept")
        self._cursor.pass_by(event)
        yield Told(event.kind, told_event(event), str(self._cursor))

    def move(self, state: JobState | None) -> Iterator[Told]:
        """The end is told last of all, by `end`."""
        if state is None or self.is_over:
            return
        self._state = state
        if state.stage > self._cursor.stage and not state.is_over:
            self._cursor.stage = state.stage
            yield Told("status", as_json(state.told()), str(self._cursor))
        if state.waiting is not None and state.waiting != self._waiting:
            yield Told("queue", as_json(told_waiting(state)))
        self._waiting = state.waiting

    def end(self) -> Told:
        self._cursor.stage = STAGE_OVER
        return Told("status", as_json(self._state.told() if self._state else {}), str(self._cursor))

    def gap(self, reason: str) -> Told:
        return Told("gap", as_json({"reason": reason}))


class Watchman:
    """Asks now and then whether the reader may still read, and shows it that the stream lives.

    It asks beside the stream: no event waits for a database.
    """

    def __init__(self, still_valid: StillValid, reader: Subscription) -> None:
        self._still_valid, self._reader = still_valid, reader
        self._asked_at = self._pinged_at = time.monotonic()
        self._asking: asyncio.Task[None] | None = None
        self.lets_pass = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._asking is not None:
            self._asking.cancel()

    def look(self) -> Iterator[Told]:
        now = time.monotonic()
        if now - self._asked_at >= CHECK_EVERY_S and (self._asking is None or self._asking.done()):
            self._asked_at = now
            self._asking = asyncio.create_task(self._ask())
        if now - self._pinged_at >= PING_EVERY_S:
            self._pinged_at = now
            yield Told(PING, json.dumps({}))

    async def _ask(self) -> None:
        with suppress(DatabaseUnavailable):  # asked again in a moment
            self.lets_pass = await self._still_valid()
        if not self.lets_pass:
            self._reader.wake()


def told_event(event: Event) -> str:
    at = datetime.fromtimestamp(event.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f'{{"job_id":"{event.topic}","at":"{at}","data":{event.data.decode()}}}'


def told_waiting(state: JobState) -> dict[str, Any]:
    waiting = state.waiting
    if waiting is None:
        return {"job_id": str(state.job_id)}
    return {
        "job_id": str(state.job_id),
        "position": waiting.ahead + 1,
        "position_is_at_least": waiting.ahead_is_more,
        "estimated_start_s": waiting.estimated_start_s,
        "waits_because": waiting.because,
        "deadline_at": waiting.deadline_at,
    }


def stopping() -> Told:
    return Told("stopping", json.dumps({}))


def as_json(facts: dict[str, Any]) -> str:
    return _encode(facts).decode()
