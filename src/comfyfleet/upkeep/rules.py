"""The settings of upkeep, as values."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UpkeepRules:
    retention_s: float = 30 * 86_400.0
