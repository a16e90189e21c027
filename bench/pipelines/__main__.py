"""`make bench NAME=pipelines`: progress on stderr; on stdout a table, or with `--json` one object and nothing else."""

import argparse
import sys
from contextlib import AsyncExitStack
from statistics import median

import structlog
import uvloop
from rich.console import Console
from rich.progress import Progress

from bench.dispatch.ground import Ground, migrate, stand_on, temporary_folder
from bench.pipelines import feed
from bench.pipelines.choose import Cost, FullRun, open_full_run
from bench.pipelines.scale import FULL, QUICK, Scale
from bench.pipelines.seed_loop import seed_workers_fed
from bench.pipelines.targets import TARGETS
from bench.report import Report
from bench.turns import Measure, interleaved

FIGURES = ("select", "feed")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench NAME=pipelines ARGS=…", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--quick", action="store_true", help="a smaller run, under four minutes")
    parser.add_argument("--only", default=",".join(FIGURES), help="some of: %(default)s")
    return parser.parse_args()


async def measure_select(ground: Ground, scale: Scale, report: Report, progress: Progress) -> None:
    def measured(full: FullRun) -> Measure[Cost]:
        return lambda: full.measure(scale.selections)

    async with AsyncExitStack() as stack:
        measures = {}
        for name, count in (("small", scale.small), ("large", scale.large)):
            opened = await stack.enter_async_context(open_full_run(ground, f"select_{name}", count))
            measures[name] = measured(opened)
        found = await interleaved(progress, "select", measures, repetitions=scale.repetitions)
    whole = {name: median(cost.whole_ms for cost in costs) for name, costs in found.items()}
    report.ratio("select_growth", whole["large"], whole["small"])
    report.add({"select_ms": median(cost.choice_ms for cost in found["large"])})
    report.add({f"select_and_read_{name}_ms": value for name, value in whole.items()})
    report.notes.append(
        "select_growth: the frontier read from PostgreSQL and the choice together; select_ms: the choice alone"
    )


async def measure_feed(ground: Ground, scale: Scale, report: Report, progress: Progress) -> None:
    task = progress.add_task(f"{scale.runs} runs on {scale.workers} workers", total=None)
    fed = await feed.measure(ground, scale)
    progress.update(task, total=1, completed=1)
    report.add({"workers_fed": fed.share, "jobs": fed.jobs, "gaps": len(fed.gaps_ms)})
    report.add(
        {
            "seed_workers_fed": seed_workers_fed(
                runs=scale.runs, workers=scale.workers, job_s=scale.job_s, seconds=3600.0
            )
        }
    )
    if fed.gaps_ms:
        report.add(
            {"child_p99_ms": fed.gaps_ms[int(0.99 * (len(fed.gaps_ms) - 1))], "child_p50_ms": median(fed.gaps_ms)}
        )
    report.notes.append(
        f"a job takes {scale.job_s:g} s, give or take {feed.SPREAD:.0%}, a run has one under way; child_p99_ms by the"
        " databases' clocks, from the moment a result is accepted to its run's next job in the queue; seed_workers_fed"
        " is the seed's loop in a time of its own, which loses none to submitting and polling"
    )


async def measure(ground: Ground, scale: Scale, report: Report, only: list[str], progress: Progress) -> None:
    await migrate(ground)
    if "select" in only:
        await measure_select(ground, scale, report, progress)
    if "feed" in only:
        await measure_feed(ground, scale, report, progress)


def main() -> None:
    given = arguments()
    scale = QUICK if given.quick else FULL
    report = Report("pipelines", scale.name, TARGETS)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    progress = Progress(console=Console(stderr=True))
    with temporary_folder() as folder, stand_on(folder) as ground, progress:
        uvloop.run(measure(ground, scale, report, given.only.split(","), progress))
    if given.json:
        print(report.as_json())
    else:
        report.show(Console())


if __name__ == "__main__":
    main()
