"""Is it healthy, is it full, who waits: one answer, made at most every two seconds however many ask."""

import asyncio
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

import anyio
from fastapi import APIRouter, Request

from comfyfleet import audit, fleet, notifications, tenants, workflows
from comfyfleet.api.bodies import View
from comfyfleet.api.health import Readings
from comfyfleet.api.operator.audit_alarms import AlarmView
from comfyfleet.api.operator.notifications import AlertView
from comfyfleet.api.operator.policies import SEE
from comfyfleet.api.policy import TheHouse
from comfyfleet.db import ControlTx
from comfyfleet.dispatch import figures, timeline
from comfyfleet.dispatch.figures import Ends, Waiting, busy_shares
from comfyfleet.dispatch.waiting import NO_WORKER, none_fit
from comfyfleet.fleet import ListedWorker, WorkerStatus
from comfyfleet.fleet.lifecycle import LIVE
from comfyfleet.house import House
from comfyfleet.kernel.ids import TenantId, WorkerId, WorkflowId

router = APIRouter(prefix="/overview")

HOLDS_S = 2.0
BUSY_HOLDS_S = 10.0
DAY_HOLDS_S = 60.0
HOUR_S = 3600.0
STRETCHES_OF_AN_HOUR = 60
STRETCHES_OF_A_DAY = 96
TENANTS_MAX = 50


class WaitingView(View):
    """`is_at_least`: there are more; the count ends at a bound. `oldest_s`: how long the first ones wait at most."""

    queued: int
    is_at_least: bool
    oldest_s: float | None


class WorkflowFiguresView(WaitingView):
    """`waits_because`: why nobody takes them; none while they only wait their turn."""

    workflow: str | None
    running: int
    waits_because: str | None


class TenantFiguresView(WaitingView):
    tenant_id: TenantId
    tenant: str | None


class EndsView(View):
    """Attempts that ended, in stretches of `stretch_s`, the oldest first. `by_reason`: `completed`, a class of
    failure, or why the lease went back. What went back or was cancelled is not among the `failed`."""

    begins_at: datetime
    stretch_s: float
    completed: list[int]
    failed: list[int]
    by_reason: dict[str, int]


class BusyWorkerView(View):
    """`busy_share`: how much of the last hour it had something to run."""

    worker_id: str
    fleet: str | None
    status: WorkerStatus
    open_leases: int
    max_concurrency: int
    last_seen_at: datetime
    busy_share: float


class OverviewView(View):
    """`busy_share` is that of all workers together, over the last `busy_looked_s` seconds. `firing_alerts`: those that
    operators were notified of, and that are not over."""

    at: datetime
    status: Literal["ready", "degraded", "unready"]
    parts: dict[str, str]
    workflows: list[WorkflowFiguresView]
    tenants: list[TenantFiguresView]
    delayed: int
    delayed_is_at_least: bool
    last_hour: EndsView
    last_day: EndsView
    worker_counts: dict[WorkerStatus, int]
    workers: list[BusyWorkerView]
    busy_share: float | None
    busy_looked_s: float
    parked_settlements: int
    audit_alarms: list[AlarmView]
    firing_alerts: list[AlertView]


@dataclass
class Overviews:
    """What was read last. Counting costs something, and every console asks for the same."""

    _turn: anyio.Lock = field(default_factory=anyio.Lock)
    _read_at: float = -math.inf
    _last: OverviewView | None = None
    _busy_at: float = -math.inf
    _busy: dict[WorkerId, float] = field(default_factory=dict)
    _looked_s: float = 0.0
    _day_at: float = -math.inf
    _day: Ends | None = None

    async def read(self, house: House, readings: Readings) -> OverviewView:
        async with self._turn:
            if self._last is None or time.monotonic() - self._read_at > HOLDS_S:
                self._last = await self._look(house, readings)
                self._read_at = time.monotonic()
            return self._last

    async def _look(self, house: House, readings: Readings) -> OverviewView:
        readiness = await readings.read(house)
        async with house.control_tx(read_only=True) as tx:
            queue = await figures.count_queue(tx)
            hour = await figures.count_ends(tx, stretch_s=HOUR_S / STRETCHES_OF_AN_HOUR, stretches=STRETCHES_OF_AN_HOUR)
            workers = await fleet.list_roster(tx, since=hour.begins_at)
            shares = await self._shares(tx, workers)
            counts = await fleet.count_workers(tx)
            return OverviewView(
                at=await timeline.time_now(tx),
                status=readiness.status,
                parts=readiness.parts,
                workflows=await _workflows(tx, queue),
                tenants=await _tenants(tx, queue.tenants),
                delayed=queue.delayed,
                delayed_is_at_least=queue.delayed_is_at_least,
                last_hour=EndsView.model_validate(hour),
                last_day=EndsView.model_validate(await self._of_the_day(tx)),
                worker_counts=counts,
                workers=[_worker(each, shares.get(each.id, 0.0)) for each in workers],
                busy_share=_together(workers, shares),
                busy_looked_s=self._looked_s,
                parked_settlements=await figures.count_parked(tx),
                audit_alarms=[AlarmView.model_validate(each) for each in await audit.open_alarms(tx)],
                firing_alerts=[AlertView.of(each) for each in await notifications.firing_alerts(tx)],
            )

    async def _shares(self, tx: ControlTx, workers: list[ListedWorker]) -> dict[WorkerId, float]:
        if time.monotonic() - self._busy_at > BUSY_HOLDS_S:
            spans = await figures.read_spans(tx, window_s=HOUR_S)
            slots = {each.id: each.max_concurrency for each in workers}
            # Thousands of spans: not where others wait for their answers.
            self._busy = await asyncio.to_thread(busy_shares, spans, slots)
            self._looked_s, self._busy_at = spans.looked_s, time.monotonic()
        return self._busy

    async def _of_the_day(self, tx: ControlTx) -> Ends:
        if self._day is None or time.monotonic() - self._day_at > DAY_HOLDS_S:
            stretch_s = 24 * HOUR_S / STRETCHES_OF_A_DAY
            self._day = await figures.count_ends(tx, stretch_s=stretch_s, stretches=STRETCHES_OF_A_DAY)
            self._day_at = time.monotonic()
        return self._day


@router.get("", dependencies=SEE)
async def get_overview(request: Request, house: TheHouse) -> OverviewView:
    """Depth and age of the queue by workflow and by tenant, what ended and how, how busy the workers are, and whether
    all parts answer. At most two seconds old; the figures of the whole day at most a minute."""
    overviews: Overviews = request.app.state.overviews
    return await overviews.read(house, request.app.state.readings)


async def _workflows(tx: ControlTx, queue: figures.QueueFigures) -> list[WorkflowFiguresView]:
    ids = {*queue.waiting, *queue.running}
    slugs, nobody = await workflows.slugs_of(tx, ids), Waiting()
    # Users are told after a minute. Where no worker can take it, whoever runs the place is told at once.
    reasons = queue.reasons | await _stuck(tx, queue.waiting)
    views = [
        WorkflowFiguresView(
            workflow=slugs.get(each),
            running=queue.running.get(each, 0),
            waits_because=reasons.get(each),
            **_facts(queue.waiting.get(each, nobody)),
        )
        for each in ids
    ]
    return sorted(views, key=lambda view: (-view.queued, -view.running, view.workflow or ""))


async def _stuck(tx: ControlTx, waiting: Iterable[WorkflowId]) -> dict[WorkflowId, str]:
    """Workflows whose jobs wait for a worker that is not there, or that lacks what they need."""
    candidates = await fleet.find_candidates(tx, sorted(waiting))
    able = {workflow for (workflow, _), each in candidates.items() if each.able}
    lacking = {workflow: _named(each) for (workflow, _), each in candidates.items() if each.lacking}
    return {each: lacking.get(each) or NO_WORKER for each in waiting if each not in able}


def _named(candidates: fleet.Candidates) -> str | None:
    """With the node class, the weight or the memory: this is for operators."""
    return f"{none_fit(candidates.lacked)} Missing: {candidates.missing}." if candidates.lacked else None


async def _tenants(tx: ControlTx, found: dict[TenantId, Waiting]) -> list[TenantFiguresView]:
    first = sorted(found, key=lambda each: -found[each].queued)[:TENANTS_MAX]
    slugs = await tenants.slugs_of(tx, first)
    return [TenantFiguresView(tenant_id=each, tenant=slugs.get(each), **_facts(found[each])) for each in first]


def _facts(waiting: Waiting) -> dict[str, int | bool | float | None]:
    return {"queued": waiting.queued, "is_at_least": waiting.is_at_least, "oldest_s": waiting.oldest_s}


def _worker(worker: ListedWorker, share: float) -> BusyWorkerView:
    return BusyWorkerView(
        worker_id=worker.worker_id,
        fleet=worker.fleet,
        status=worker.status,
        open_leases=worker.open_leases,
        max_concurrency=worker.max_concurrency,
        last_seen_at=worker.last_seen_at,
        busy_share=round(share, 4),
    )


def _together(workers: list[ListedWorker], shares: dict[WorkerId, float]) -> float | None:
    """By how much each can run at once; of those that are there. None: there is nobody."""
    there = [each for each in workers if each.status in LIVE]
    slots = sum(each.max_concurrency for each in there)
    return sum(shares.get(each.id, 0.0) * each.max_concurrency for each in there) / slots if slots else None
