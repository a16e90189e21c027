"""What a reader is told of all of one user's jobs: every change of state, and progress."""

import itertools
import time
from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime, timedelta

from comfyfleet.db import Database
from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.kernel.ids import JobId, TenantId, UserId
from comfyfleet.live.live import Live
from comfyfleet.live.model import STAGE_OVER, Cursor, Event, Followed, JobState, Told, Waiting
from comfyfleet.live.states import newest_jobs
from comfyfleet.live.subscription import Subscription
from comfyfleet.live.watch import CHECK_EVERY_S, StillValid, Watchman, as_json, stopping, told_event, told_waiting

LIST_EVERY_S = 10.0
LIST_AGAIN_S = 0.25  # however many jobs are made meanwhile
# Active ones and those that ended lately are among these.
NEWEST = 200
KINDS = frozenset({"progress", "node"})
# A job that ended may be committed a little later than the time that stands in it.
MARGIN = timedelta(seconds=5)
MARK_CHARS_MAX = 40


def parse_mark(text: str | None) -> datetime | None:
    """None for anything that no stream has sent."""
    if not text or len(text) > MARK_CHARS_MAX:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo is not None else None


class UserStream:
    def __init__(self, live: Live, *, tenant_id: TenantId, user_id: UserId, pool: str, previews: bool) -> None:
        self._live, self._tenant_id, self._user_id, self._pool = live, tenant_id, user_id, pool
        self._reader = Subscription(previews=previews, kinds=KINDS, home=user_id)
        self._stages: dict[JobId, int] = {}
        self._waiting: dict[JobId, Waiting | None] = {}
        self._cursors: dict[JobId, Cursor] = {}
        self._listed_at = 0.0

    async def watch(self, since: datetime | None, *, still_valid: StillValid) -> AsyncGenerator[Told, None]:
        """First where the active ones stand; with `since`, also those that ended after it."""
        with self._live.reading(self._reader, self._user_id) as reader:
            self._live.hub.listen(reader, self._user_id)
            for state in await self._list(since):
                for told in self._move(state):
                    yield told
            await self._live.catch_up()
            for told in self._replay():
                yield told
            with Watchman(still_valid, reader) as watchman:
                while not reader.closed:
                    await reader.wait(within_s=LIST_AGAIN_S if reader.hinted else CHECK_EVERY_S)
                    again = await self._list_again()
                    for told in itertools.chain(watchman.look(), self._read(again)):
                        yield told
                    if not watchman.lets_pass:
                        return
            yield stopping()

    def _read(self, listed: list[JobState]) -> Iterator[Told]:
        for event in self._reader.take_events():
            yield from self._tell(event, lost=self._reader.take_lost())
        for state in [*self._reader.take_states(), *listed]:
            yield from self._move(state)

    async def _list(self, since: datetime | None) -> list[JobState]:
        """Those that this reader has not been told of and should be, the oldest first."""
        self._listed_at, self._reader.hinted = time.monotonic(), False
        async with self._database().tenant_tx(self._tenant_id, read_only=True) as tx:
            found = await newest_jobs(tx, self._user_id, rows=NEWEST)
        chosen = []
        for state in reversed(found):
            ended_since = since is not None and state.completed_at is not None and state.completed_at > since
            if not state.is_over:
                self._live.follow(self._reader, Followed(state.job_id, self._tenant_id, self._user_id, self._pool))
                self._live.states.hint(state.job_id)
            if not state.is_over or ended_since:
                chosen.append(state)
        return chosen

    async def _list_again(self) -> list[JobState]:
        """New ones, and those that came and went between two looks."""
        ago_s = time.monotonic() - self._listed_at
        if ago_s < (LIST_AGAIN_S if self._reader.hinted else LIST_EVERY_S):
            return []
        since = datetime.now(UTC) - timedelta(seconds=LIST_EVERY_S) - 2 * MARGIN
        try:
            return [state for state in await self._list(since) if self._stages.get(state.job_id) != STAGE_OVER]
        except DatabaseUnavailable:
            return []  # asked again in a moment

    def _database(self) -> Database:
        if self._pool not in self._live.pools:
            raise DatabaseUnavailable(self._pool)
        return self._live.pools[self._pool]

    def _replay(self) -> Iterator[Told]:
        """Of each job that runs, the last that is known of it."""
        self._reader.clear_events()
        for topic in list(self._reader.topics):
            log = self._live.hub.logs.get(topic)
            latest: dict[str, Event] = {}
            for event in log.in_order() if log else ():
                if event.kind in KINDS:
                    latest[event.kind] = event
            for event in latest.values():
                yield from self._tell(event)

    def _tell(self, event: Event, *, lost: int = 0) -> Iterator[Told]:
        cursor = self._cursors.setdefault(JobId(event.topic), Cursor())
        if lost:
            yield Told("gap", as_json({"reason": "the reader was too slow"}))
        if cursor.admits(event):
            cursor.pass_by(event)
            yield Told(event.kind, told_event(event))

    def _move(self, state: JobState) -> Iterator[Told]:
        job_id = state.job_id
        if state.stage > self._stages.get(job_id, -1):
            self._stages[job_id] = state.stage
            yield Told("status", as_json(state.told()), (state.read_at - MARGIN).isoformat())
        if state.waiting is not None and state.waiting != self._waiting.get(job_id):
            yield Told("queue", as_json(told_waiting(state)))
        self._waiting[job_id] = state.waiting
        if state.is_over:
            self._forget(job_id)

    def _forget(self, job_id: JobId) -> None:
        self._live.unfollow(self._reader, job_id)
        self._waiting.pop(job_id, None)
        self._cursors.pop(job_id, None)
        # Its stage is remembered for a while, so that its end is told once; not for ever.
        while len(self._stages) > 2 * NEWEST:
            del self._stages[next(iter(self._stages))]
