"""What a day came to."""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

HOUR_S = 3600.0
DECILES = 10


@dataclass(slots=True)
class Sample:
    """The fleet at one moment, for the plots."""

    at_s: float
    ready: int
    busy: int
    starting: int
    waiting: int
    desired: int


@dataclass(slots=True)
class DayTally:
    """Counted while the day runs."""

    waits: dict[int, "array[float]"] = field(default_factory=dict)  # by tenant
    gpu_s: dict[int, float] = field(default_factory=dict)  # by tenant
    jobs: int = 0
    completed: int = 0
    failed: int = 0  # for a reason of the user's
    exhausted: int = 0  # after the last attempt: lost to the user
    switches: int = 0
    busy_s: float = 0.0
    starting_s: float = 0.0
    wasted_s: float = 0.0  # runs that were cut short
    retries: int = 0  # attempts that a fault or a vanished machine spent
    requeues: int = 0  # given back with notice: no attempt is spent
    ended_with_lease: int = 0  # machines that a policy terminated while they held a lease: must be 0
    launches: int = 0
    launch_errors: int = 0
    interruptions: int = 0
    decisions: int = 0
    holds: Counter[str] = field(default_factory=Counter)
    samples: list[Sample] = field(default_factory=list)

    def waited(self, tenant: int, wait_s: float) -> None:
        waits = self.waits.get(tenant)
        if waits is None:
            waits = self.waits[tenant] = array("f")
        waits.append(wait_s)


@dataclass(frozen=True, slots=True)
class Waits:
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True)
class DayFigures:
    """One policy's day. Hours are GPU-hours; `deciles` are waits by tenant, those who use most first."""

    policy: str
    paid_h: float
    busy_h: float
    idle_h: float
    starting_h: float
    dollars: float
    jobs: int
    completed: int
    failed: int
    lost: int
    unfinished: int
    waits: Waits
    deciles: tuple[Waits, ...]
    fairness: float | None
    switches_per_job: float
    launches: int
    launch_errors: int
    interruptions: int
    requeues: int
    retries: int
    wasted_h: float
    ended_with_lease: int
    decisions_per_hour: float
    holds: dict[str, int]
    cpu_s: float
    jobs_per_cpu_s: float
    samples: tuple[Sample, ...]

    def as_json(self, *, samples: bool = False) -> dict[str, Any]:
        facts = asdict(self)
        if not samples:
            del facts["samples"]
        return facts


def waits_of(waits: Sequence[float]) -> Waits:
    ordered = sorted(waits)
    if not ordered:
        return Waits(0.0, 0.0, 0.0)

    def at(share: float) -> float:
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    return Waits(at(0.5), at(0.95), at(0.99))


def figures_of(
    policy: str, tally: DayTally, *, paid_s: float, dollars: float, lasts_s: float, unfinished: int, cpu_s: float
) -> DayFigures:
    paid_h, busy_h, starting_h = paid_s / HOUR_S, tally.busy_s / HOUR_S, tally.starting_s / HOUR_S
    everyone: array[float] = array("f")
    for waits in tally.waits.values():
        everyone.extend(waits)
    return DayFigures(
        policy=policy,
        paid_h=paid_h,
        busy_h=busy_h,
        idle_h=max(0.0, paid_h - busy_h - starting_h),
        starting_h=starting_h,
        dollars=dollars,
        jobs=tally.jobs,
        completed=tally.completed,
        failed=tally.failed,
        lost=tally.exhausted,
        unfinished=unfinished,
        waits=waits_of(everyone),
        deciles=_deciles(tally),
        fairness=_fairness(tally),
        switches_per_job=tally.switches / max(1, tally.completed),
        launches=tally.launches,
        launch_errors=tally.launch_errors,
        interruptions=tally.interruptions,
        requeues=tally.requeues,
        retries=tally.retries,
        wasted_h=tally.wasted_s / HOUR_S,
        ended_with_lease=tally.ended_with_lease,
        decisions_per_hour=tally.decisions / (lasts_s / HOUR_S),
        holds=dict(tally.holds),
        cpu_s=cpu_s,
        jobs_per_cpu_s=tally.completed / cpu_s if cpu_s > 0 else 0.0,
        samples=tuple(tally.samples),
    )


def _deciles(tally: DayTally) -> tuple[Waits, ...]:
    """Each tenth of the tenants together; with fewer than ten tenants, all in one."""
    ranked = sorted(tally.waits, key=lambda tenant: -len(tally.waits[tenant]))
    if len(ranked) < DECILES:
        return ()
    found = []
    for decile in range(DECILES):
        part: array[float] = array("f")
        for tenant in ranked[decile * len(ranked) // DECILES : (decile + 1) * len(ranked) // DECILES]:
            part.extend(tally.waits[tenant])
        found.append(waits_of(part))
    return tuple(found)


def _fairness(tally: DayTally) -> float | None:
    """Jain's index over what tenants got for their waiting: GPU time ÷ (GPU time + time waited). 1 is even."""
    shares = []
    for tenant, gpu_s in tally.gpu_s.items():
        waited_s = sum(tally.waits.get(tenant, ()))
        shares.append(gpu_s / (gpu_s + waited_s) if gpu_s + waited_s > 0 else 1.0)
    if len(shares) < 2:
        return None
    squares = sum(each * each for each in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else None
