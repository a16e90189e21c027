"""Statements over workflows."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import insert_once, now
from comfyfleet.db.tables import workflows
from comfyfleet.kernel.ids import WorkflowId, new_id

# Without the graph, which is large and wanted only by whoever runs it.
LISTED = [column for column in workflows.c if column.name != "graph"]


def insert_workflow(
    *, slug: str, name: str, graph: bytes, structure_hash: str, run_deadline_s: float | None
) -> sa.Insert:
    return (
        insert_once(workflows)
        .values(
            id=new_id(),
            slug=slug,
            name=name,
            is_active=True,
            graph=graph,
            structure_hash=structure_hash,
            properties=[],
            run_deadline_s=run_deadline_s,
            created_at=now(),
        )
        .returning(*LISTED)
    )


def by_slug(slug: str) -> sa.Select[Any]:
    return sa.select(*LISTED).where(workflows.c.slug == slug)


def graph_of(workflow_id: WorkflowId) -> sa.Select[Any]:
    return sa.select(workflows.c.graph).where(workflows.c.id == workflow_id)


def by_slugs(slugs: list[str]) -> sa.Select[Any]:
    return sa.select(*LISTED).where(workflows.c.slug.in_(slugs))


def workflow_page(*, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = sa.select(*LISTED).order_by(workflows.c.id.desc()).limit(rows + 1)
    return page.where(workflows.c.id < after) if after else page


def set_active(workflow_id: WorkflowId, *, is_active: bool) -> sa.Update:
    return sa.update(workflows).where(workflows.c.id == workflow_id).values(is_active=is_active).returning(*LISTED)
