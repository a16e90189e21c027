"""An effect is made, changed, shown to users and taken away again."""

import math
from dataclasses import dataclass, replace
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import AlreadyExists, EffectPublished, InvalidInput, NotFound
from comfyfleet.kernel.ids import EffectId
from comfyfleet.workflows.effects import sql
from comfyfleet.workflows.effects.fit import check_fixed, check_overrides, require_assets
from comfyfleet.workflows.effects.model import Effect, NewEffect
from comfyfleet.workflows.effects.read import find_offer
from comfyfleet.workflows.model import Workflow
from comfyfleet.workflows.properties import Property
from comfyfleet.workflows.read import find_version, find_workflow
from comfyfleet.workflows.register import check_slug

CREDITS_COST_MAX = 10**12


@dataclass(frozen=True, slots=True)
class EffectChange:
    """None: stays as it is."""

    name: str | None = None
    description: str | None = None
    workflow: str | None = None
    overrides: dict[str, Any] | None = None
    fixed: frozenset[str] | None = None  # None: those that are fixed now, as far as they are still overridden
    credits_cost: int | None = None
    waits_for_worker: bool | None = None


async def add_effect(tx: ControlTx, new: NewEffect, *, workflow: str) -> Effect:
    """Unpublished: nobody sees it before its assets are there and somebody has looked at it."""
    check_slug(new.slug)
    _check_cost(new.credits_cost)
    runs = await find_workflow(tx, workflow)
    properties = await _properties(tx, runs)
    checked = check_overrides(properties, new.overrides)
    fixed = check_fixed(properties, checked, new.fixed)
    row = await tx.maybe(sql.insert_effect(replace(new, overrides=checked, fixed=fixed), runs.id))
    if row is None:
        raise AlreadyExists("effect", new.slug)
    return Effect.from_row(row)


async def change_effect(tx: ControlTx, slug: str, change: EffectChange) -> Effect:
    """A published one must stay whole."""
    effect = await hold_effect(tx, slug)
    runs = await _workflow_of(tx, effect, change.workflow)
    properties = await _properties(tx, runs)
    cost = effect.credits_cost if change.credits_cost is None else change.credits_cost
    _check_cost(cost)
    checked = check_overrides(properties, effect.overrides if change.overrides is None else change.overrides)
    fixed = check_fixed(properties, checked, effect.fixed & checked.keys() if change.fixed is None else change.fixed)
    if effect.is_published:
        require_assets(properties, checked, effect.assets)
    row = await tx.one(
        sql.change_effect(
            effect.id,
            name=effect.name if change.name is None else change.name,
            description=effect.description if change.description is None else change.description,
            workflow_id=runs.id,
            overrides=checked,
            fixed=sorted(fixed),
            credits_cost=cost,
            waits_for_worker=(effect.waits_for_worker if change.waits_for_worker is None else change.waits_for_worker),
        )
    )
    return Effect.from_row(row)


async def publish_effect(tx: ControlTx, slug: str) -> Effect:
    """From now on users see it. It must fit its workflow, and have all its assets."""
    effect = await hold_effect(tx, slug)
    properties = await _properties(tx, await _workflow_of(tx, effect, None))
    require_assets(properties, check_overrides(properties, effect.overrides), effect.assets)
    return Effect.from_row(await tx.one(sql.set_published(effect.id, is_published=True)))


async def unpublish_effect(tx: ControlTx, slug: str) -> Effect:
    """Users see it no more; jobs that were made run on."""
    effect = await hold_effect(tx, slug)
    return Effect.from_row(await tx.one(sql.set_published(effect.id, is_published=False)))


async def delete_effect(tx: ControlTx, slug: str) -> Effect:
    """Its objects stay in the store: a job that waits may still need them."""
    effect = await hold_effect(tx, slug)
    if not await tx.run(sql.delete_effect(effect.id)):
        raise EffectPublished(slug)
    return effect


async def note_timing(tx: ControlTx, effect_id: EffectId, seconds: float) -> None:
    """What its last job took. An effect that has been deleted meanwhile is fine."""
    if not math.isfinite(seconds) or seconds < 0:
        raise InvalidInput("seconds", "must be a number from 0 on")
    await tx.run(sql.note_timing(), effect=effect_id, seconds=seconds)


async def hold_effect(tx: ControlTx, slug: str) -> Effect:
    row = await tx.maybe(sql.hold_effect(slug))
    if row is None:
        raise NotFound("effect", slug)
    return Effect.from_row(row)


async def _workflow_of(tx: ControlTx, effect: Effect, changed_to: str | None) -> Workflow:
    return (await find_offer(tx, effect.slug)).workflow if changed_to is None else await find_workflow(tx, changed_to)


async def _properties(tx: ControlTx, workflow: Workflow) -> tuple[Property, ...]:
    if not workflow.version:
        raise InvalidInput("workflow", f"{workflow.slug!r} has no version: register its graph again")
    return (await find_version(tx, workflow.id, workflow.version)).properties


def _check_cost(credits_cost: int) -> None:
    if not 0 <= credits_cost <= CREDITS_COST_MAX:
        raise InvalidInput("credits_cost", f"must be from 0 to {CREDITS_COST_MAX}")
