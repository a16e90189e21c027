"""The figures, each from its measurements: repetitions interleaved, medians compared."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from statistics import median

from rich.progress import Progress

from bench.dispatch.ground import Ground
from bench.dispatch.growth import Cost, typical
from bench.jobs import events, memory
from bench.jobs.create import HttpCreation, serve
from bench.jobs.growth import FullPool
from bench.jobs.raw import READS, WRITES, RawCreation
from bench.jobs.scale import FULL, Scale
from bench.jobs.studio import Studio, open_studio
from bench.report import Report
from bench.turns import Measure, interleaved

CONCURRENCY = 16
TELLING = 2  # times the few: memory after hardly more jobs says nothing


@dataclass(frozen=True)
class Bench:
    ground: Ground
    scale: Scale
    report: Report
    progress: Progress


async def create_growth(bench: Bench) -> None:
    scale, report = bench.scale, bench.report
    async with AsyncExitStack() as stack:
        pools: dict[str, FullPool] = {}
        for name, jobs in (("small", scale.small), ("large", scale.large)):
            opened = await stack.enter_async_context(open_studio(bench.ground, f"growth_{name}", flushes=False))
            pools[name] = FullPool(*opened)
            task = bench.progress.add_task(f"{jobs:,} jobs written", total=None)
            await pools[name].fill(jobs)
            bench.progress.update(task, total=1, completed=1)

        def measured(pool: FullPool) -> Measure[Cost]:
            return lambda: pool.measure(scale.creations)

        measures = {name: measured(pool) for name, pool in pools.items()}
        found = await interleaved(bench.progress, "create growth", measures, repetitions=scale.repetitions)
    costs = {name: typical(each) for name, each in found.items()}
    report.ratio("create_growth", costs["large"].compared, costs["small"].compared)
    for name, cost in costs.items():
        report.absolute |= {f"create_{name}_p50_ms": cost.wait_ms, f"create_{name}_cpu_ms": cost.cpu_ms}
        report.absolute[f"create_{name}_cpu_mean_ms"] = cost.cpu_mean_ms
    report.notes.append(
        f"create_growth: median server CPU of a creation with {scale.small:,} and with {scale.large:,} jobs in the"
        f" pool{_instead(scale.large, FULL.large)}; the wait and the mean beside it"
    )


async def create_vs_raw(bench: Bench) -> None:
    """Both write into the same pool, and what they wrote ends between them, uncounted."""
    scale, report = bench.scale, bench.report
    async with (
        open_studio(bench.ground, "create") as (studio, _),
        serve(bench.ground, "create", studio, UPKEEP="false", DATABASE_CONNECTIONS=str(CONCURRENCY)) as server,
    ):
        http, raw = HttpCreation(server.port, CONCURRENCY), RawCreation(studio, CONCURRENCY)
        measures = {
            "http": lambda: _then_ended(studio, http.measure(scale.seconds)),
            "raw": lambda: _then_ended(studio, raw.measure(scale.seconds)),
        }
        found = await interleaved(bench.progress, "create", measures, repetitions=scale.repetitions)
    rates = {name: median(each) for name, each in found.items()}
    report.ratio("create_vs_raw", rates["http"], rates["raw"])
    report.absolute |= {f"create_{name}_per_s": rate for name, rate in rates.items()}
    report.notes.append(
        f"create_vs_raw: raw is {len(READS)} reads of the central database and one transaction of {len(WRITES)}"
        f" statements in the pool, on psycopg alone, as many at once ({CONCURRENCY}) from one process as over HTTP"
    )


async def _then_ended(studio: Studio, measured: Awaitable[float]) -> float:
    rate = await measured
    studio.end_all()
    return rate


async def event_delay(bench: Bench) -> None:
    task = bench.progress.add_task("events", total=None)
    measured = await events.measure(bench.ground, bench.scale.events_s)
    bench.progress.update(task, total=1, completed=1)
    bench.report.add(measured.figures())


async def memory_growth(bench: Bench) -> None:
    scale, report = bench.scale, bench.report
    task = bench.progress.add_task("memory", total=None)
    found = await memory.measure(bench.ground, few=scale.few, many=scale.many, within_s=scale.memory_s)
    bench.progress.update(task, total=1, completed=1)
    if found.jobs >= TELLING * scale.few:
        report.ratio("memory_growth", found.many_mb, found.few_mb)
    report.absolute |= {"memory_few_mb": found.few_mb, "memory_many_mb": found.many_mb}
    report.notes.append(
        f"memory_growth: the server's resident memory after {scale.few:,} whole jobs and after"
        f" {found.jobs:,}{_instead(found.jobs, FULL.many)}"
    )


def _instead(measured: int, promised: int) -> str:
    return "" if measured == promised else f" (and not {promised:,}: a quick run)"


FIGURES: dict[str, Callable[[Bench], Awaitable[None]]] = {
    "growth": create_growth,
    "create": create_vs_raw,
    "events": event_delay,
    "memory": memory_growth,
}
