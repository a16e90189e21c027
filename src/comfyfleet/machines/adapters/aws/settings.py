"""What an operator says of the groups: which exist, and which class and market of the fleet each one holds."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from comfyfleet.aws import require_region
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.scaling import Market, ScalingSettings

GROUPS_MAX = 50
NAME_CHARS_MAX = 255
EXAMPLE = '{"region": "eu-central-1", "groups": [{"name": "gpu-spot", "class": "a10", "market": "spot"}]}'


class AwsGroup(msgspec.Struct, forbid_unknown_fields=True, frozen=True, rename={"machine_class": "class"}):
    """An Auto Scaling group. Its machines count as this class and market, whatever types its own policy picks.

    `zones`: the fleet's zones that it serves; empty: all of them.
    """

    name: str
    machine_class: str = "default"
    market: Market = Market.ON_DEMAND
    zones: tuple[str, ...] = ()


class AwsSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`launch`: how machines are asked for. `auto`: by LaunchInstances where the zone is known, which answers at once
    and is safe to repeat; else by the group's desired capacity, where AWS chooses the zone."""

    region: str
    groups: tuple[AwsGroup, ...]
    launch: Literal["auto", "launch_instances", "desired_capacity"] = "auto"
    endpoint_url: str | None = None

    def group_for(self, machine_class: str, market: Market, zone: str) -> AwsGroup | None:
        return next(
            (
                each
                for each in self.groups
                if (each.machine_class, each.market) == (machine_class, market)
                and (zone in each.zones or not each.zones)
            ),
            None,
        )


def check_settings(settings: Mapping[str, Any]) -> AwsSettings:
    """Raises InvalidInput. Asks nobody."""
    try:
        read = msgspec.convert(dict(settings), AwsSettings)
    except msgspec.ValidationError as problem:
        raise InvalidInput("adapter_settings", f"{problem}; write them such as {EXAMPLE}") from None
    try:
        require_region(read.region)
    except ValueError as problem:
        raise InvalidInput("adapter_settings.region", str(problem)) from None
    if not 1 <= len(read.groups) <= GROUPS_MAX:
        raise InvalidInput("adapter_settings.groups", f"has {len(read.groups)} entries; allowed: 1 to {GROUPS_MAX}")
    names = [each.name for each in read.groups]
    for name in names:
        if not 1 <= len(name) <= NAME_CHARS_MAX or not name.isprintable():
            raise InvalidInput(
                "adapter_settings.groups", f"has the name {name!r}; use 1 to {NAME_CHARS_MAX} characters"
            )
        if names.count(name) > 1:
            raise InvalidInput("adapter_settings.groups", f"names {name!r} twice; list each group once")
    if read.endpoint_url is not None and not read.endpoint_url.startswith(("https://", "http://")):
        raise InvalidInput("adapter_settings.endpoint_url", f"is {read.endpoint_url!r}; it must begin with https://")
    return read


def check_fit(settings: Mapping[str, Any], scaling: ScalingSettings) -> None:
    """Every place that the fleet may launch in has exactly one group. Raises InvalidInput."""
    read = check_settings(settings)
    for each in scaling.classes:
        for offer in each.offers:
            for zone in each.zones:
                _require_one(read, each.name, offer.market, zone)


def claims(settings: Mapping[str, Any]) -> frozenset[str]:
    """What no other fleet may use: two fleets on one group would end each other's machines."""
    read = check_settings(settings)
    return frozenset(f"Auto Scaling group {each.name} in {read.region}" for each in read.groups)


def _require_one(read: AwsSettings, machine_class: str, market: Market, zone: str) -> None:
    fitting = [
        each.name
        for each in read.groups
        if (each.machine_class, each.market) == (machine_class, market) and (zone in each.zones or not each.zones)
    ]
    where = f"class {machine_class!r}, market {market.value!r}" + (f", zone {zone!r}" if zone else "")
    if not fitting:
        known = ", ".join(f"{each.machine_class}/{each.market.value} in {each.name}" for each in read.groups)
        raise InvalidInput(
            "adapter_settings.groups", f"has no group for {where}; it has: {known}. Add one, or change the class"
        )
    if len(fitting) > 1:
        raise InvalidInput(
            "adapter_settings.groups", f"has {len(fitting)} groups for {where}: {', '.join(fitting)}; one is allowed"
        )
