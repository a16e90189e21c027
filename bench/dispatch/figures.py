"""The figures, each from its measurements: repetitions interleaved, medians compared."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from rich.progress import Progress

from bench.dispatch import peers
from bench.dispatch.embedded import EmbeddedQueue
from bench.dispatch.engine import EngineDrain
from bench.dispatch.fairness import Tenants
from bench.dispatch.ground import Ground
from bench.dispatch.growth import Cost, Queue, typical
from bench.dispatch.raw import RawDrain
from bench.dispatch.scale import Scale
from bench.dispatch.scrape import scraped
from bench.dispatch.served import Idle, serve
from bench.dispatch.snapshot import lease_p50_ms
from bench.report import Report
from bench.turns import Measure, interleaved
from tests.server import free_port

TENANTS = 1_000
FAIR_BATCHES = 10
RAW_WAITING, ENGINE_WAITING = 150_000, 200_000
IDLE_TARGET = 10_000

T = TypeVar("T")


@dataclass(frozen=True)
class Bench:
    ground: Ground
    scale: Scale
    report: Report
    progress: Progress

    async def interleaved(self, what: str, measures: dict[str, Measure[T]]) -> dict[str, list[T]]:
        return await interleaved(self.progress, what, measures, repetitions=self.scale.repetitions)


async def lease_growth(bench: Bench) -> None:
    ground, scale = bench.ground, bench.scale
    sizes = {"small": scale.small, "large": scale.large}
    queues = {f"match_{name}": Queue.match(ground, f"match_{name}", rows) for name, rows in sizes.items()}
    queues |= {f"adverse_{name}": Queue.adverse(ground, f"adverse_{name}", rows) for name, rows in sizes.items()}

    def measured(queue: Queue) -> Measure[Cost]:
        return lambda: queue.measure(scale.leases)

    found = await bench.interleaved("lease growth", {name: measured(queue) for name, queue in queues.items()})
    costs = {name: typical(each) for name, each in found.items()}
    bench.report.ratio("lease_growth", costs["match_large"].compared, costs["match_small"].compared)
    bench.report.ratio("lease_growth_adverse", costs["adverse_large"].compared, costs["adverse_small"].compared)
    _list_costs(bench.report, "lease", costs)
    bench.report.notes.append(
        f"lease growth: median server CPU of a lease at {scale.small:,} and at {scale.large:,} rows; means beside it"
    )


def _list_costs(report: Report, what: str, costs: dict[str, Cost]) -> None:
    for name, cost in costs.items():
        report.absolute |= {f"{what}_{name}_p50_ms": cost.wait_ms, f"{what}_{name}_cpu_ms": cost.cpu_ms}
        report.absolute[f"{what}_{name}_cpu_mean_ms"] = cost.cpu_mean_ms


async def throughput(bench: Bench) -> None:
    """Raw SQL, the engine, other queues and whole jobs over HTTP, side by side."""
    ground, scale, report = bench.ground, bench.scale, bench.report
    raw, engine = RawDrain.prepare(ground, RAW_WAITING), await EngineDrain.prepare(ground, ENGINE_WAITING)
    pgqueuer_url, procrastinate_url = ground.empty("pgqueuer"), ground.empty("procrastinate")
    found = await bench.interleaved(
        "throughput",
        {
            "raw": lambda: raw.measure(ground, scale.seconds),
            "engine": lambda: engine.measure(ground, scale.seconds),
            "pgqueuer": lambda: peers.drain_pgqueuer(pgqueuer_url, scale.peer_jobs),
            "procrastinate": lambda: peers.drain_procrastinate(procrastinate_url, scale.peer_jobs),
        },
    )
    rates = {name: median(each) for name, each in found.items()}
    report.ratio("engine_vs_raw", rates["engine"], rates["raw"])
    report.ratio("engine_vs_pgqueuer", rates["engine"], rates["pgqueuer"])
    report.absolute |= {f"{name}_per_s": rate for name, rate in rates.items()}


async def http(bench: Bench) -> None:
    ground, scale, report = bench.ground, bench.scale, bench.report
    async with serve(ground, "served") as served, ground.house(served.url) as house:
        await served.furnish(house, max(scale.parked, scale.idle_workers))
        _report_idle(report, await served.idle(scale.idle_workers, scale.idle_s))
        pickups = await served.pick_up(house, parked=scale.parked, pickups=scale.pickups)
        report.figures["pickup_p50_ms"] = pickups.percentile_ms(0.5)
        report.figures["pickup_p99_ms"] = pickups.percentile_ms(0.99)
        report.figures["lease_statements_per_job"] = pickups.statements_per_job
        urls = ground.empty("pgqueuer_beside_http"), ground.empty("procrastinate_beside_http")
        found = await bench.interleaved(
            "http",
            {
                "http": lambda: served.drain(house, scale.seconds),
                "pgqueuer": lambda: peers.drain_pgqueuer(urls[0], scale.peer_jobs),
                "procrastinate": lambda: peers.drain_procrastinate(urls[1], scale.peer_jobs),
            },
        )
    rates = {name: median(each) for name, each in found.items()}
    report.ratio("http_vs_pgqueuer", rates["http"], rates["pgqueuer"])
    report.ratio("http_vs_procrastinate", rates["http"], rates["procrastinate"])
    report.absolute["http_per_s"] = rates["http"]


async def metrics(bench: Bench) -> None:
    """Whole jobs over HTTP beside a Prometheus that scrapes, and without metrics."""
    ground, scale = bench.ground, bench.scale
    port = free_port()
    async with (
        serve(ground, "metrics_on", metrics_port=port) as on,
        serve(ground, "metrics_off") as off,
        ground.house(on.url) as house_on,
        ground.house(off.url) as house_off,
        scraped(port) as scrapes,
    ):
        await on.furnish(house_on, scale.parked)
        await off.furnish(house_off, scale.parked)
        found = await bench.interleaved(
            "metrics",
            {"on": lambda: on.drain(house_on, scale.seconds), "off": lambda: off.drain(house_off, scale.seconds)},
        )
    rates = {name: median(each) for name, each in found.items()}
    bench.report.ratio("metrics_cost", rates["on"], rates["off"])
    bench.report.absolute |= {f"http_per_s_metrics_{name}": rate for name, rate in rates.items()}
    bench.report.absolute |= {"scrape_p50_ms": median(scrapes) * 1000, "scrapes": len(scrapes)}


def _report_idle(report: Report, idle: Idle) -> None:
    scaled = idle.scaled_to(IDLE_TARGET)
    report.figures["idle_10k_rss_mb"] = scaled.resident_mb
    report.figures["idle_10k_core_share"] = scaled.core_share
    report.absolute |= {"idle_workers": idle.workers, "idle_rss_mb": idle.resident_mb, "bare_rss_mb": idle.bare_mb}
    report.absolute["idle_core_share"] = idle.core_share
    if idle.workers != IDLE_TARGET:
        report.notes.append(f"idle figures are scaled to {IDLE_TARGET:,} workers from {idle.workers:,} measured")


async def snapshot(bench: Bench) -> None:
    ground, scale = bench.ground, bench.scale
    beside = await lease_p50_ms(ground, "snapshot_open", scale.snapshot_s, beside_snapshot=True)
    without = await lease_p50_ms(ground, "snapshot_none", scale.snapshot_s, beside_snapshot=False)
    bench.report.ratio("lease_snapshot", beside, without)
    bench.report.notes.append("lease_snapshot: one run of each, not interleaved")
    bench.report.absolute |= {"lease_beside_snapshot_p50_ms": beside, "lease_without_snapshot_p50_ms": without}


async def sqlite(bench: Bench) -> None:
    ground, scale = bench.ground, bench.scale
    empty = await EmbeddedQueue.prepare(ground, "sqlite_empty", 0)
    large = await EmbeddedQueue.prepare(ground, "sqlite_large", scale.large)
    found = await bench.interleaved(
        "sqlite",
        {"empty": lambda: empty.measure(scale.leases), "large": lambda: large.measure(scale.leases)},
    )
    costs = {name: typical(each) for name, each in found.items()}
    bench.report.ratio("sqlite_lease_growth", costs["large"].wait_ms, costs["empty"].wait_ms)
    _list_costs(bench.report, "sqlite_lease", costs)


async def fair_overhead(bench: Bench) -> None:
    ground = bench.ground
    one, many = Tenants.prepare(ground, 1), Tenants.prepare(ground, TENANTS)
    found = await bench.interleaved(
        "fair share",
        {"one": lambda: one.measure(FAIR_BATCHES), "many": lambda: many.measure(FAIR_BATCHES)},
    )
    bench.report.ratio("fair_overhead", median(found["many"]), median(found["one"]))
    bench.report.absolute |= {f"job_ms_{name}_tenants": median(each) for name, each in found.items()}


FIGURES: dict[str, Callable[[Bench], Awaitable[None]]] = {
    "growth": lease_growth,
    "throughput": throughput,
    "http": http,
    "metrics": metrics,
    "snapshot": snapshot,
    "sqlite": sqlite,
    "fair": fair_overhead,
}
