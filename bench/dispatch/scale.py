"""How much to measure: all of it, or a taste in under five minutes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    name: str
    small: int  # waiting rows of the small queue
    large: int  # … and of the large one
    repetitions: int
    leases: int  # timed one by one in each repetition of the growth figures
    seconds: float  # of each throughput measurement
    snapshot_s: float
    peer_jobs: int
    pickups: int
    parked: int  # long polls that wait while a job is picked up
    idle_workers: int
    idle_s: float


FULL = Scale(
    name="full",
    small=1_000,
    large=1_000_000,
    repetitions=5,
    leases=400,
    seconds=10.0,
    snapshot_s=60.0,
    peer_jobs=8_000,
    pickups=400,
    parked=1_000,
    idle_workers=10_000,
    idle_s=60.0,
)
QUICK = Scale(
    name="quick",
    small=1_000,
    large=200_000,
    repetitions=3,
    leases=200,
    seconds=4.0,
    snapshot_s=15.0,
    peer_jobs=3_000,
    pickups=150,
    parked=1_000,
    idle_workers=2_000,
    idle_s=30.0,
)
