"""The settings of upkeep, as values; and whom it tells."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from comfyfleet.kernel.ids import LaneId

# Told which lanes have something new to take, so that polls which wait there can look again.
OnQueued = Callable[[Collection[LaneId]], None]


@dataclass(frozen=True, slots=True)
class UpkeepRules:
    retention_s: float = 30 * 86_400.0


def nobody(_lanes: Collection[LaneId]) -> None:
    """For a process in which nobody waits."""
