"""Who provides the machines of a fleet: one adapter a provider, chosen by name in the fleet's settings."""

from collections.abc import Callable, Mapping
from typing import Any

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.machines.adapters import command, local
from comfyfleet.scaling import Machines

Build = Callable[[str, Mapping[str, Any]], Machines]

# The first checks a configuration, and raises InvalidInput; the second makes an adapter of a fleet and it.
ADAPTERS: dict[str, tuple[Callable[[Mapping[str, Any]], object], Build]] = {
    "command": (command.check_settings, command.build),
    "local": (local.check_settings, local.build),
}


def check_adapter(name: str, settings: Mapping[str, Any]) -> None:
    if name not in ADAPTERS:
        raise InvalidInput("adapter", f"there is no {name!r}; choose one of: {', '.join(sorted(ADAPTERS))}")
    ADAPTERS[name][0](settings)


def build_adapter(fleet: str, name: str, settings: Mapping[str, Any]) -> Machines:
    """`fleet`: its slug and stage. Raises InvalidInput."""
    check_adapter(name, settings)
    return ADAPTERS[name][1](fleet, settings)
