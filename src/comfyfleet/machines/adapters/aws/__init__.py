"""Machines of AWS: Auto Scaling groups, one for each class and market of the fleet (decision 52)."""

from collections.abc import Mapping
from typing import Any

from comfyfleet.machines.adapters.aws.inspect import inspect
from comfyfleet.machines.adapters.aws.machines import AwsMachines
from comfyfleet.machines.adapters.aws.settings import check_fit, check_settings, claims

__all__ = ["AwsMachines", "build", "check_fit", "check_settings", "claims", "inspect"]


def build(fleet: str, settings: Mapping[str, Any]) -> AwsMachines:
    return AwsMachines(fleet, check_settings(settings))
