"""What is to be simulated. Pure: the same plan and seed give the same jobs."""

import random
from dataclasses import dataclass

LATE = "late"
# Of its jobs a latecomer has at most so many: it orders one after the other.
LATE_JOBS_MAX = 50


@dataclass(frozen=True, slots=True)
class Plan:
    """`run_s`: what a job takes on average, from half of it to half as much again."""

    workers: int
    jobs: int
    tenants: int
    run_s: float
    output_bytes: int
    seed: int = 1

    def run_s_of(self, number: int) -> float:
        return round(self.run_s * random.Random(f"{self.seed}/{number}").uniform(0.5, 1.5), 3)  # noqa: S311 no secret

    def shares(self) -> dict[str, int]:
        """Jobs by tenant: the first has half of all, the others the rest, and a latecomer a few."""
        late = min(LATE_JOBS_MAX, max(1, self.jobs // 100)) if self.tenants > 1 else 0
        left = self.jobs - late
        others = self.tenants - (2 if late else 1)
        heavy = left if others <= 0 else left - left // 2
        shares = {"tenant-1": heavy}
        for number in range(others):
            shares[f"tenant-{number + 2}"] = (left - heavy) // others + (number < (left - heavy) % others)
        if late:
            shares[LATE] = late
        return shares
