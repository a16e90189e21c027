"""What a reader is told of all of one user's jobs and runs: every change of state, and progress."""

import itertools
import time
from collections.abc import AsyncGenerator, Iterable, Iterator
from datetime import UTC, datetime, timedelta

from comfyfleet.db import Database
from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.kernel.ids import JobId, RunId, TenantId, UserId
from comfyfleet.live.live import Live
from comfyfleet.live.model import (
    NODE,
    OFFERS,
    PROGRESS,
    STAGE_OVER,
    WALLET,
    Cursor,
    Event,
    Followed,
    JobState,
    Told,
    Waiting,
)
from comfyfleet.live.runs import RunState, newest_runs, read_runs
from comfyfleet.live.states import newest_jobs
from comfyfleet.live.subscription import Subscription
from comfyfleet.live.watch import CHECK_EVERY_S, StillValid, Watchman, as_json, stopping, told_event, told_waiting

LIST_EVERY_S = 10.0
LIST_AGAIN_S = 0.25  # however many jobs are made meanwhile
# Active ones and those that ended lately are among these.
NEWEST = 200
NEWEST_RUNS = 50
RUNS_AGAIN_S = 0.1  # however many of its jobs end meanwhile
NOTICES_AGAIN_S = 0.5  # however many webhooks are sent meanwhile
KINDS = frozenset({PROGRESS, NODE, WALLET})
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


def _is_after(at: datetime | None, since: datetime | None) -> bool:
    return at is not None and since is not None and at > since


class UserStream:
    def __init__(self, live: Live, *, tenant_id: TenantId, user_id: UserId, pool: str, previews: bool) -> None:
        self._live, self._tenant_id, self._user_id, self._pool = live, tenant_id, user_id, pool
        notices = {OFFERS: "effects", tenant_id: "delivery"}
        self._reader = Subscription(previews=previews, kinds=KINDS, home=user_id, notices=notices)
        self._stages: dict[JobId, int] = {}
        self._waiting: dict[JobId, Waiting | None] = {}
        self._cursors: dict[JobId, Cursor] = {}
        self._runs: dict[RunId, RunState] = {}
        self._listed_at = self._runs_read_at = self._noticed_at = 0.0

    async def watch(self, since: datetime | None, *, still_valid: StillValid) -> AsyncGenerator[Told, None]:
        """First where the active ones stand; with `since`, also those that ended after it."""
        with self._live.reading(self._reader, self._user_id) as reader:
            for topic in (self._user_id, *reader.notices):
                self._live.hub.listen(reader, topic)
            for state in await self._list(since):
                for told in self._move(state):
                    yield told
            for run in await self._list_runs():
                for told in self._move_run(run, is_new=run.ended_at is None or _is_after(run.ended_at, since)):
                    yield told
            await self._live.catch_up()
            for told in self._replay():
                yield told
            with Watchman(still_valid, reader) as watchman:
                while not reader.closed:
                    await reader.wait(within_s=self._patience_s())
                    listed = self._lists_again()
                    again = await self._list_again() if listed else []
                    runs = await self._look_at_runs(whole=listed)
                    for told in itertools.chain(watchman.look(), self._read(again), self._move_runs(runs)):
                        yield told
                    if not watchman.lets_pass:
                        return
            yield stopping()

    def _read(self, listed: list[JobState]) -> Iterator[Told]:
        if time.monotonic() - self._noticed_at >= NOTICES_AGAIN_S and (notices := self._reader.take_notices()):
            self._noticed_at = time.monotonic()
            yield from (Told(notice, as_json({})) for notice in notices)
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
            ended_since = _is_after(state.completed_at, since)
            if not state.is_over:
                self._live.follow(self._reader, Followed(state.job_id, self._tenant_id, self._user_id, self._pool))
                self._live.states.hint(state.job_id)
            if not state.is_over or ended_since:
                chosen.append(state)
        return chosen

    def _patience_s(self) -> float:
        if self._reader.hinted_runs:
            return RUNS_AGAIN_S
        if self._reader.is_noticed:
            return NOTICES_AGAIN_S
        return LIST_AGAIN_S if self._reader.hinted else CHECK_EVERY_S

    def _lists_again(self) -> bool:
        return time.monotonic() - self._listed_at >= (LIST_AGAIN_S if self._reader.hinted else LIST_EVERY_S)

    async def _list_again(self) -> list[JobState]:
        """New ones, and those that came and went between two looks."""
        since = datetime.now(UTC) - timedelta(seconds=LIST_EVERY_S) - 2 * MARGIN
        try:
            return [state for state in await self._list(since) if self._stages.get(state.job_id) != STAGE_OVER]
        except DatabaseUnavailable:
            return []  # asked again in a moment

    # ── runs ──

    async def _list_runs(self) -> list[RunState]:
        """The newest, which are listened to from now on; those that newer ones pushed out are not any more."""
        async with self._database().tenant_tx(self._tenant_id, read_only=True) as tx:
            found = await newest_runs(tx, self._user_id, rows=NEWEST_RUNS)
        newest = {run.run_id for run in found}
        for gone in [each for each in self._runs if each not in newest]:
            self._reader.runs.discard(gone)
            self._live.hub.leave(self._reader, gone)
            del self._runs[gone]
        for run_id in newest - self._reader.runs:
            self._reader.runs.add(run_id)
            self._live.hub.listen(self._reader, run_id)
            # It may have changed before anybody listened.
            self._reader.hinted_runs.add(run_id)
        return found

    async def _look_at_runs(self, *, whole: bool) -> list[RunState]:
        """Those that were hinted at; now and then all, for the case that a hint was lost."""
        hinted = self._reader.hinted_runs
        if not whole and (not hinted or time.monotonic() - self._runs_read_at < RUNS_AGAIN_S):
            return []
        self._runs_read_at, self._reader.hinted_runs = time.monotonic(), set()
        try:
            if whole:
                return await self._list_runs()
            async with self._database().tenant_tx(self._tenant_id, read_only=True) as tx:
                return await read_runs(tx, self._user_id, [RunId(each) for each in hinted])
        except DatabaseUnavailable:
            self._reader.hinted_runs |= hinted
            return []  # asked again in a moment

    def _move_runs(self, runs: Iterable[RunState]) -> Iterator[Told]:
        for run in runs:
            yield from self._move_run(run, is_new=self._runs.get(run.run_id) != run)

    def _move_run(self, run: RunState, *, is_new: bool) -> Iterator[Told]:
        self._runs[run.run_id] = run
        if is_new:
            yield Told("run", as_json(run.told()))

    def _database(self) -> Database:
        if self._pool not in self._live.pools:
            raise DatabaseUnavailable(self._pool)
        return self._live.pools[self._pool]

    def _replay(self) -> Iterator[Told]:
        """Of each job that runs, the last that is known of it. That tokens were added once is no state: not again."""
        self._reader.clear_events()
        for topic in list(self._reader.topics):
            log = self._live.hub.logs.get(topic)
            latest: dict[str, Event] = {}
            for event in log.in_order() if log else ():
                if event.kind in KINDS and event.kind != WALLET:
                    latest[event.kind] = event
            for event in latest.values():
                yield from self._tell(event)

    def _tell(self, event: Event, *, lost: int = 0) -> Iterator[Told]:
        cursor = self._cursors.setdefault(JobId(event.topic), Cursor())
        if lost:
            yield Told("gap", as_json({"reason": "the reader was too slow"}))
        if cursor.admits(event):
            cursor.pass_by(event)
            yield Told(event.kind, as_json({}) if event.kind == WALLET else told_event(event))

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
