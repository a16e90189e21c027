"""The stories behind the routes of jobs: an effect is ordered, a job is cancelled. Each spans both databases."""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from fastapi import Request

from comfyfleet import dispatch, jobs, pipelines, tenants, workflows
from comfyfleet.api.background import wake_relay, wake_webhooks
from comfyfleet.dispatch import settlements
from comfyfleet.house import House
from comfyfleet.jobs import Job, Placed, Submission
from comfyfleet.kernel.errors import FleetError, IllegalMove
from comfyfleet.kernel.ids import CandidateId, DispatchId, EffectId, JobId, RunId, UserId, VideoId
from comfyfleet.pipelines import Candidate, Run
from comfyfleet.tenants import Home
from comfyfleet.traces.control_plane import OpenOrder, TracedJob


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a user asks for, as it was sent; `effect` by its slug or id.

    `given_digest`: of a request whose words change while it is served, such as one that brings a file along.
    `traceparent`: the customer's trace, which this order goes on.
    """

    home: Home
    user_id: UserId
    effect: str | EffectId
    properties: dict[str, Any] = field(default_factory=dict)
    video_id: VideoId | None = None
    idempotency_key: str | None = None
    priority: int = 0
    webhook_url: str | None = None
    given_digest: str | None = None
    traceparent: str | None = None

    @property
    def digest(self) -> str:
        return self.given_digest or jobs.digest_request(
            self.effect, self.video_id, self.properties, self.priority, self.webhook_url
        )

    @property
    def wish(self) -> jobs.Wish:
        return jobs.Wish(
            self.user_id,
            self.digest,
            properties=self.properties,
            video_id=self.video_id,
            idempotency_key=self.idempotency_key,
            priority=self.priority,
            webhook_url=self.webhook_url,
            traceparent=self.traceparent,
        )


def rules_for(house: House, home: Home) -> jobs.JobRules:
    return house.job_rules.of_tenant(home.priority_max)


async def order(house: House, wanted: Wanted) -> Placed:
    """What was ordered before under the same key is given again, even if it could not be ordered today."""
    with house.traces.ordering(wanted.traceparent) as span:
        placed = await _order(house, replace(wanted, traceparent=span.traceparent))
        _tell_span(span, placed)
    return placed


def _tell_span(span: OpenOrder, placed: Placed) -> None:
    job = placed.job
    span.job_id, span.tenant_id, span.workflow_id = job.id, job.tenant_id, job.workflow_id
    span.effect, span.replayed = job.effect_slug, placed.replayed


async def _order(house: House, wanted: Wanted) -> Placed:
    try:
        prepared = await _prepare(house, wanted)
    except FleetError:
        before = await ordered_before(house, wanted)
        if before is None:
            raise
        return Placed(before, replayed=True)
    async with house.tenant_tx(wanted.home) as tx:
        placed = await jobs.place_order(
            tx,
            prepared,
            rules=rules_for(house, wanted.home),
            webhook_secret=house.webhook_secret(wanted.home.tenant_id),
        )
    _count(house, placed)
    return placed


def _count(house: House, placed: Placed) -> None:
    if not placed.replayed:
        jobs.count_new(house.facts.note, [placed.job])


async def _prepare(house: House, wanted: Wanted) -> jobs.Order:
    async with house.control_tx(read_only=True) as tx:
        offer, version = await house.take_runnable(tx, wanted.effect)
    graph = await workflows.read_graph(house.store, version)
    reported = await house.reported_file_inputs()
    rules = rules_for(house, wanted.home)
    return jobs.prepare_order(wanted.wish, offer, version, graph, rules=rules, reported=reported)


async def ordered_before(house: House, wanted: Wanted) -> Job | None:
    async with house.tenant_tx(wanted.home, read_only=True) as tx:
        return await jobs.find_ordered(tx, wanted.user_id, wanted.idempotency_key, wanted.digest)


async def retry(
    house: House,
    home: Home,
    job_id: JobId,
    user_id: UserId,
    idempotency_key: str | None,
    *,
    traceparent: str | None = None,
) -> Placed:
    """As an order: what was tried again under the same key is given again; else the effect must be there to be had."""
    with house.traces.ordering(traceparent) as span:
        placed = await _retry(house, home, job_id, user_id, idempotency_key, span.traceparent)
        _tell_span(span, placed)
    return placed


async def _retry(
    house: House, home: Home, job_id: JobId, user_id: UserId, idempotency_key: str | None, traceparent: str | None
) -> Placed:
    try:
        await require_offered(house, home, job_id, user_id)
    except FleetError:
        async with house.tenant_tx(home, read_only=True) as tx:
            before = await jobs.find_retried(tx, job_id, user_id, idempotency_key)
        if before is None:
            raise
        return Placed(before, replayed=True)
    async with house.tenant_tx(home) as tx:
        placed = await jobs.retry_order(
            tx,
            job_id,
            user_id,
            idempotency_key=idempotency_key,
            rules=rules_for(house, home),
            traceparent=traceparent,
        )
    _count(house, placed)
    return placed


async def require_offered(house: House, home: Home, job_id: JobId, user_id: UserId) -> None:
    """A job that no worker can run would wait, paid for, until its time is over. Raises EffectUnavailable."""
    async with house.tenant_tx(home, read_only=True) as tx:
        job = await jobs.read_job(tx, job_id, user_id)
    if job.effect_id is not None:
        async with house.control_tx(read_only=True) as control:
            await house.take_runnable(control, job.effect_id)


def wake_after(request: Request, house: House, placed: Placed, pool: str) -> None:
    """Whoever carries it on, and whoever watches its user's jobs."""
    if not placed.replayed:
        house.live.changed(placed.job.id, user_id=placed.job.user_id)
        wake_relay(request, pool)
        wake_webhooks(request, pool)


async def cancel(house: House, home: Home, job_id: JobId, user_id: UserId) -> Job:
    """Waiting: over and refunded when this returns. Running: its worker hears of it with what it reports next."""
    async with house.tenant_tx(home) as tx:
        job, submission = await jobs.request_cancel(tx, job_id, user_id)
    if submission is None:
        return job
    began_s, owed = time.time(), await _withdraw(house, home, submission)
    house.desk.cancelled(DispatchId(job_id))
    if owed is not None:
        async with house.tenant_tx(home) as tx:
            applied = await pipelines.apply_settlement(tx, owed)
        jobs.count_ended(house.facts.note, applied.ended)
        async with house.control_tx() as tx:
            await settlements.mark_applied(tx, [owed.id])
        house.live.changed_runs(applied.runs)
        if applied.ended:
            traced = TracedJob(owed.traceparent, job_id, home.tenant_id, job.workflow_id)
            house.traces.settled(traced, owed.outcome.value, began_s=began_s)
    house.live.changed(job_id)
    async with house.tenant_tx(home, read_only=True) as tx:
        return await jobs.read_job(tx, job_id, user_id)


async def reject(house: House, home: Home, candidate_id: CandidateId, user_id: UserId) -> tuple[Candidate, int]:
    """It and its branch; what waits below it is over and refunded when this returns. With it, how many went."""
    async with house.tenant_tx(home) as tx:
        candidate, gone, unwanted = await pipelines.reject_candidate(tx, candidate_id, user_id)
    await _cancel_each(house, home, unwanted, user_id)
    return candidate, gone


async def stop(house: House, home: Home, run_id: RunId, user_id: UserId) -> Run:
    """For good: what waits is over and refunded when this returns; what runs is told."""
    async with house.tenant_tx(home) as tx:
        _, unwanted = await pipelines.stop_run(tx, run_id, user_id)
    await _cancel_each(house, home, unwanted, user_id)
    async with house.tenant_tx(home, read_only=True) as tx:
        return await pipelines.read_run(tx, run_id, user_id)


async def _cancel_each(house: House, home: Home, unwanted: Sequence[JobId], user_id: UserId) -> None:
    for job_id in unwanted:
        # One that ended in the meantime needs nothing.
        with suppress(IllegalMove):
            await cancel(house, home, job_id, user_id)


async def _withdraw(house: House, home: Home, submission: Submission) -> settlements.Settlement | None:
    """A job that the relay has not carried over takes its place and leaves it again in one transaction: so the relay,
    if it comes later, finds it over, and no worker ever sees it."""
    dispatch_id = DispatchId(submission.job_id)
    async with house.control_tx() as tx:
        weights = await tenants.weights_of(tx, {home.tenant_id})
        new = jobs.to_dispatch(submission, pool=home.pool, weight=weights.get(home.tenant_id, 1))
        await dispatch.enqueue_dispatches(tx, [new], rules=house.queue_rules)
        await dispatch.cancel_dispatch(tx, dispatch_id)
        # Taken before anybody else can see it: two who settle one job would stand in each other's way.
        return await settlements.claim_settlement(tx, dispatch_id)
