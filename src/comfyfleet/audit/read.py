"""Look into the audit log, newest first."""

from uuid import UUID

from comfyfleet.audit import sql
from comfyfleet.audit.model import Entry, RecordedEvent, WorkerEventName
from comfyfleet.db import ControlTx, TenantTx
from comfyfleet.kernel.ids import DispatchId
from comfyfleet.kernel.page import Page, PageRequest

SEQ_MAX = 2**63 - 1


async def list_actions(tx: ControlTx, request: PageRequest) -> Page[Entry]:
    rows = await tx.all(sql.action_page(before=_seq(request), rows=request.rows))
    return _page([Entry.from_row(row) for row in rows], request)


async def actions_since(tx: ControlTx, seq: int | None) -> tuple[int, set[str]]:
    """How long the chain is now, and the names of what was done since it was `seq` long; with None, only the first."""
    if seq is None:
        head = await tx.maybe(sql.head())
        return (head.seq if head else 0), set()
    rows = await tx.all(sql.names_after(seq))
    return max([seq, *(row.seq for row in rows)]), {row.action for row in rows}


async def list_tenant_actions(tx: TenantTx, request: PageRequest) -> Page[Entry]:
    rows = await tx.all(sql.tenant_action_page(before=_seq(request), rows=request.rows))
    return _page([Entry.from_row(row) for row in rows], request)


async def list_worker_events(
    tx: ControlTx, request: PageRequest, *, worker_id: str | None = None, dispatch_id: DispatchId | None = None
) -> Page[RecordedEvent]:
    statement = sql.worker_event_page(
        worker_id=worker_id, dispatch_id=dispatch_id, after=request.after, rows=request.rows
    )
    rows = await tx.all(statement)
    return Page.cut([RecordedEvent.from_row(row) for row in rows], [row.id for row in rows], request)


async def recent_block_events(tx: ControlTx, *, seconds: float) -> list[RecordedEvent]:
    """Workers that were kept from a workflow lately, or let back."""
    names = [WorkerEventName.BLOCKED_WORKFLOW.value, WorkerEventName.UNBLOCKED_WORKFLOW.value]
    return [RecordedEvent.from_row(row) for row in await tx.all(sql.worker_events_since(seconds=seconds, names=names))]


def _page(entries: list[Entry], request: PageRequest) -> Page[Entry]:
    """A cursor holds an id; a chain has numbers, and a number fits into one."""
    return Page.cut(entries, [UUID(int=entry.seq) for entry in entries], request)


def _seq(request: PageRequest) -> int | None:
    # A cursor that somebody made up may hold more than a number of a row: then every row comes before it.
    return min(request.after.int, SEQ_MAX) if request.after is not None else None
