"""Look effects up, with what they run."""

from collections.abc import Collection, Sequence
from types import SimpleNamespace
from typing import Any

import sqlalchemy as sa

from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import EffectUnavailable, FleetError, NotFound
from comfyfleet.kernel.ids import EffectId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.workflows.effects import sql
from comfyfleet.workflows.effects.model import Effect, Offer
from comfyfleet.workflows.model import Version, Workflow


async def find_offer(tx: ControlTx, slug: str) -> Offer:
    """Published or not: for operators."""
    row = await tx.maybe(sql.by_slug(slug))
    if row is None:
        raise NotFound("effect", slug)
    return (await _offers(tx, [Effect.from_row(row)]))[0]


async def find_published(tx: ControlTx, name: str | EffectId) -> Offer:
    """By slug or id. One that is not published is unknown to users."""
    row = await tx.maybe(sql.offer(by="slug" if isinstance(name, str) else "id"), name=name)
    if row is None or not row.effects_is_published:
        raise NotFound("effect", name)
    is_there = row.workflow_versions_workflow_id is not None
    return Offer(
        Effect.from_row(_part(row, sql.e)),
        Workflow.from_row(_part(row, sql.w)),
        Version.from_row(_part(row, sql.v)) if is_there else None,
    )


async def take_offer(tx: ControlTx, name: str | EffectId) -> tuple[Offer, Version]:
    """To make a job of it. Raises EffectUnavailable, which says why not."""
    offer = await find_published(tx, name)
    if offer.problem is not None or offer.version is None:
        raise EffectUnavailable(offer.effect.slug, str(offer.problem))
    return offer, offer.version


async def take_offers(tx: ControlTx, slugs: Collection[str]) -> dict[str, Offer | FleetError]:
    """To make jobs of them; of each that cannot be used now, why not."""
    rows = await tx.all(sql.by_slugs(sorted(slugs))) if slugs else []
    found = await _offers(tx, [Effect.from_row(row) for row in rows if row.is_published])
    taken: dict[str, Offer | FleetError] = {slug: NotFound("effect", slug) for slug in slugs}
    for offer in found:
        problem = offer.problem
        taken[offer.effect.slug] = offer if problem is None else EffectUnavailable(offer.effect.slug, problem)
    return taken


async def list_offers(tx: ControlTx, request: PageRequest, *, published_only: bool) -> Page[Offer]:
    """Newest first."""
    statement = sql.published_page if published_only else sql.effect_page
    found = [Effect.from_row(row) for row in await tx.all(statement(after=request.after, rows=request.rows))]
    return Page.cut(await _offers(tx, found), [each.id for each in found], request)


async def _offers(tx: ControlTx, found: Sequence[Effect]) -> list[Offer]:
    ids = list({each.workflow_id for each in found})
    workflows = {row.id: Workflow.from_row(row) for row in await tx.all(sql.workflows_of(ids))}
    versions = {row.workflow_id: Version.from_row(row) for row in await tx.all(sql.versions_in_force(ids))}
    return [Offer(each, workflows[each.workflow_id], versions.get(each.workflow_id)) for each in found]


def _part(row: Any, table: sa.Table) -> Any:
    """Of an offer's row, one table's own."""
    return SimpleNamespace(**{column.name: getattr(row, f"{table.name}_{column.name}") for column in table.c})
