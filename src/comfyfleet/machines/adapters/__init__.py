"""Who provides the machines of a fleet: one adapter a provider, chosen by name in the fleet's settings."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.machines.adapters import aws, command, local
from comfyfleet.scaling import Machines, ScalingSettings

Given = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AdapterKind:
    """`check` raises InvalidInput for settings that make no sense, `check_fit` where they do not fit the fleet's.

    `claims`: what two fleets must not share. `inspect` asks the provider whether the settings are right.
    """

    check: Callable[[Given], object]
    build: Callable[[str, Given], Machines]
    check_fit: Callable[[Given, ScalingSettings], None] | None = None
    claims: Callable[[Given], frozenset[str]] | None = None
    inspect: Callable[[Given, ScalingSettings], Awaitable[None]] | None = None


ADAPTERS = {
    "aws": AdapterKind(aws.check_settings, aws.build, aws.check_fit, aws.claims, aws.inspect),
    "command": AdapterKind(command.check_settings, command.build),
    "local": AdapterKind(local.check_settings, local.build),
}


def check_adapter(name: str, settings: Given, scaling: ScalingSettings | None = None) -> None:
    """Raises InvalidInput. Asks nobody."""
    kind = _kind(name)
    kind.check(settings)
    if scaling is not None and kind.check_fit is not None:
        kind.check_fit(settings, scaling)


async def inspect_adapter(name: str, settings: Given, scaling: ScalingSettings) -> None:
    """Asks the provider. Raises InvalidInput, or an Unavailable where it cannot be asked. Never in a transaction."""
    check_adapter(name, settings, scaling)
    inspect = _kind(name).inspect
    if inspect is not None:
        await inspect(settings, scaling)


def claims_of(name: str, settings: Given) -> frozenset[str]:
    """What no other fleet may use."""
    claims = _kind(name).claims
    return claims(settings) if claims is not None else frozenset()


def build_adapter(fleet: str, name: str, settings: Given) -> Machines:
    """`fleet`: its slug and stage. Raises InvalidInput."""
    check_adapter(name, settings)
    return _kind(name).build(fleet, settings)


def _kind(name: str) -> AdapterKind:
    if name not in ADAPTERS:
        raise InvalidInput("adapter", f"there is no {name!r}; choose one of: {', '.join(sorted(ADAPTERS))}")
    return ADAPTERS[name]
