"""Operators look: who works, on what, since when."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from comfyfleet.db import ControlTx
from comfyfleet.fleet.fleets import get_fleet
from comfyfleet.fleet.lifecycle import WorkerStatus
from comfyfleet.fleet.listing import sql
from comfyfleet.fleet.listing.model import Assignment, FleetDetail, ListedWorker, WorkerDetail, WorkerFilter
from comfyfleet.fleet.needs import Capabilities, CapabilityBook, Needs, lacks, needs_of
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import FleetId
from comfyfleet.kernel.page import Page, PageRequest

__all__ = [
    "Assignment",
    "FleetDetail",
    "ListedWorker",
    "WorkerDetail",
    "WorkerFilter",
    "count_workers",
    "list_roster",
    "list_workers",
    "show_fleet",
    "show_worker",
]

ROSTER_MAX = 2_000

Source = Literal["fleet", "own"]


async def list_workers(tx: ControlTx, request: PageRequest, wanted: WorkerFilter) -> Page[ListedWorker]:
    """Newest first."""
    rows = await tx.all(
        sql.worker_page(after=request.after, rows=request.rows, status=wanted.status, fleet_id=wanted.fleet_id)
    )
    return Page.cut([ListedWorker.from_row(row) for row in rows], [row.id for row in rows], request)


async def list_roster(tx: ControlTx, *, since: datetime, rows: int = ROSTER_MAX) -> list[ListedWorker]:
    """By name: those that are there, and those that were since then."""
    return [ListedWorker.from_row(row) for row in await tx.all(sql.roster(since=since, rows=rows))]


async def count_workers(tx: ControlTx) -> dict[WorkerStatus, int]:
    return {WorkerStatus(row.status): row.workers for row in await tx.all(sql.counts())}


async def show_worker(tx: ControlTx, worker_id: str) -> WorkerDetail:
    row = await tx.maybe(sql.worker_by_name(worker_id))
    if row is None:
        raise NotFound("worker", worker_id)
    rows: list[tuple[Source, Any]] = [("own", each) for each in await tx.all(sql.own_assignments(row.id))]
    if row.fleet_id is not None:
        rows = [("fleet", each) for each in await tx.all(sql.assignments_of_fleet(row.fleet_id))] + rows
    return WorkerDetail(
        worker=ListedWorker.from_row(row),
        address=row.address,
        boot_id=row.boot_id,
        takeovers=row.takeovers,
        providers=row.providers,
        capabilities=row.capabilities,
        assignments=await _judged(tx, row, rows),
    )


async def show_fleet(tx: ControlTx, fleet_id: FleetId) -> FleetDetail:
    """With what it may run, and how many workers it has in each state."""
    counted = {WorkerStatus(row.status): row.workers for row in await tx.all(sql.workers_by_status(fleet_id))}
    return FleetDetail(
        fleet=await get_fleet(tx, fleet_id),
        assignments=[_assignment(row, "fleet") for row in await tx.all(sql.assignments_of_fleet(fleet_id))],
        workers={status: counted.get(status, 0) for status in WorkerStatus},
    )


async def _judged(tx: ControlTx, worker: Any, rows: Sequence[tuple[Source, Any]]) -> list[Assignment]:
    """Each with what keeps its jobs from this worker."""
    book = CapabilityBook()
    await book.know(tx, [worker.capability_digest])
    needs = await needs_of(tx, {row.id for _, row in rows})
    return [
        _assignment(row, source, needs=needs.get(row.id), has=book[worker.capability_digest], worker=worker)
        for source, row in rows
    ]


def _assignment(
    row: Any, source: Source, *, needs: Needs | None = None, has: Capabilities | None = None, worker: Any = None
) -> Assignment:
    why_not = [] if row.is_active else ["its assignment is not active"]
    if not row.workflow_is_active:
        why_not.append("the workflow is not active")
    if worker is not None and worker.status != WorkerStatus.APPROVED:
        why_not.append(f"the worker is {worker.status}")
    if needs is not None and worker is not None:
        if needs.provider not in worker.providers:
            why_not.append(f"it runs on {needs.provider}, which this worker does not offer")
        why_not += [f"the worker lacks {each}" for each in lacks(needs, has)]
    return Assignment(row.slug, source, bool(row.is_active), row.workflow_is_active, tuple(why_not))
