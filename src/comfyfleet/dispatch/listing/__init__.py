"""Operators look: what waits, what runs, what was tried, and who is kept from what."""

from typing import Any

from msgspec.json import decode

from comfyfleet.db import ControlTx
from comfyfleet.dispatch import sql as dispatch_sql
from comfyfleet.dispatch.lifecycle import DispatchStatus
from comfyfleet.dispatch.listing import sql
from comfyfleet.dispatch.listing.model import Attempt, DispatchDetail, DispatchFilter, ListedBlock, ListedDispatch
from comfyfleet.dispatch.waiting import sql as waiting_sql
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import DispatchId, WorkerId
from comfyfleet.kernel.page import Page, PageRequest

__all__ = [
    "Attempt",
    "DispatchDetail",
    "DispatchFilter",
    "ListedBlock",
    "ListedDispatch",
    "attempts_of_worker",
    "get_dispatch",
    "list_blocks",
    "list_dispatches",
    "read_result",
]

RECENT_ATTEMPTS = 20


async def list_dispatches(tx: ControlTx, request: PageRequest, wanted: DispatchFilter) -> Page[ListedDispatch]:
    """Newest first."""
    rows = await tx.all(
        sql.dispatch_page(
            after=request.after,
            rows=request.rows,
            status=wanted.status,
            workflow_id=wanted.workflow_id,
            tenant_id=wanted.tenant_id,
            worker_id=wanted.worker_id,
        )
    )
    return Page.cut([ListedDispatch.from_row(row) for row in rows], [row.id for row in rows], request)


async def get_dispatch(tx: ControlTx, dispatch_id: DispatchId) -> DispatchDetail:
    row = await tx.maybe(sql.dispatch_by_id(dispatch_id))
    if row is None:
        raise NotFound("dispatch", dispatch_id)
    attempts = [Attempt.from_row(each) for each in await tx.all(sql.attempts_of_dispatch(dispatch_id))]
    found = ListedDispatch.from_row(row)
    return DispatchDetail(found, await _waits_because(tx, found), attempts)


async def read_result(tx: ControlTx, dispatch_id: DispatchId, epoch: int | None = None) -> dict[str, Any]:
    """What the server itself said of this attempt's end; None: of the last that has something. Raises NotFound."""
    row = await tx.maybe(dispatch_sql.result_of(dispatch_id, epoch))
    if row is None:
        raise NotFound("result", dispatch_id if epoch is None else f"{dispatch_id}, attempt {epoch}")
    return decode(row.result_metadata, type=dict[str, Any])


async def _waits_because(tx: ControlTx, found: ListedDispatch) -> str | None:
    if found.status is not DispatchStatus.QUEUED:
        return None
    row = await tx.maybe(waiting_sql.reason_of(found.lane, found.tenant_id))
    return None if row is None else str(row.reason)


async def attempts_of_worker(tx: ControlTx, worker_id: WorkerId, *, rows: int = RECENT_ATTEMPTS) -> list[Attempt]:
    """Its latest, newest first."""
    return [Attempt.from_row(row) for row in await tx.all(sql.attempts_of_worker(worker_id, rows=rows))]


async def list_blocks(tx: ControlTx, request: PageRequest, *, worker_id: WorkerId | None = None) -> Page[ListedBlock]:
    """By worker. The rows of a page are workers, each with all its blocks."""
    found: dict[WorkerId, list[ListedBlock]] = {}
    for row in await tx.all(sql.block_page(after=request.after, rows=request.rows, worker_id=worker_id)):
        found.setdefault(row.worker_row, []).append(ListedBlock.from_row(row))
    workers = Page.cut(list(found.values()), list(found), request)
    return Page([block for blocks in workers.rows for block in blocks], workers.next_cursor)
