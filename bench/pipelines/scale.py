"""How much to measure: all of it, or a taste in under four minutes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    name: str
    small: int  # candidates of the small run
    large: int  # … and of the large one
    repetitions: int
    selections: int  # timed in each repetition
    runs: int
    workers: int
    job_s: float  # that a simulated job takes
    warm_up_s: float
    seconds: float  # counted, after all workers have work


FULL = Scale("full", 100, 100_000, 5, 200, 100, 50, 5.0, 15.0, 120.0)
QUICK = Scale("quick", 100, 100_000, 3, 100, 100, 50, 5.0, 10.0, 40.0)
