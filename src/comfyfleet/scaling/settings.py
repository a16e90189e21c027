"""Which settings of a fleet make sense. An error names the field, the value and what is allowed."""

import math

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.scaling.model import MachineClass, ScalingSettings

WORKERS_MAX = 100_000
CLASSES_MAX = 50
ZONES_MAX = 100
SECONDS_MAX = 86_400.0
PRICE_MAX = 10_000.0
WINDOW_S_MIN, WINDOW_S_MAX = 10.0, 3600.0
SPEED_MIN, SPEED_MAX = 0.01, 1_000.0


def check_settings(settings: ScalingSettings) -> ScalingSettings:
    """Returns them unchanged, or raises `InvalidInput`."""
    _between("min_workers", settings.min_workers, 0, WORKERS_MAX)
    _between("max_workers", settings.max_workers, 0, WORKERS_MAX)
    if settings.min_workers > settings.max_workers:
        raise InvalidInput(
            "min_workers",
            f"is {settings.min_workers}, but max_workers is {settings.max_workers}; lower one or raise the other",
        )
    _between("buffer", settings.buffer, 0, WORKERS_MAX)
    _between("target_wait_s", settings.target_wait_s, 1.0, SECONDS_MAX)
    _between("first_start_s", settings.first_start_s, 1.0, SECONDS_MAX)
    _between("load_window_s", settings.load_window_s, WINDOW_S_MIN, WINDOW_S_MAX)
    if settings.down_delay_s is not None:
        _between("down_delay_s", settings.down_delay_s, 0.0, SECONDS_MAX)
    _check_classes(settings)
    if settings.budget_per_hour is not None:
        _check_budget(settings, settings.budget_per_hour)
    return settings


def _check_classes(settings: ScalingSettings) -> None:
    if not settings.classes:
        raise InvalidInput("classes", "is empty; name at least one class of machine")
    if len(settings.classes) > CLASSES_MAX:
        raise InvalidInput("classes", f"has {len(settings.classes)} entries, at most {CLASSES_MAX} are allowed")
    names = [each.name for each in settings.classes]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput("classes", f"names {twice[0]!r} twice; list each class once")
    for each in settings.classes:
        _check_class(each)


def _check_class(each: MachineClass) -> None:
    where = f"classes.{each.name or '?'}"
    if not each.name.strip():
        raise InvalidInput("classes", "has a class without a name")
    _between(f"{where}.speed", each.speed, SPEED_MIN, SPEED_MAX)
    if each.memory_gb is not None:
        _between(f"{where}.memory_gb", each.memory_gb, 0.1, 100_000.0)
    if not each.offers:
        raise InvalidInput(f"{where}.offers", "is empty; name at least one of: spot, on_demand")
    markets = [offer.market for offer in each.offers]
    if len(set(markets)) < len(markets):
        raise InvalidInput(f"{where}.offers", "names a market twice; list each market once")
    for offer in each.offers:
        if offer.price is not None:
            _between(f"{where}.{offer.market.value}.price", offer.price, 0.0, PRICE_MAX)
    if not 1 <= len(each.zones) <= ZONES_MAX or len(set(each.zones)) < len(each.zones):
        raise InvalidInput(f"{where}.zones", f"needs 1 to {ZONES_MAX} different zones; leave it out if there are none")


def _check_budget(settings: ScalingSettings, budget: float) -> None:
    _between("budget_per_hour", budget, 0.0, 1e9)
    for each in settings.classes:
        for offer in each.offers:
            if offer.price is None:
                raise InvalidInput(
                    f"classes.{each.name}.{offer.market.value}.price",
                    f"is missing, but budget_per_hour is {budget:g}; give the price per hour or remove the budget",
                )
    dear = math.inf
    for each in settings.classes:
        dear = min(dear, *(offer.price for offer in each.offers if offer.price is not None))
    if settings.min_workers * dear > budget:
        raise InvalidInput(
            "budget_per_hour",
            f"is {budget:g}, but {settings.min_workers} workers at {dear:g} cost at least"
            f" {settings.min_workers * dear:g}; raise it or lower min_workers",
        )


def _between(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:  # also refuses nan
        raise InvalidInput(name, f"is {value:g}; allowed: {least:g} to {most:g}")
