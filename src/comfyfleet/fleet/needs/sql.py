"""Statements over what workflows need and workers have."""

from typing import Any

import sqlalchemy as sa

from comfyfleet.db.dialect import batch_rows, insert_once, now
from comfyfleet.db.tables import capability_lists, comfyui_workers, fleet_inventories, workflow_versions, workflows
from comfyfleet.fleet.needs.model import Said
from comfyfleet.kernel.ids import WorkerId, WorkflowId

w, v, c, i = comfyui_workers, workflow_versions, capability_lists, fleet_inventories


def keep_lists(digest: str, lists: dict[str, Any]) -> sa.Insert:
    return insert_once(c).values(digest=digest, lists=lists, created_at=now())


def lists_of(digests: list[str]) -> sa.Select[Any]:
    b = batch_rows("b", {"digest": sa.Text()}, [{"digest": each} for each in digests])
    return sa.select(c.c.digest, c.c.lists).join(b, b.c.digest == c.c.digest)


def change_capabilities(row_id: WorkerId, incarnation: int, said: Said) -> sa.Update:
    return (
        sa.update(w)
        .where(w.c.id == row_id, w.c.incarnation == incarnation)
        .values(capabilities=said.facts, capability_digest=said.digest)
        .returning(*w.c)
    )


def needs_of(workflow_ids: list[WorkflowId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in workflow_ids])
    return (
        sa.select(workflows.c.id, workflows.c.slug, workflows.c.version, v.c.provider, v.c.requirements)
        .join(b, b.c.id == workflows.c.id)
        .join(v, sa.and_(v.c.workflow_id == workflows.c.id, v.c.version == workflows.c.version))
    )


def forget_lists() -> sa.Delete:
    """Those that no worker and no fleet names any more."""
    return sa.delete(c).where(
        ~sa.exists().where(w.c.capability_digest == c.c.digest), ~sa.exists().where(i.c.capability_digest == c.c.digest)
    )
