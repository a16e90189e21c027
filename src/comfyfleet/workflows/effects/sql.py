"""Statements over effects."""

from typing import Any, Literal
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import insert_once, now
from comfyfleet.db.direct import built_once
from comfyfleet.db.tables import effects, workflow_versions, workflows
from comfyfleet.kernel.ids import EffectId, WorkflowId, new_id
from comfyfleet.workflows.effects.model import NewEffect

e, w, v = effects, workflows, workflow_versions


def insert_effect(new: NewEffect, workflow_id: WorkflowId) -> sa.Insert:
    return (
        insert_once(e)
        .values(
            id=new_id(),
            slug=new.slug,
            name=new.name,
            description=new.description,
            workflow_id=workflow_id,
            overrides=new.overrides,
            fixed_overrides=sorted(new.fixed),
            assets={},
            credits_cost=new.credits_cost,
            is_published=False,
            waits_for_worker=new.waits_for_worker,
            created_at=now(),
        )
        .returning(*e.c)
    )


def by_slug(slug: str) -> sa.Select[Any]:
    return sa.select(*e.c).where(e.c.slug == slug)


def by_slugs(slugs: list[str]) -> sa.Select[Any]:
    return sa.select(*e.c).where(e.c.slug.in_(slugs))


def hold_effect(slug: str) -> sa.Select[Any]:
    """Its assets are one value: who adds one to it must be alone."""
    return sa.select(*e.c).where(e.c.slug == slug).with_for_update()


def effect_page(*, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = sa.select(*e.c).order_by(e.c.id.desc()).limit(rows + 1)
    return page.where(e.c.id < after) if after else page


def published_page(*, after: UUID | None, rows: int) -> sa.Select[Any]:
    return effect_page(after=after, rows=rows).where(e.c.is_published)


@built_once
def offer(*, by: Literal["slug", "id"]) -> sa.Select[Any]:
    """What is asked for with every order: the effect, its workflow and the version in force, in one row. A column is
    named after its table too; a version that is not there is all empty."""
    columns = [column.label(f"{table.name}_{column.name}") for table in (e, w, v) for column in table.c]
    return (
        sa.select(*columns)
        .join(w, w.c.id == e.c.workflow_id)
        .outerjoin(v, _is_in_force())
        .where(e.c[by] == sa.bindparam("name"))
    )


def workflows_of(workflow_ids: list[WorkflowId]) -> sa.Select[Any]:
    return sa.select(*w.c).where(w.c.id.in_(workflow_ids))


def versions_in_force(workflow_ids: list[WorkflowId]) -> sa.Select[Any]:
    return sa.select(*v.c).join(w, _is_in_force()).where(w.c.id.in_(workflow_ids))


def _is_in_force() -> sa.ColumnElement[bool]:
    return sa.and_(v.c.workflow_id == w.c.id, v.c.version == w.c.version)


def change_effect(
    effect_id: EffectId,
    *,
    name: str,
    description: str,
    workflow_id: WorkflowId,
    overrides: dict[str, Any],
    fixed: list[str],
    credits_cost: int,
    waits_for_worker: bool,
) -> sa.Update:
    return (
        sa.update(e)
        .where(e.c.id == effect_id)
        .values(
            name=name,
            description=description,
            workflow_id=workflow_id,
            overrides=overrides,
            fixed_overrides=fixed,
            credits_cost=credits_cost,
            waits_for_worker=waits_for_worker,
            updated_at=now(),
        )
        .returning(*e.c)
    )


def set_published(effect_id: EffectId, *, is_published: bool) -> sa.Update:
    return sa.update(e).where(e.c.id == effect_id).values(is_published=is_published, updated_at=now()).returning(*e.c)


def set_assets(effect_id: EffectId, assets: dict[str, Any]) -> sa.Update:
    return sa.update(e).where(e.c.id == effect_id).values(assets=assets, updated_at=now()).returning(*e.c)


@built_once
def note_timing() -> sa.Update:
    seconds: sa.BindParameter[float] = sa.bindparam("seconds", type_=sa.Float())
    which = e.c.id == sa.bindparam("effect", type_=sa.Uuid())
    return sa.update(e).where(which).values(last_processing_time_seconds=seconds)


def delete_effect(effect_id: EffectId) -> sa.Delete:
    return sa.delete(e).where(e.c.id == effect_id, e.c.is_published.is_(False))
