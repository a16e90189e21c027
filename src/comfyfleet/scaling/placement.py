"""Where to launch: cheapest work first, spread over zones, past places that rest; Spot before on demand."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from comfyfleet.scaling.demand import SLACK, Fleet
from comfyfleet.scaling.model import CapacityRest, LaunchRequest, MachineClass, Market, Place, ScalingSettings


@dataclass(frozen=True, slots=True)
class LaunchLimits:
    """`capacity` is wanted, and at least `count_min` machines; at most `count_max`, for at most `money` an hour."""

    capacity: float
    count_min: int
    count_max: int
    money: float = math.inf


@dataclass(frozen=True, slots=True)
class PlacedLaunches:
    launches: tuple[LaunchRequest, ...]
    count: int
    # What ended it before the capacity was reached, if anything did.
    out_of_places: bool = False
    out_of_money: bool = False


def place_launches(
    limits: LaunchLimits, settings: ScalingSettings, fleet: Fleet, rests: Sequence[CapacityRest], at_s: float
) -> PlacedLaunches:
    resting = {rest.place for rest in rests if rest.until_s > at_s}
    tiers = _tiers(settings, resting)
    if not tiers:
        return PlacedLaunches((), 0, out_of_places=True)
    there = Counter(each.place for each in (*fleet.ready, *fleet.starting))
    counts: Counter[Place] = Counter()
    capacity, money, launched = limits.capacity, limits.money, 0
    while launched < limits.count_max and (capacity > SLACK or launched < limits.count_min):
        tier = next((each for each in tiers if (each.price or 0.0) <= money + SLACK), None)
        if tier is None:
            return PlacedLaunches(_requests(counts), launched, out_of_money=True)
        place = min(tier.places, key=lambda each: there[each])
        there[place] += 1
        counts[place] += 1
        launched += 1
        capacity -= tier.speed
        money -= tier.price or 0.0
    return PlacedLaunches(_requests(counts), launched)


@dataclass(frozen=True, slots=True)
class _Tier:
    """A class on a market, in the zones that do not rest."""

    price: float | None
    speed: float
    places: Sequence[Place]


def _tiers(settings: ScalingSettings, resting: set[Place]) -> list[_Tier]:
    found = []
    for number, each in enumerate(settings.classes):
        for offer in each.offers:
            places = [place for zone in each.zones if (place := Place(each.name, offer.market, zone)) not in resting]
            if places:
                order = (offer.market is Market.ON_DEMAND, _work_price(each, offer.price), number)
                found.append((order, _Tier(offer.price, each.speed, places)))
    return [tier for _, tier in sorted(found, key=lambda pair: pair[0])]


def _work_price(each: MachineClass, price: float | None) -> float:
    """Dollars for an hour of work at speed 1. Without prices the order of the settings decides."""
    return price / each.speed if price is not None else math.inf


def _requests(counts: Counter[Place]) -> tuple[LaunchRequest, ...]:
    return tuple(LaunchRequest(*place, count) for place, count in counts.items())
