"""The outbox of one pool: every job in it takes its place in the central queue."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

import structlog

from comfyfleet import dispatch, jobs, tenants
from comfyfleet.house import House
from comfyfleet.jobs import Submission
from comfyfleet.kernel.ids import DispatchId, JobId, time_of
from comfyfleet.traces.control_plane import TracedJob
from comfyfleet.upkeep.turns import take_turn

NAME = "relay_submissions"
EVERY_S = 2.0
BATCH = 200

log = structlog.get_logger()


async def tick(house: House, pool: str) -> int:
    """Read, enqueue, mark: three transactions, one after the other. Whatever happens between them, it is all done
    again, and enqueuing is once per id. A job that has ended is only marked: it must not come back to life."""
    return await _send(house, pool) or 0


@dataclass
class Sender:
    """Within this process those who send take turns, in the order they came: nobody misses what he has just begun."""

    house: House
    pool: str
    on_queued: Callable[[], None] | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def tick(self) -> int:
        async with self._turn:
            sent = await tick(self.house, self.pool)
        if sent and self.on_queued is not None:
            self.on_queued()
        return sent

    async def send_now(self, begun: Sequence[Submission], otherwise: Callable[[], None]) -> None:
        """By whoever has just begun them, and need not read them again. What cannot be sent now is left to the loop."""
        try:
            async with self._turn:
                if await _enqueue(self.house, self.pool, begun):
                    await _mark(self.house, self.pool, begun)
                    if self.on_queued is not None:
                        self.on_queued()
                    return
        except Exception as problem:
            # The outbox has them: the loop tries again, and tells if it is more than an outage.
            log.info("relay.later", pool=self.pool, problem=str(problem))
        otherwise()


async def _send(house: House, pool: str) -> int | None:
    """How many; None: another replica is at it."""
    async with house.pool_tx(pool, read_only=True) as tx:
        found = await jobs.unsent(tx, rows=BATCH)
    alive = [each for each in found if not each.job_ended]
    if alive and not await _enqueue(house, pool, alive):
        return None
    if found:
        await _mark(house, pool, found)
    return len(found)


async def _mark(house: House, pool: str, submissions: Sequence[Submission]) -> None:
    async with house.pool_tx(pool) as tx:
        await jobs.mark_sent(tx, [each.job_id for each in submissions])


async def _enqueue(house: House, pool: str, submissions: Sequence[Submission]) -> bool:
    """False: another replica is at it. Two at once would count the same jobs twice against a tenant's share."""
    begun = {each.job_id for each in submissions if each.traceparent is None} if house.traces.is_on else set()
    if begun:
        submissions = await _begin_traces(house, pool, submissions)
    async with house.queue_tx() as tx:
        if await take_turn(tx, f"{NAME}:{pool}") is None:
            return False
        weights = await tenants.weights_of(tx, {each.tenant_id for each in submissions})
        news = [jobs.to_dispatch(each, pool=pool, weight=weights.get(each.tenant_id, 1)) for each in submissions]
        placed = await dispatch.enqueue_dispatches(tx, news, rules=house.queue_rules)
    house.desk.queued(placed.values())
    if house.traces.is_on:
        _record(house, [each for each in submissions if DispatchId(each.job_id) in placed], begun)
    for each in submissions:
        house.live.changed(each.job_id)  # now it has a place that can be told
    return True


async def _begin_traces(house: House, pool: str, submissions: Sequence[Submission]) -> list[Submission]:
    """Jobs that were not ordered over HTTP: steps of runs, an operator's retries. Written down first, so that a job
    that is sent again stays in its trace."""
    made = {each.job_id: house.traces.begin() for each in submissions if each.traceparent is None}
    async with house.pool_tx(pool) as tx:
        found = await jobs.begin_traces(tx, {job_id: text for job_id, text in made.items() if text is not None})
    return [replace(each, traceparent=found.get(each.job_id, each.traceparent)) for each in submissions]


def _record(house: House, sent: Sequence[Submission], begun: Collection[JobId]) -> None:
    for each in sent:
        job = TracedJob(each.traceparent, each.job_id, each.tenant_id, each.workflow_id)
        house.traces.relayed(job, ordered_s=time_of(each.job_id), begins=each.job_id in begun)
