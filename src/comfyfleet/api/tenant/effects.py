"""The effects that users may pick, with all that a form and a price tag need."""

from collections.abc import Sequence
from typing import Annotated, Self

import anyio.to_thread
from fastapi import APIRouter, Depends, Path

from comfyfleet.api.bodies import View, page_request
from comfyfleet.api.options import ApiOptions
from comfyfleet.api.policy import TenantCaller, TheHouse, TheOptions
from comfyfleet.api.properties import OpenPropertyView
from comfyfleet.house import House
from comfyfleet.kernel.ids import EffectId
from comfyfleet.kernel.page import PageRequest
from comfyfleet.storage import ObjectKey, ObjectStore
from comfyfleet.tenants import Scope
from comfyfleet.workflows import Property, effects
from comfyfleet.workflows.effects import PREVIEW, ListedOffer

router = APIRouter(prefix="/effects", tags=["effects"], dependencies=[Depends(TenantCaller(Scope.READ))])

EffectSlug = Annotated[str, Path(pattern=r"^[a-z0-9]([a-z0-9-]{0,98}[a-z0-9])?$")]


class OfferView(View):
    """`credits_cost`: tokens a job. `estimated_seconds`: what its last job took, or is expected to take.

    `unavailable_because`: why no order of it is taken now. `waits_because`: an order is taken, and why its job does not
    start soon; `starts_worker`: a machine is started for it. `preview_url` works for some minutes.
    """

    id: EffectId
    slug: str
    name: str
    description: str
    credits_cost: int
    estimated_seconds: float
    unavailable_because: str | None
    waits_because: str | None
    starts_worker: bool
    preview_url: str | None
    preview_mime_type: str | None
    properties: list[OpenPropertyView]

    @classmethod
    def of(cls, found: ListedOffer, store: ObjectStore, *, url_ttl_s: int) -> Self:
        offer, effect = found.offer, found.offer.effect
        preview = effect.assets.get(PREVIEW)
        signed = preview and store.presign_get(
            ObjectKey(preview.path), media_type=preview.media_type, expires_s=url_ttl_s
        )
        return cls(
            id=effect.id,
            slug=effect.slug,
            name=effect.name,
            description=effect.description,
            credits_cost=effect.credits_cost,
            estimated_seconds=offer.estimate_s,
            unavailable_because=found.unavailable_because,
            waits_because=found.waits_because,
            starts_worker=found.starts_worker,
            preview_url=signed.url if signed else None,
            preview_mime_type=preview.media_type if preview else None,
            properties=[_open_property(each) for each in offer.properties],
        )


def _open_property(prop: Property) -> OpenPropertyView:
    """What an effect works on is needed, whatever its workflow says: a form should ask for it."""
    view = OpenPropertyView.model_validate(prop)
    return view.model_copy(update={"required": view.required or view.is_primary_input})


class OfferPage(View):
    effects: list[OfferView]
    next_cursor: str | None


@router.get("")
async def get_offers(
    house: TheHouse, options: TheOptions, page: Annotated[PageRequest, Depends(page_request)]
) -> OfferPage:
    """Everything published, newest first."""
    async with house.control_tx(read_only=True) as tx:
        found = await effects.list_offers(tx, page, published_only=True)
        listed = await house.show_availability(tx, found.rows)
    return OfferPage(effects=await _shown(house, options, listed), next_cursor=found.next_cursor)


@router.get("/{effect_slug}")
async def get_offer(effect_slug: EffectSlug, house: TheHouse, options: TheOptions) -> OfferView:
    """One effect: what it takes, what it costs, how it looks."""
    async with house.control_tx(read_only=True) as tx:
        listed = await house.show_availability(tx, [await effects.find_published(tx, effect_slug)])
    return (await _shown(house, options, listed))[0]


async def _shown(house: House, options: ApiOptions, offers: Sequence[ListedOffer]) -> list[OfferView]:
    """In a thread: a page of signatures takes its time, and S3 may renew its credentials."""

    def work() -> list[OfferView]:
        return [OfferView.of(each, house.store, url_ttl_s=options.url_ttl_s) for each in offers]

    return await anyio.to_thread.run_sync(work)
