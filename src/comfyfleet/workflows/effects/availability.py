"""Can the workers run what is offered? Asked when effects are shown, and again before one is sold."""

from collections.abc import Collection, Mapping, Sequence

from comfyfleet.db import ControlTx
from comfyfleet.fleet import Availability, AvailabilityPicture, FleetRules
from comfyfleet.kernel.errors import EffectUnavailable, FleetError
from comfyfleet.kernel.ids import EffectId, WorkflowId
from comfyfleet.workflows.effects.model import ListedOffer, Offer
from comfyfleet.workflows.effects.read import take_offer, take_offers
from comfyfleet.workflows.model import Version

UNKNOWN = Availability(None)


async def show_availability(
    tx: ControlTx, offers: Sequence[Offer], picture: AvailabilityPicture, *, rules: FleetRules
) -> list[ListedOffer]:
    found = await picture.read(tx, _asked(offers), rules=rules)
    return [ListedOffer(each, found.get(each.workflow.id, UNKNOWN)) for each in offers]


async def take_runnable(
    tx: ControlTx, name: str | EffectId, picture: AvailabilityPicture, *, rules: FleetRules
) -> tuple[Offer, Version]:
    """To make a job of it. Raises EffectUnavailable also where no worker can run it, now or later."""
    offer, version = await take_offer(tx, name)
    if not offer.effect.waits_for_worker:
        _require(offer, await picture.read(tx, _asked([offer]), rules=rules))
    return offer, version


async def take_runnables(
    tx: ControlTx, slugs: Collection[str], picture: AvailabilityPicture, *, rules: FleetRules
) -> dict[str, Offer | FleetError]:
    """To make jobs of them; of each that cannot be used or run now, why not."""
    taken = await take_offers(tx, slugs)
    choosy = [each for each in taken.values() if isinstance(each, Offer) and not each.effect.waits_for_worker]
    found = await picture.read(tx, _asked(choosy), rules=rules)
    for offer in choosy:
        try:
            _require(offer, found)
        except EffectUnavailable as problem:
            taken[offer.effect.slug] = problem
    return taken


def _require(offer: Offer, found: Mapping[WorkflowId, Availability]) -> None:
    availability = found[offer.workflow.id]
    if not availability.can_run:
        raise EffectUnavailable(offer.effect.slug, str(availability.problem))


def _asked(offers: Sequence[Offer]) -> dict[WorkflowId, int]:
    return {each.workflow.id: each.workflow.version for each in offers if each.version is not None}
