"""Whether workflows can be run: by workers that are connected, or by machines that their fleets can start."""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.fleet.able import sql
from comfyfleet.fleet.able.model import Availability, Machine, Presence, judge
from comfyfleet.fleet.model import FleetRules
from comfyfleet.fleet.needs import CapabilityBook, Needs, find_lacks, needs_of
from comfyfleet.kernel.ids import WorkflowId


async def read_availability(
    tx: ControlTx, workflow_ids: Collection[WorkflowId], *, rules: FleetRules, book: CapabilityBook | None = None
) -> dict[WorkflowId, Availability]:
    """As the rows have it now.

    A worker that signed off counts like a silent one, unless an operator must approve it again when it is back.
    """
    if not workflow_ids:
        return {}
    asked = sorted(workflow_ids)
    seen_s, with_left = rules.stale_worker_s, rules.approves_by_itself
    statements = (sql.able_by_fleet, sql.able_by_name)
    workers = [row for each in statements for row in await tx.all(each(asked, seen_s=seen_s, with_left=with_left))]
    fleets = await tx.all(sql.fleets_of(asked))
    book = book or CapabilityBook()
    await book.know(tx, {row.capability_digest for row in (*workers, *fleets)})
    needs = await needs_of(tx, asked)
    machines: dict[WorkflowId, list[Machine]] = defaultdict(list)
    for row in workers:
        _note(machines, needs, book, row, name=row.worker_id, presence=_presence(row))
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


def _presence(row: Any) -> Presence:
    if row.has_left:
        return Presence.LEFT
    return Presence.ONLINE if row.is_online else Presence.AWAY


def _name(row: Any) -> str:
    return f"{row.slug}/{row.stage}"
