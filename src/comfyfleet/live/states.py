"""What the databases say of the jobs that are watched here: read for all of them together, and told when it changed.

Hints only make it look sooner. Whoever misses them all still learns within two seconds.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from comfyfleet import fleet
from comfyfleet.db import ControlTx, Database, PoolTx, TenantTx
from comfyfleet.db.dialect import batch
from comfyfleet.dispatch.lifecycle import NOT_BEGUN, DispatchStatus
from comfyfleet.dispatch.lifecycle import ON_ITS_SERVER as QUEUED_THERE
from comfyfleet.dispatch.waiting import NO_WORKER, is_of_workers
from comfyfleet.fleet import FleetRules
from comfyfleet.fleet.able import Routing
from comfyfleet.jobs.lifecycle import JobStatus
from comfyfleet.kernel.errors import DatabaseUnavailable, NotFound
from comfyfleet.kernel.ids import JobId, UserId, WorkerId, WorkflowId
from comfyfleet.live import sql
from comfyfleet.live.model import Followed, JobState, Waiting

LOOK_EVERY_S = 2.0
# Hints that come in a flood share a look: it rests for twice as long as it took, and so takes a third of the time.
REST = 2.0
REST_S_MAX = 0.02
BATCH = 500
AHEAD_MAX = 1_000

TAKEN = "A worker has taken it and prepares it."
BEHIND = "A worker has taken it; it waits there behind another job."
ON_ITS_SERVER = "A worker has taken it; it waits in the queue of its ComfyUI."

log = structlog.get_logger()


async def find_followed(tx: TenantTx, job_id: JobId, user_id: UserId, *, pool: str) -> Followed:
    """Only its owner may watch it; to anybody else there is no such job."""
    row = await tx.maybe(sql.job_of(job_id, user_id))
    if row is None:
        raise NotFound("job", job_id)
    return Followed(row.id, row.tenant_id, row.user_id, pool)


async def newest_jobs(tx: TenantTx, user_id: UserId, *, rows: int) -> list[JobState]:
    """A user's newest, newest first."""
    return [_state(row) for row in await tx.all(sql.newest_of(user_id, rows=rows))]


class States:
    def __init__(
        self, central: Database, pools: Mapping[str, Database], *, rules: FleetRules, tell: Callable[[JobState], None]
    ) -> None:
        self._central, self._pools, self._tell = central, pools, tell
        self._rules = rules
        self._followed: Counter[JobId] = Counter()
        self._pool_of: dict[JobId, str] = {}
        self._told: dict[JobId, JobState] = {}
        self._unsure: set[JobId] = set()
        self._hinted = asyncio.Event()

    def follow(self, job: Followed) -> None:
        self._followed[job.job_id] += 1
        self._pool_of[job.job_id] = job.pool

    def unfollow(self, job_id: JobId) -> None:
        self._followed[job_id] -= 1
        if self._followed[job_id] <= 0:
            for kept in (self._followed, self._pool_of, self._told):
                kept.pop(job_id, None)

    def hint(self, job_id: JobId) -> None:
        if job_id in self._followed:
            self._unsure.add(job_id)
            self._hinted.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            try:
                async with asyncio.timeout(LOOK_EVERY_S):
                    await self._hinted.wait()
            except TimeoutError:
                self._unsure |= self._followed.keys()
            self._hinted.clear()
            unsure, self._unsure = self._unsure, set()
            began = time.monotonic()
            try:
                await self.look(unsure)
            except DatabaseUnavailable as problem:
                log.warning("live.look_put_off", problem=str(problem))
            except Exception:
                log.exception("live.look_failed")
            await asyncio.sleep(min(REST * (time.monotonic() - began), REST_S_MAX))

    async def look(self, job_ids: Collection[JobId]) -> dict[JobId, JobState]:
        """Those that changed are told to everybody who watches them. A pool that is away keeps nobody else waiting."""
        found: dict[JobId, JobState] = {}
        for pool in {self._pool_of[each] for each in job_ids if each in self._pool_of}:
            chosen = [each for each in job_ids if self._pool_of.get(each) == pool]
            try:
                for first in range(0, len(chosen), BATCH):
                    found |= await self.read(pool, chosen[first : first + BATCH])
            except DatabaseUnavailable as problem:
                log.warning("live.pool_away", pool=pool, problem=str(problem))
        for job_id, state in found.items():
            told = self._told.get(job_id)
            if job_id in self._followed and (told is None or replace(told, read_at=state.read_at) != state):
                self._told[job_id] = state
                self._tell(state)
        return found

    async def read(self, pool: str, job_ids: Sequence[JobId]) -> dict[JobId, JobState]:
        """As the databases of this pool and of the queue have them now."""
        if pool not in self._pools:
            raise DatabaseUnavailable(pool)
        async with self._pools[pool].pool_tx(read_only=True) as tx:
            rows = await _watched(tx, job_ids)
        states = {row.id: _state(row) for row in rows}
        alive = [row for row in rows if not states[row.id].is_over]
        if alive:
            async with self._central.control_tx(read_only=True) as tx:
                states |= await _placed(tx, alive, states, rules=self._rules)
        return states


async def _watched(tx: PoolTx, job_ids: Sequence[JobId]) -> Sequence[Any]:
    return await tx.all(sql.watched_jobs(), rows=batch([{"id": each} for each in job_ids]))


async def _placed(
    tx: ControlTx, rows: Sequence[Any], states: Mapping[JobId, JobState], *, rules: FleetRules
) -> dict[JobId, JobState]:
    """The queue knows first that a job runs, and how long one waits that does not. One that waits on its worker behind
    another has not begun."""
    statement = sql.places(ahead_max=AHEAD_MAX)
    places = {row.id: row for row in await tx.all(statement, rows=batch([{"id": row.id} for row in rows]))}
    queued = [row for row in rows if row.id in places and places[row.id].status == DispatchStatus.QUEUED]
    paces = await _paces(tx, queued, rules=rules) if queued else NO_PACES
    placed: dict[JobId, JobState] = {}
    for row in rows:
        if row.id not in places:
            continue
        if places[row.id].status == DispatchStatus.LEASED:
            placed[row.id] = _leased(states[row.id], places[row.id])
        elif places[row.id].status == DispatchStatus.QUEUED:
            placed[row.id] = replace(states[row.id], waiting=_waiting(row, places[row.id], paces))
    return placed


@dataclass(frozen=True, slots=True)
class _Paces:
    """`past_s`: what jobs took; `able`: who could run them; `absent`: why nobody could, in words for users."""

    past_s: Mapping[WorkflowId, float]
    able: Mapping[Routing, Collection[WorkerId]]
    absent: Mapping[WorkflowId, str]


NO_PACES = _Paces({}, {}, {})


async def _paces(tx: ControlTx, queued: Sequence[Any], *, rules: FleetRules) -> _Paces:
    workflow_ids = sorted({row.workflow_id for row in queued})
    past = {row.workflow_id: float(row.past_s) for row in await tx.all(sql.past_times(workflow_ids))}
    able = await fleet.able_workers(tx, workflow_ids)
    nobody = {row.workflow_id for row in queued if not able.get((row.workflow_id, row.provider))}
    found = await fleet.read_availability(tx, nobody, rules=rules)
    return _Paces(past, able, {each: text for each in nobody if (text := found[each].waits or found[each].problem)})


def _waiting(row: Any, place: Any, paces: _Paces) -> Waiting:
    slots = len(paces.able.get((row.workflow_id, row.provider), ()))
    because = None if is_of_workers(place.reason) else place.reason
    if not slots:
        because = _sentence(paces.absent.get(row.workflow_id)) or NO_WORKER
    found = waiting(place.ahead, paces.past_s.get(row.workflow_id) or row.expected_s, slots)
    return replace(found, because=because, deadline_at=place.queue_deadline_at)


def _leased(state: JobState, place: Any) -> JobState:
    if state.status is JobStatus.PROCESSING or place.service_status not in NOT_BEGUN:
        return replace(state, status=JobStatus.PROCESSING)
    because = BEHIND if place.behind else ON_ITS_SERVER if place.service_status == QUEUED_THERE else TAKEN
    return replace(state, waiting=Waiting(0, False, None, because=because))


def _sentence(text: str | None) -> str | None:
    return None if text is None else f"{text[0].upper()}{text[1:]}."


def waiting(ahead: int, each_s: float, slots: int) -> Waiting:
    """As if all of them were busy now: what is ahead, and itself, shared among those who can run it."""
    start_s = round(each_s * (ahead + 1) / slots, 1) if slots else None
    return Waiting(ahead, ahead >= AHEAD_MAX, start_s)


def _state(row: Any) -> JobState:
    return JobState(
        job_id=row.id,
        status=JobStatus(row.status),
        error_message=row.error_message,
        error_class=row.error_class,
        created_at=row.created_at,
        started_at=row.started_at,
        completed_at=row.completed_at,
        read_at=row.read_at,
    )
