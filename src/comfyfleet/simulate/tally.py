"""What happened, and what it amounts to. Pure: times come in as values, of one clock."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any

from comfyfleet.simulate.plan import LATE, Plan


@dataclass(slots=True)
class Ran:
    tenant: str
    worker: int
    ordered_at: float
    began_at: float
    ended_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """`gpu_busy_share`, `idle_p50_ms` and `idle_p99_ms` are of the time in which every worker could be at work: from
    when as many jobs had begun as there are workers, until the last one had begun. `fairness` is Jain's index over the
    GPU-seconds that tenants got while each of them had something waiting: 1 is even, 1 ÷ tenants is one for all."""

    workers: int
    jobs: int
    tenants: int
    completed: int
    failed: int
    repeated: int
    lost_leases: int
    seconds: float
    jobs_per_s: float
    orders_per_s: float
    wait_p50_s: float
    wait_p99_s: float
    late_wait_p50_s: float | None
    late_wait_p99_s: float | None
    fairness: float | None
    gpu_busy_share: float | None
    idle_p50_ms: float | None
    idle_p99_ms: float | None

    def as_json(self) -> dict[str, Any]:
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(self).items()}


@dataclass
class Tally:
    """Filled by orders and workers while they go."""

    ordered: dict[str, tuple[str, float]] = field(default_factory=dict)
    runs: dict[str, Ran] = field(default_factory=dict)
    waiting: Counter[str] = field(default_factory=Counter)
    ended: set[str] = field(default_factory=set)
    failed: int = 0
    repeated: int = 0
    lost: int = 0
    even: tuple[float, float] = (0.0, 0.0)
    even_since: float | None = None

    def order(self, job_id: str, tenant: str, at: float) -> None:
        self.ordered[job_id] = (tenant, at)
        self.waiting[tenant] += 1
        if job_id in self.runs:  # a worker was faster than the reply
            self.waiting[tenant] -= 1
            self.runs[job_id].tenant = tenant
            self.runs[job_id].ordered_at = min(at, self.runs[job_id].began_at)

    def begin(self, job_id: str, worker: int, at: float) -> None:
        tenant, ordered_at = self.ordered.get(job_id, ("", at))
        if job_id in self.runs:
            self.repeated += 1
        elif tenant:
            self.waiting[tenant] -= 1
        self.runs[job_id] = Ran(tenant, worker, ordered_at, at)

    def end(self, job_id: str, at: float) -> None:
        if job_id in self.runs:
            self.runs[job_id].ended_at = at

    def deliver(self, job_id: str, *, completed: bool) -> None:
        if job_id not in self.ended:
            self.ended.add(job_id)
            self.failed += not completed

    def look(self, tenants: Sequence[str], at: float) -> None:
        """Is there something waiting of each of them? The longest such time is what fairness is judged by."""
        if not all(self.waiting[tenant] > 0 for tenant in tenants):
            self.even_since = None
            return
        self.even_since = at if self.even_since is None else self.even_since
        if at - self.even_since > self.even[1] - self.even[0]:
            self.even = (self.even_since, at)


def figures_of(tally: Tally, plan: Plan) -> Figures:
    runs = sorted((ran for ran in tally.runs.values() if ran.ended_at), key=lambda ran: ran.began_at)
    ordered = [at for _, at in tally.ordered.values()]
    waits = sorted(ran.began_at - ran.ordered_at for ran in runs)
    late = sorted(ran.began_at - ran.ordered_at for ran in runs if ran.tenant == LATE)
    began, ended = (runs[0].began_at, max(ran.ended_at for ran in runs)) if runs else (0.0, 0.0)
    window = _full_time(runs, plan.workers)
    gaps = _gaps(runs, window) if window else []
    ordering_s = max(ordered) - min(ordered) if len(ordered) > 1 else 0.0
    return Figures(
        workers=plan.workers,
        jobs=plan.jobs,
        tenants=plan.tenants,
        completed=len(tally.ended) - tally.failed,
        failed=tally.failed,
        repeated=tally.repeated,
        lost_leases=tally.lost,
        seconds=ended - began,
        jobs_per_s=len(runs) / (ended - began) if ended > began else 0.0,
        orders_per_s=len(ordered) / ordering_s if ordering_s > 0 else 0.0,
        wait_p50_s=quantile(waits, 0.5) or 0.0,
        wait_p99_s=quantile(waits, 0.99) or 0.0,
        late_wait_p50_s=quantile(late, 0.5),
        late_wait_p99_s=quantile(late, 0.99),
        fairness=_fairness(runs, tally),
        gpu_busy_share=_busy_share(runs, window, plan.workers) if window else None,
        idle_p50_ms=_ms(quantile(gaps, 0.5)),
        idle_p99_ms=_ms(quantile(gaps, 0.99)),
    )


def quantile(ordered: Sequence[float], share: float) -> float | None:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else None


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _full_time(runs: Sequence[Ran], workers: int) -> tuple[float, float] | None:
    if len(runs) <= workers:
        return None
    first, last = runs[workers - 1].began_at, runs[-1].began_at
    return (first, last) if last > first else None


def _overlap(ran: Ran, window: tuple[float, float]) -> float:
    return max(0.0, min(ran.ended_at, window[1]) - max(ran.began_at, window[0]))


def _busy_share(runs: Sequence[Ran], window: tuple[float, float], workers: int) -> float:
    return sum(_overlap(ran, window) for ran in runs) / (workers * (window[1] - window[0]))


def _gaps(runs: Sequence[Ran], window: tuple[float, float]) -> list[float]:
    """Between a job's end and the next one's beginning on the same worker."""
    by_worker: dict[int, list[Ran]] = defaultdict(list)
    for ran in runs:
        by_worker[ran.worker].append(ran)
    return sorted(
        max(0.0, after.began_at - before.ended_at)
        for each in by_worker.values()
        for before, after in pairwise(each)
        if window[0] <= before.ended_at <= window[1]
    )


def _fairness(runs: Sequence[Ran], tally: Tally) -> float | None:
    got: defaultdict[str, float] = defaultdict(float)
    for ran in runs:
        if ran.tenant and ran.tenant != LATE:
            got[ran.tenant] += _overlap(ran, tally.even)
    squares = sum(each * each for each in got.values())
    return sum(got.values()) ** 2 / (len(got) * squares) if squares else None
