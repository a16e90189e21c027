"""How much to simulate."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    name: str
    seeds: tuple[int, ...]
    day_scale: float  # of 10,000 GPUs
    day_hours: float
    day_seeds: tuple[int, ...]
    asks: int  # orders into an empty fleet of a live server


FULL = Scale("full", (1, 2, 3, 4, 5), 0.05, 24.0, (1, 2, 3, 4, 5), 9)
QUICK = Scale("quick", (1, 2, 3, 4, 5), 0.05, 3.0, (1, 2, 3, 4, 5), 5)
