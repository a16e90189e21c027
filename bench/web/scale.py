"""How much to measure: all of it, or a taste in under four minutes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    name: str
    jobs: int
    pictures: int
    workers: int
    blocks: int
    repetitions: int
    seconds: float  # that frames are counted


FULL = Scale("full", 100_000, 1_000, 200, 50_000, 7, 6.0)
QUICK = Scale("quick", 100_000, 1_000, 200, 50_000, 3, 3.0)
