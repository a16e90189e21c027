"""Operators look: who works, on what, since when."""

from typing import Literal

from sqlalchemy import Executable

from comfyfleet.db import ControlTx
from comfyfleet.fleet.fleets import get_fleet
from comfyfleet.fleet.lifecycle import WorkerStatus
from comfyfleet.fleet.listing import sql
from comfyfleet.fleet.listing.model import Assignment, FleetDetail, ListedWorker, WorkerDetail, WorkerFilter
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import FleetId
from comfyfleet.kernel.page import Page, PageRequest

__all__ = [
    "Assignment",
    "FleetDetail",
    "ListedWorker",
    "WorkerDetail",
    "WorkerFilter",
    "list_workers",
    "show_fleet",
    "show_worker",
]


async def list_workers(tx: ControlTx, request: PageRequest, wanted: WorkerFilter) -> Page[ListedWorker]:
    """Newest first."""
    rows = await tx.all(
        sql.worker_page(after=request.after, rows=request.rows, status=wanted.status, fleet_id=wanted.fleet_id)
    )
    return Page.cut([ListedWorker.from_row(row) for row in rows], [row.id for row in rows], request)


async def show_worker(tx: ControlTx, worker_id: str) -> WorkerDetail:
    row = await tx.maybe(sql.worker_by_name(worker_id))
    if row is None:
        raise NotFound("worker", worker_id)
    assignments = await _assignments(tx, sql.own_assignments(row.id), "own")
    if row.fleet_id is not None:
        assignments = await _assignments(tx, sql.assignments_of_fleet(row.fleet_id), "fleet") + assignments
    return WorkerDetail(
        worker=ListedWorker.from_row(row),
        address=row.address,
        boot_id=row.boot_id,
        takeovers=row.takeovers,
        providers=row.providers,
        capabilities=row.capabilities,
        assignments=assignments,
    )


async def show_fleet(tx: ControlTx, fleet_id: FleetId) -> FleetDetail:
    """With what it may run, and how many workers it has in each state."""
    counted = {WorkerStatus(row.status): row.workers for row in await tx.all(sql.workers_by_status(fleet_id))}
    return FleetDetail(
        fleet=await get_fleet(tx, fleet_id),
        assignments=await _assignments(tx, sql.assignments_of_fleet(fleet_id), "fleet"),
        workers={status: counted.get(status, 0) for status in WorkerStatus},
    )


async def _assignments(tx: ControlTx, statement: Executable, source: Literal["fleet", "own"]) -> list[Assignment]:
    return [
        Assignment(row.slug, source, is_active=bool(row.is_active), workflow_is_active=row.workflow_is_active)
        for row in await tx.all(statement)
    ]
