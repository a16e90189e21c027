"""How much to measure: all of it, or a taste in under four minutes."""

from dataclasses import dataclass

MB = 1_000_000
FILE_BYTES = 20 * MB
LINK_BYTES_S = 50 * MB


@dataclass(frozen=True, slots=True)
class Scale:
    name: str
    jobs_10s: int
    jobs_1s: int
    beside_10s: int  # for the seed's loop, and for the server's own queue
    beside_1s: int
    memory_jobs: int
    large_bytes: int
    drains: int


FULL = Scale(
    name="full",
    jobs_10s=60,
    jobs_1s=60,
    beside_10s=60,
    beside_1s=60,
    memory_jobs=10_000,
    large_bytes=2_000 * MB,
    drains=10,
)
QUICK = Scale(
    name="quick",
    jobs_10s=4,
    jobs_1s=12,
    beside_10s=2,
    beside_1s=5,
    memory_jobs=200,
    large_bytes=300 * MB,
    drains=2,
)
