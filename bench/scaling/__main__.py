"""`make bench NAME=scaling`: progress on stderr; on stdout a table, or with `--json` one object and nothing else."""

import argparse
from collections.abc import Callable, Sequence
from statistics import median

from rich.console import Console
from rich.progress import Progress

from bench.report import Report
from bench.scaling.live import measure_ask
from bench.scaling.scale import FULL, QUICK, Scale
from bench.scaling.targets import TARGETS
from comfyfleet.simulate.day.figures import DayFigures
from comfyfleet.simulate.day.plan import HOUR_S, DayPlan, big_day, consumer_day, sparse_day, stormy_hours
from comfyfleet.simulate.day.rules import RULES
from comfyfleet.simulate.day.run import Day

OURS, SEED, KEDA = "comfyfleet", "target-tracking", "keda"
FIGURES = ("consumer", "sparse", "storm", "day", "ask")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench NAME=scaling ARGS=…", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--quick", action="store_true", help="three hours of the day instead of all of it")
    parser.add_argument("--only", default=",".join(FIGURES), help="some of: %(default)s")
    return parser.parse_args()


def run_days(
    progress: Progress, plan: Callable[[int], DayPlan], policies: Sequence[str], seeds: Sequence[int]
) -> dict[str, list[DayFigures]]:
    """By policy, a day for each seed; each seed's arrivals are the same for all."""
    task = progress.add_task(plan(seeds[0]).name, total=len(policies) * len(seeds))
    found: dict[str, list[DayFigures]] = {name: [] for name in policies}
    for seed in seeds:
        for name in policies:
            planned = plan(seed)
            found[name].append(Day(planned, RULES[name](planned.settings)).run())
            progress.advance(task)
    return found


def middle_ratio(
    ours: Sequence[DayFigures], theirs: Sequence[DayFigures], read: Callable[[DayFigures], float]
) -> float:
    return median(read(one) / max(read(other), 1e-9) for one, other in zip(ours, theirs, strict=True))


def measure_consumer(scale: Scale, report: Report, progress: Progress) -> None:
    days = run_days(progress, consumer_day, (OURS, SEED, KEDA), scale.seeds)
    report.add(
        {
            "paid_vs_seed": middle_ratio(days[OURS], days[SEED], lambda day: day.paid_h),
            "p95_vs_seed": middle_ratio(days[OURS], days[SEED], lambda day: day.waits.p95),
            "paid_vs_keda": middle_ratio(days[OURS], days[KEDA], lambda day: day.paid_h),
            "p95_vs_keda": middle_ratio(days[OURS], days[KEDA], lambda day: day.waits.p95),
        }
    )
    for name, each in days.items():
        report.add({f"consumer_{name}_paid_h": median(day.paid_h for day in each)})
        report.add({f"consumer_{name}_p95_s": median(day.waits.p95 for day in each)})


def measure_sparse(scale: Scale, report: Report, progress: Progress) -> None:
    days = run_days(progress, sparse_day, (OURS, KEDA), scale.seeds)
    report.add({"sparse_p95_vs_keda": middle_ratio(days[OURS], days[KEDA], lambda day: day.waits.p95)})
    for name, each in days.items():
        report.add({f"sparse_{name}_paid_h": median(day.paid_h for day in each)})
        report.add({f"sparse_{name}_p95_s": median(day.waits.p95 for day in each)})


def measure_storm(scale: Scale, report: Report, progress: Progress) -> None:
    days = run_days(progress, stormy_hours, (OURS,), scale.seeds)[OURS]
    report.add(
        {
            "storm_lost": max(day.lost + day.unfinished for day in days),
            "storm_attempts": max(day.retries for day in days),
            "storm_interruptions": median(day.interruptions for day in days),
            "storm_requeues": median(day.requeues for day in days),
        }
    )


def measure_day(scale: Scale, report: Report, progress: Progress) -> None:
    def plan(seed: int) -> DayPlan:
        return big_day(scale.day_scale, seed, lasts_s=scale.day_hours * HOUR_S)

    days = run_days(progress, plan, (OURS,), scale.day_seeds)[OURS]
    report.add(
        {
            "sim_jobs_s": median(day.jobs_per_cpu_s for day in days),
            "day_jobs": median(day.jobs for day in days),
            "day_paid_h": median(day.paid_h for day in days),
            "day_p95_s": median(day.waits.p95 for day in days),
            "day_switches_per_job": median(day.switches_per_job for day in days),
        }
    )


def main() -> None:
    given = arguments()
    scale = QUICK if given.quick else FULL
    report = Report("scaling", scale.name, TARGETS)
    measures = {
        "consumer": measure_consumer,
        "sparse": measure_sparse,
        "storm": measure_storm,
        "day": measure_day,
        "ask": measure_ask,
    }
    with Progress(console=Console(stderr=True)) as progress:
        for name in given.only.split(","):
            measures[name](scale, report, progress)
    report.notes.append(
        f"medians of {len(scale.seeds)} seeds, virtual time; sim_jobs_s on {scale.day_hours:g} hours of the day at"
        f" {scale.day_scale:g} of its size; ask_s is the median of {scale.asks} orders at random times on a live"
        " server with PostgreSQL"
    )
    if given.json:
        print(report.as_json())
    else:
        report.show(Console())


if __name__ == "__main__":
    main()
