"""`comfyfleet simulate-day`: how the fleet's policies do over a day, in virtual time; no server is needed."""

from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from comfyfleet.cli.output import console, print_json
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.simulate.day.figures import DayFigures
from comfyfleet.simulate.day.plan import HOUR_S, DayPlan, big_day, consumer_day, sparse_day
from comfyfleet.simulate.day.report import COLUMNS, render_report
from comfyfleet.simulate.day.rules import RULES
from comfyfleet.simulate.day.run import Day

DAYS = ("big", "consumer", "sparse")
LOST = 1


def run_day(
    kind: str, *, scale: float, hours: float, seed: int, policies: list[str], report: Path | None, as_json: bool
) -> None:
    unknown = sorted(set(policies) - RULES.keys())
    if unknown:
        raise InvalidInput("--policy", f"is {unknown[0]!r}; allowed: {', '.join(RULES)}")
    plan = _plan(kind, scale=scale, hours=hours, seed=seed)
    if report is not None and not report.absolute().parent.is_dir():
        raise InvalidInput("--report", f"{report.parent} is no folder; make it first")
    days = []
    quiet = Console(stderr=True, quiet=as_json)
    for name in policies or list(RULES):
        with quiet.status(f"{plan.name}: {name} …"):
            days.append(Day(plan, RULES[name](plan.settings)).run())
    if report is not None:
        report.write_text(render_report(plan, days))
    if as_json:
        print_json({"day": plan.name, "seed": plan.seed, "policies": [day.as_json() for day in days]})
    else:
        _show(plan, days, report)
    if any(day.ended_with_lease for day in days if day.policy == "comfyfleet"):
        raise typer.Exit(LOST)


def _plan(kind: str, *, scale: float, hours: float, seed: int) -> DayPlan:
    if kind not in DAYS:
        raise InvalidInput("--day", f"is {kind!r}; allowed: {', '.join(DAYS)}")
    if kind == "consumer":
        return consumer_day(seed, lasts_s=hours * HOUR_S)
    return sparse_day(seed) if kind == "sparse" else big_day(scale, seed, lasts_s=hours * HOUR_S)


def _show(plan: DayPlan, days: list[DayFigures], report: Path | None) -> None:
    table = Table(title=f"{plan.name}, seed {plan.seed}", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("")
    for day in days:
        table.add_column(day.policy, justify="right")
    for name, read in COLUMNS.items():
        table.add_row(name, *(read(day) for day in days))
    table.add_row("jobs simulated a CPU-second", *(f"{day.jobs_per_cpu_s:,.0f}" for day in days))
    console.print(table)
    ours = next((day for day in days if day.deciles), None)
    if ours is not None:
        waits = Table(title=f"{ours.policy}: waits by tenant, s", title_justify="left", show_edge=False, pad_edge=False)
        for heading in ("tenants, most jobs first", "p50", "p95", "p99"):
            waits.add_column(heading, justify="right")
        for number, each in enumerate(ours.deciles):
            place = f"{10 * number} to {10 * number + 10} %"
            waits.add_row(place, f"{each.p50:.1f}", f"{each.p95:.1f}", f"{each.p99:.1f}")
        console.print(waits)
    if report is not None:
        console.print(f"Report: {report}")
