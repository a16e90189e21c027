"""Whether workflows can be run: by workers that are connected, or by machines that their fleets can start."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.fleet.able import sql
from comfyfleet.fleet.able.model import Availability, Machine, Presence, judge
from comfyfleet.fleet.needs import CapabilityBook, Needs, find_lacks, needs_of
from comfyfleet.kernel.ids import WorkflowId


async def read_availability(
    tx: ControlTx, workflow_ids: Collection[WorkflowId], *, stale_s: float, book: CapabilityBook | None = None
) -> dict[WorkflowId, Availability]:
    """As the rows have it now. `stale_s`: a worker that is silent for longer is given up."""
    if not workflow_ids:
        return {}
    asked = sorted(workflow_ids)
    statements = (sql.able_by_fleet, sql.able_by_name)
    workers = [row for each in statements for row in await tx.all(each(asked, seen_s=stale_s))]
    fleets = await tx.all(sql.fleets_of(asked))
    book = book or CapabilityBook()
    await book.know(tx, {row.capability_digest for row in (*workers, *fleets)})
    needs = await needs_of(tx, asked)
    machines: dict[WorkflowId, list[Machine]] = defaultdict(list)
    for row in workers:
        presence = Presence.ONLINE if row.is_online else Presence.AWAY
        _note(machines, needs, book, row, name=row.worker_id, presence=presence)
    for row in fleets:
        if row.kind is not None:
            _note(machines, needs, book, row, name=f"the fleet {_name(row)}", presence=Presence.STARTABLE)
    return {
        each: judge(
            machines[each],
            fleets=sorted({_name(row) for row in fleets if row.workflow_id == each}),
            unseen=[
                _name(row) for row in fleets if row.workflow_id == each and row.scales_from_zero and row.kind is None
            ],
        )
        for each in asked
    }


def _note(
    machines: dict[WorkflowId, list[Machine]],
    needs: dict[WorkflowId, Needs],
    book: CapabilityBook,
    row: Any,
    *,
    name: str,
    presence: Presence,
) -> None:
    """One that said nothing of what it has is believed able; one of another provider is never asked."""
    needed = needs.get(WorkflowId(row.workflow_id))
    if needed is not None and needed.provider in row.providers:
        lacks = find_lacks(needed, book[row.capability_digest])
        machines[WorkflowId(row.workflow_id)].append(Machine(name, presence, lacks))


def _name(row: Any) -> str:
    return f"{row.slug}/{row.stage}"
