"""Which workers could run a workflow, if they had nothing else to do."""

from collections import defaultdict
from collections.abc import Collection

from comfyfleet.db import ControlTx
from comfyfleet.fleet.able import sql
from comfyfleet.kernel.ids import WorkerId, WorkflowId

# Silent for longer, a worker is not counted on; it polls and sends heartbeats far more often.
SEEN_WITHIN_S = 180.0

Routing = tuple[WorkflowId, str]  # a workflow and a provider


async def able_workers(
    tx: ControlTx, workflow_ids: Collection[WorkflowId], *, seen_s: float = SEEN_WITHIN_S
) -> dict[Routing, set[WorkerId]]:
    """Approved and heard of lately, by what they may run: their fleet's active assignments and their own."""
    found: dict[Routing, set[WorkerId]] = defaultdict(set)
    if not workflow_ids:
        return found
    for statement in (sql.able_by_fleet, sql.able_by_name):
        for row in await tx.all(statement(sorted(workflow_ids), seen_s=seen_s)):
            for provider in row.providers:
                found[WorkflowId(row.workflow_id), str(provider)].add(WorkerId(row.id))
    return found
