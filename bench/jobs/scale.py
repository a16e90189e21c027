"""How much to measure: all of it, or a taste in under four minutes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    name: str
    small: int  # jobs in the small pool
    large: int  # … and in the large one
    repetitions: int
    creations: int  # timed one by one in each repetition of the growth figure
    seconds: float  # of each throughput measurement
    few: int  # jobs behind the server when its memory is first read
    many: int  # … and when it is read again
    memory_s: float  # that this may take; then it is read after fewer
    events_s: float


FULL = Scale(
    name="full",
    small=1_000,
    large=1_000_000,
    repetitions=5,
    creations=400,
    seconds=10.0,
    few=1_000,
    many=100_000,
    memory_s=2 * 3600.0,
    events_s=20.0,
)
QUICK = Scale(
    name="quick",
    small=1_000,
    large=200_000,
    repetitions=3,
    creations=150,
    seconds=4.0,
    few=1_000,
    many=10_000,
    memory_s=100.0,
    events_s=5.0,
)
