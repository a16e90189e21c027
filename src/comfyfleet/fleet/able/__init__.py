"""Which workers could run a workflow, if they had nothing else to do."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field

from comfyfleet.db import ControlTx
from comfyfleet.fleet.able import sql
from comfyfleet.fleet.able.model import nearest, words_of
from comfyfleet.fleet.able.sql import SEEN_WITHIN_S
from comfyfleet.fleet.needs import CapabilityBook, Lack, find_lacks, needs_of
from comfyfleet.kernel.ids import WorkerId, WorkflowId

Routing = tuple[WorkflowId, str]  # a workflow and a provider


@dataclass(frozen=True, slots=True)
class Candidates:
    """Workers that may run it: those that can, and what the others lack."""

    able: set[WorkerId] = field(default_factory=set)
    lacking: dict[WorkerId, tuple[Lack, ...]] = field(default_factory=dict)

    @property
    def lacked(self) -> str | None:
        """What the one lacks that comes nearest, in words for users; none where one can run it or none may."""
        return words_of(self.lacking.values()) if self.lacking and not self.able else None

    @property
    def missing(self) -> str:
        """The same by name, for operators."""
        return "; ".join(lack.text for lack in nearest(self.lacking.values())) if self.lacking else ""


async def find_candidates(
    tx: ControlTx,
    workflow_ids: Collection[WorkflowId],
    *,
    seen_s: float = SEEN_WITHIN_S,
    book: CapabilityBook | None = None,
) -> dict[Routing, Candidates]:
    """Approved and heard of lately, by what they may run: their fleet's active assignments and their own."""
    found: dict[Routing, Candidates] = defaultdict(Candidates)
    if not workflow_ids:
        return found
    statements = (sql.able_by_fleet, sql.able_by_name)
    rows = [
        row for each in statements for row in await tx.all(each(sorted(workflow_ids), seen_s=seen_s, with_left=False))
    ]
    book = book or CapabilityBook()
    await book.know(tx, {row.capability_digest for row in rows})
    needs = await needs_of(tx, {WorkflowId(row.workflow_id) for row in rows})
    for row in rows:
        needed = needs.get(WorkflowId(row.workflow_id))
        missing = find_lacks(needed, book[row.capability_digest]) if needed else ()
        for provider in row.providers:
            candidates = found[WorkflowId(row.workflow_id), str(provider)]
            if missing:
                candidates.lacking[WorkerId(row.id)] = missing
            else:
                candidates.able.add(WorkerId(row.id))
    return found


async def able_workers(
    tx: ControlTx,
    workflow_ids: Collection[WorkflowId],
    *,
    seen_s: float = SEEN_WITHIN_S,
    book: CapabilityBook | None = None,
) -> dict[Routing, set[WorkerId]]:
    """Those that may and can."""
    found = await find_candidates(tx, workflow_ids, seen_s=seen_s, book=book)
    return defaultdict(set, {routing: each.able for routing, each in found.items()})
