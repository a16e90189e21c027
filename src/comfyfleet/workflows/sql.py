"""Statements over workflows and their versions."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import batch_rows, insert_once, now
from comfyfleet.db.tables import workflow_versions, workflows
from comfyfleet.kernel.ids import WorkflowId, new_id
from comfyfleet.workflows.model import NewVersion, Version

w, v = workflows, workflow_versions


def insert_workflow(new: NewVersion, *, slug: str, name: str) -> sa.Insert:
    return (
        insert_once(w)
        .values(
            id=new_id(),
            slug=slug,
            name=name,
            is_active=True,
            version=1,
            **_of_version(new),
            created_at=now(),
        )
        .returning(*w.c)
    )


def insert_version(workflow_id: WorkflowId, version: int, new: NewVersion) -> sa.Insert:
    """Of two who add at once the second one fails on the key, and nothing is written over."""
    return sa.insert(v).values(
        workflow_id=workflow_id,
        version=version,
        comfyui_workflow_path=new.path,
        graph_bytes=len(new.graph),
        content_hash=new.content_hash,
        structure_hash=new.structure_hash,
        properties=[each.as_json() for each in new.properties],
        output_node=new.output_node,
        requirements=new.requirements.as_json(),
        provider=new.provider,
        expected_s=new.expected_s,
        run_deadline_s=new.run_deadline_s,
        note=new.note,
        created_at=now(),
    )


def use_version(version: Version) -> sa.Update:
    return (
        sa.update(w)
        .where(w.c.id == version.workflow_id)
        .values(version=version.version, **_of_version(version))
        .returning(*w.c)
    )


def _of_version(version: NewVersion | Version) -> dict[str, Any]:
    """What stands with a workflow of the version in force."""
    return {
        "structure_hash": version.structure_hash,
        "properties": [each.as_json() for each in version.properties],
        "comfyui_workflow_path": version.path,
        "provider": version.provider,
        "expected_s": version.expected_s,
        "run_deadline_s": version.run_deadline_s,
    }


def hold_workflow(workflow_id: WorkflowId) -> sa.Select[Any]:
    return sa.select(*w.c).where(w.c.id == workflow_id).with_for_update()


def latest_version(workflow_id: WorkflowId) -> sa.Select[Any]:
    return sa.select(sa.func.max(v.c.version).label("version")).where(v.c.workflow_id == workflow_id)


def version(workflow_id: WorkflowId, number: int) -> sa.Select[Any]:
    return sa.select(*v.c).where(v.c.workflow_id == workflow_id, v.c.version == number)


def versions(workflow_id: WorkflowId, *, rows: int) -> sa.Select[Any]:
    return sa.select(*v.c).where(v.c.workflow_id == workflow_id).order_by(v.c.version.desc()).limit(rows)


def by_slug(slug: str) -> sa.Select[Any]:
    return sa.select(*w.c).where(w.c.slug == slug)


def by_id(workflow_id: WorkflowId) -> sa.Select[Any]:
    return sa.select(*w.c).where(w.c.id == workflow_id)


def by_slugs(slugs: list[str]) -> sa.Select[Any]:
    return sa.select(*w.c).where(w.c.slug.in_(slugs))


def workflow_page(*, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = sa.select(*w.c).order_by(w.c.id.desc()).limit(rows + 1)
    return page.where(w.c.id < after) if after else page


def set_active(workflow_id: WorkflowId, *, is_active: bool) -> sa.Update:
    return sa.update(w).where(w.c.id == workflow_id).values(is_active=is_active).returning(*w.c)


def slugs_of(ids: list[WorkflowId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in ids])
    return sa.select(w.c.id, w.c.slug).join(b, b.c.id == w.c.id)
