"""`comfyfleet workers show`: all that is known of one worker."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from comfyfleet.cli.late import Late
from comfyfleet.cli.tables import Columns, ago, print_facts, print_table, short
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest

if TYPE_CHECKING:
    from comfyfleet import dispatch, fleet
    from comfyfleet.dispatch import Attempt, ListedBlock, ListedDispatch
    from comfyfleet.fleet import WorkerDetail
    from comfyfleet.house import House
else:
    dispatch = Late("comfyfleet.dispatch")
    fleet = Late("comfyfleet.fleet")

ALL = PageRequest(rows=PAGE_ROWS_MAX)

ASSIGNMENTS: Columns = {
    "workflow": lambda each: each.workflow,
    "by": lambda each: "its fleet" if each.source == "fleet" else "its own word",
    "routed": lambda each: "yes" if each.routed else f"no: {'; '.join(each.why_not)}",
}
LEASES: Columns = {
    "id": lambda each: each.id,
    "workflow": lambda each: each.workflow,
    "tenant": lambda each: each.tenant,
    "attempt": lambda each: each.attempts,
    "expires": lambda each: ago(each.lease_expires_at),
}
BLOCKS: Columns = {
    "structure": lambda each: short(each.structure_hash),
    "workflow": lambda each: each.workflow,
    "for": lambda each: each.tenant or each.tenant_id or "all tenants",
    "failures": lambda each: each.failure_count,
    "until": lambda each: "next one is a probe" if each.half_open else ago(each.blocked_until),
}
ATTEMPTS: Columns = {
    "dispatch": lambda each: each.dispatch_id,
    "epoch": lambda each: each.epoch,
    "granted": lambda each: ago(each.granted_at),
    "ended": lambda each: ago(each.ended_at),
    "reason": lambda each: each.reason,
}


@dataclass(frozen=True)
class ShownWorker:
    detail: WorkerDetail
    leases: list[ListedDispatch]
    blocks: list[ListedBlock]
    recent_attempts: list[Attempt]


async def read_worker(house: House, name: str) -> ShownWorker:
    async with house.control_tx(read_only=True) as tx:
        detail = await fleet.show_worker(tx, name)
        row_id = detail.worker.id
        wanted = dispatch.DispatchFilter(status=dispatch.DispatchStatus.LEASED, worker_id=row_id)
        leases = (await dispatch.list_dispatches(tx, ALL, wanted)).rows
        blocks = (await dispatch.list_blocks(tx, ALL, worker_id=row_id)).rows
        return ShownWorker(detail, leases, blocks, await dispatch.attempts_of_worker(tx, row_id))


def _unwell(detail: WorkerDetail) -> list[tuple[str, str]]:
    """Those that get no jobs now. A worker may say anything."""
    said = detail.capabilities.get("unwell")
    return [(str(name), str(problem)) for name, problem in said.items()] if isinstance(said, dict) else []


def print_worker(found: ShownWorker) -> None:
    detail, worker = found.detail, found.detail.worker
    print_facts(
        {
            "worker": worker.worker_id,
            "fleet": worker.fleet,
            "status": worker.status,
            "seen": ago(worker.last_seen_at),
            "load": f"{worker.current_load} of {worker.max_concurrency}",
            "address": detail.address,
            "providers": ", ".join(detail.providers),
            "unwell servers": "; ".join(f"{name}: {problem}" for name, problem in _unwell(detail)) or None,
            "capabilities": json.dumps(detail.capabilities) if detail.capabilities else None,
            "incarnation": worker.incarnation,
            "registered": ago(worker.created_at),
        }
    )
    print_table("\nMay run", detail.assignments, ASSIGNMENTS)
    print_table("\nHolds", found.leases, LEASES)
    print_table("\nIs kept from", found.blocks, BLOCKS)
    print_table("\nLatest attempts", found.recent_attempts, ATTEMPTS)
