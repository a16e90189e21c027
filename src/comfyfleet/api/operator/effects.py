"""Effects: what users pick, made and shown by operators."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self

import anyio.to_thread
from fastapi import APIRouter, Path, Request, Response
from pydantic import Field, StrictBool
from starlette.exceptions import HTTPException

from comfyfleet import audit
from comfyfleet.api.bodies import Body, RoomyRoute, View
from comfyfleet.api.operator.policies import SEE, SLUG, Acting, Pages
from comfyfleet.api.options import ApiOptions
from comfyfleet.api.policy import TheHouse, TheOptions
from comfyfleet.api.properties import OpenPropertyView, Value
from comfyfleet.audit import Action, Actor
from comfyfleet.db import ControlTx
from comfyfleet.house import House
from comfyfleet.kernel.ids import EffectId
from comfyfleet.media.model import MEDIA_TYPES
from comfyfleet.storage import ObjectKey
from comfyfleet.workflows import MediaObject, effects
from comfyfleet.workflows.effects import CREDITS_COST_MAX, PREVIEW, EffectChange, ListedOffer, NewEffect, Offer

ASSET_ROOM_BYTES = 256 * 1024**2 + 1
OVERRIDES_MAX = 200

EffectSlug = Annotated[str, Path(pattern=SLUG)]
AssetName = Annotated[str, Path(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,99}$", description="`preview`: the gallery's.")]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Description = Annotated[str, Field(max_length=5_000)]
Slug = Annotated[str, Field(min_length=1, max_length=100)]
PropertyName = Annotated[str, Field(min_length=1, max_length=200)]
Overrides = Annotated[dict[str, Value], Field(max_length=OVERRIDES_MAX)]
Fixed = Annotated[list[PropertyName], Field(max_length=OVERRIDES_MAX, description="Names of overrides.")]
Cost = Annotated[int, Field(strict=True, ge=0, le=CREDITS_COST_MAX)]
# A route whose body is a file: its kind is said by Content-Type.
FILE_BODY = {"content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in MEDIA_TYPES}}


class AssetRoute(RoomyRoute):
    """The setting decides how much is read; this only keeps the limit for JSON away."""

    bytes_max = ASSET_ROOM_BYTES


router = APIRouter(prefix="/effects")


class AssetView(View):
    """`content_hash`: SHA-256 of its bytes."""

    mime_type: str
    size: int
    content_hash: str | None

    @classmethod
    def of(cls, asset: MediaObject) -> Self:
        return cls(mime_type=asset.media_type, size=asset.size_bytes, content_hash=asset.content_hash)


class EffectView(View):
    """`unavailable_because`: why no order of it is taken now; `misfit` and `lacks` say more: which property does not
    fit, which worker lacks which node class, weight or memory. `waits_because`: an order is taken, and why its job
    does not start soon. `waits_for_worker`: orders are taken while no worker can run it. `properties`: what users may
    set.

    `preview_url`: only where effects are read; works for some minutes.
    """

    id: EffectId
    slug: str
    name: str
    description: str
    workflow: str
    overrides: dict[str, Value]
    fixed: list[str]
    assets: dict[str, AssetView]
    preview_url: str | None
    credits_cost: int
    is_published: bool
    waits_for_worker: bool
    unavailable_because: str | None
    waits_because: str | None
    misfit: str | None
    lacks: str | None
    properties: list[OpenPropertyView]
    last_processing_time_seconds: float | None
    updated_at: datetime | None
    created_at: datetime

    @classmethod
    def of(cls, found: ListedOffer, *, preview_url: str | None = None) -> Self:
        offer, effect = found.offer, found.offer.effect
        return cls(
            id=effect.id,
            slug=effect.slug,
            name=effect.name,
            description=effect.description,
            workflow=offer.workflow.slug,
            overrides=dict(effect.overrides),
            fixed=sorted(effect.fixed),
            assets={name: AssetView.of(asset) for name, asset in effect.assets.items()},
            preview_url=preview_url,
            credits_cost=effect.credits_cost,
            is_published=effect.is_published,
            waits_for_worker=effect.waits_for_worker,
            unavailable_because=found.unavailable_because,
            waits_because=found.waits_because,
            misfit=offer.misfit,
            lacks=found.lacks,
            properties=[OpenPropertyView.model_validate(each) for each in offer.properties],
            last_processing_time_seconds=effect.last_processing_time_seconds,
            updated_at=effect.updated_at,
            created_at=effect.created_at,
        )


class EffectPage(View):
    effects: list[EffectView]
    next_cursor: str | None


class NewEffectBody(Body):
    """`overrides`: values that the effect sets in its workflow, a file by its asset's name. Users may change them, but
    for those that `fixed` names: these they neither see nor may send."""

    slug: Slug
    name: Name | None = None
    description: Description = ""
    workflow: Slug
    overrides: Overrides = Field(default_factory=dict)
    fixed: Fixed = Field(default_factory=list)
    credits_cost: Cost = 0
    waits_for_worker: StrictBool = False


class EffectChangeBody(Body):
    """What is left out or null stays as it is."""

    name: Name | None = None
    description: Description | None = None
    workflow: Slug | None = None
    overrides: Overrides | None = None
    fixed: Fixed | None = None
    credits_cost: Cost | None = None
    waits_for_worker: StrictBool | None = None


@router.get("", dependencies=SEE)
async def get_effects(house: TheHouse, options: TheOptions, page: Pages) -> EffectPage:
    """All effects, newest first, published or not."""
    async with house.control_tx(read_only=True) as tx:
        found = await effects.list_offers(tx, page, published_only=False)
        listed = await house.show_availability(tx, found.rows)
    return EffectPage(effects=await _shown(house, options, listed), next_cursor=found.next_cursor)


@router.post("", status_code=201)
async def add_effect(body: NewEffectBody, house: TheHouse, actor: Acting) -> EffectView:
    """A new effect. Users do not see it before it is published."""
    new = NewEffect(
        body.slug,
        body.name or body.slug,
        body.description,
        dict(body.overrides),
        body.credits_cost,
        waits_for_worker=body.waits_for_worker,
        fixed=frozenset(body.fixed),
    )
    async with house.control_tx() as tx:
        await effects.add_effect(tx, new, workflow=body.workflow)
        detail = {"workflow": body.workflow, "credits_cost": body.credits_cost}
        return await _recorded(house, tx, actor, Action("effect.add", body.slug, detail))


@router.get("/{effect_slug}", dependencies=SEE)
async def get_effect(effect_slug: EffectSlug, house: TheHouse, options: TheOptions) -> EffectView:
    """One effect, with what it leaves to its users, and why it cannot be used, if so."""
    async with house.control_tx(read_only=True) as tx:
        listed = await house.show_availability(tx, [await effects.find_offer(tx, effect_slug)])
    return (await _shown(house, options, listed))[0]


@router.patch("/{effect_slug}")
async def change_effect(effect_slug: EffectSlug, body: EffectChangeBody, house: TheHouse, actor: Acting) -> EffectView:
    """Change it; jobs that were made keep what they were made with. A published one must stay whole."""
    said = body.model_dump()
    change = EffectChange(**{**said, "fixed": None if body.fixed is None else frozenset(body.fixed)})
    async with house.control_tx() as tx:
        await effects.change_effect(tx, effect_slug, change)
        given = body.model_dump(exclude_none=True)
        # Overrides may be long; what it costs is worth a line.
        detail = {"changed": sorted(given), **({"credits_cost": body.credits_cost} if "credits_cost" in given else {})}
        return await _recorded(house, tx, actor, Action("effect.change", effect_slug, detail))


@router.delete("/{effect_slug}", status_code=204, response_class=Response)
async def delete_effect(effect_slug: EffectSlug, house: TheHouse, actor: Acting) -> None:
    """For good. It must be unpublished first; jobs that were made run on."""
    async with house.control_tx() as tx:
        await effects.delete_effect(tx, effect_slug)
        await audit.record_action(tx, actor, Action("effect.delete", effect_slug), signer=house.chain)


@router.post("/{effect_slug}/publish")
async def publish_effect(effect_slug: EffectSlug, house: TheHouse, actor: Acting) -> EffectView:
    """Show it to users. It must fit its workflow and have all its assets."""
    async with house.control_tx() as tx:
        await effects.publish_effect(tx, effect_slug)
        return await _recorded(house, tx, actor, Action("effect.publish", effect_slug))


@router.post("/{effect_slug}/unpublish")
async def unpublish_effect(effect_slug: EffectSlug, house: TheHouse, actor: Acting) -> EffectView:
    """Users see it no more; jobs that were made run on."""
    async with house.control_tx() as tx:
        await effects.unpublish_effect(tx, effect_slug)
        return await _recorded(house, tx, actor, Action("effect.unpublish", effect_slug))


async def put_asset(
    effect_slug: EffectSlug,
    asset_name: AssetName,
    request: Request,
    house: TheHouse,
    options: TheOptions,
    actor: Acting,
) -> EffectView:
    """A file of the effect's own, as the body; its kind is said by Content-Type. One of that name is replaced."""
    async with house.control_tx(read_only=True) as tx:
        effect = (await effects.find_offer(tx, effect_slug)).effect
    content = await _body(request, bytes_max=options.effect_asset_bytes_max)
    media_type = request.headers.get("content-type", "").split(";")[0].strip().lower()
    asset = effects.describe_asset(effect.id, content, media_type)
    await effects.keep_asset(house.store, asset, content)
    async with house.control_tx() as tx:
        await effects.put_asset(tx, effect_slug, asset_name, asset)
        detail = {"asset": asset_name, "content_hash": asset.content_hash}
        return await _recorded(house, tx, actor, Action("effect.put_asset", effect_slug, detail))


@router.delete("/{effect_slug}/assets/{asset_name}")
async def drop_asset(effect_slug: EffectSlug, asset_name: AssetName, house: TheHouse, actor: Acting) -> EffectView:
    """A published effect keeps what it names."""
    async with house.control_tx() as tx:
        await effects.drop_asset(tx, effect_slug, asset_name)
        return await _recorded(house, tx, actor, Action("effect.drop_asset", effect_slug, {"asset": asset_name}))


async def _shown(house: House, options: ApiOptions, offers: Sequence[ListedOffer]) -> list[EffectView]:
    """In a thread: a page of signatures takes its time, and S3 may renew its credentials."""

    def work() -> list[EffectView]:
        return [EffectView.of(each, preview_url=_preview_url(house, options, each.offer)) for each in offers]

    return await anyio.to_thread.run_sync(work)


def _preview_url(house: House, options: ApiOptions, offer: Offer) -> str | None:
    preview = offer.effect.assets.get(PREVIEW)
    if preview is None:
        return None
    key = ObjectKey(preview.path)
    return house.store.presign_get(key, media_type=preview.media_type, expires_s=options.url_ttl_s).url


async def _recorded(house: House, tx: ControlTx, actor: Actor, action: Action) -> EffectView:
    await audit.record_action(tx, actor, action, signer=house.chain)
    listed = await house.show_availability(tx, [await effects.find_offer(tx, str(action.subject))])
    return EffectView.of(listed[0])


async def _body(request: Request, *, bytes_max: int) -> bytes:
    found = bytearray()
    async for chunk in request.stream():
        found += chunk
        if len(found) > bytes_max:
            raise HTTPException(413)
    return bytes(found)


router.add_api_route(
    "/{effect_slug}/assets/{asset_name}",
    put_asset,
    methods=["PUT"],
    route_class_override=AssetRoute,
    openapi_extra={"requestBody": {**FILE_BODY, "required": True}},
)
