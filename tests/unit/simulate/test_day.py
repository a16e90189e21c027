"""The simulated day: believed because it repeats, keeps its books, and reproduces what was measured elsewhere."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from comfyfleet.cli.main import app
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.simulate.day.arrivals import arrivals
from comfyfleet.simulate.day.figures import DayFigures
from comfyfleet.simulate.day.plan import HOUR_S, big_day, consumer_day, stormy_hours
from comfyfleet.simulate.day.report import render_report
from comfyfleet.simulate.day.rules import RULES
from comfyfleet.simulate.day.run import Day

# A hundredth of it for an hour in CI; all of it in `make soak`.
SCALE, HOURS = float(os.environ.get("DAY_SCALE", "0.01")), float(os.environ.get("DAY_HOURS", "1"))
PLAN = big_day(SCALE, lasts_s=HOURS * HOUR_S)


@pytest.fixture(scope="module")
def hour() -> DayFigures:
    return Day(PLAN, RULES["comfyfleet"](PLAN.settings)).run()


def without_time(day: DayFigures) -> DayFigures:
    return replace(day, cpu_s=0.0, jobs_per_cpu_s=0.0)


def test_every_job_has_one_end_and_every_hour_one_name(hour: DayFigures) -> None:
    assert hour.jobs == sum(1 for _ in arrivals(PLAN)) > 1_000
    assert hour.completed + hour.failed + hour.lost + hour.unfinished == hour.jobs
    assert (hour.unfinished, hour.ended_with_lease) == (0, 0)
    assert hour.lost <= hour.jobs / 10_000
    assert hour.paid_h == pytest.approx(hour.busy_h + hour.idle_h + hour.starting_h)
    assert 0 < hour.dollars < hour.paid_h
    assert len(hour.deciles) == 10


def test_the_same_seed_gives_the_same_day_and_another_another(hour: DayFigures) -> None:
    again = Day(PLAN, RULES["comfyfleet"](PLAN.settings)).run()
    assert without_time(again) == without_time(hour)
    other = replace(PLAN, seed=2)
    first = [(job.queued_s, job.tenant) for job, _ in zip(arrivals(PLAN), range(20), strict=False)]
    second = [(job.queued_s, job.tenant) for job, _ in zip(arrivals(other), range(20), strict=False)]
    assert first != second


def test_a_storm_with_notice_loses_nothing_and_spends_no_attempt() -> None:
    plan = stormy_hours()
    day = Day(plan, RULES["comfyfleet"](plan.settings)).run()
    assert day.interruptions > 20
    assert day.requeues > 0
    assert (day.lost, day.retries, day.unfinished) == (0, 0, 0)
    assert day.completed == day.jobs
    unwarned = replace(plan, habits=replace(plan.habits, notice_s=0.0))
    assert Day(unwarned, RULES["comfyfleet"](plan.settings)).run().completed == day.jobs


@pytest.mark.parametrize(("policy", "paid_h", "p95_s"), [("target-tracking", 1_583, 62), ("keda", 1_530, 7)])
def test_the_consumer_day_comes_out_as_measured(policy: str, paid_h: float, p95_s: float) -> None:
    """The table that the day must reproduce before it is believed. Its waits are rounded to whole seconds."""
    plan = consumer_day(seed=3)
    day = Day(plan, RULES[policy](plan.settings)).run()
    assert day.paid_h == pytest.approx(paid_h, rel=0.05)
    assert day.waits.p95 == pytest.approx(p95_s, rel=0.05)


def test_the_report_is_one_page_that_loads_nothing(hour: DayFigures) -> None:
    page = render_report(PLAN, [hour])
    assert page.count("<svg") == 3
    assert "http" not in page
    assert "<script" not in page
    assert f"{hour.paid_h:,.0f}" in page


def test_the_command_prints_json_and_writes_the_report(tmp_path: Path) -> None:
    report = tmp_path / "day.html"
    asked = ["simulate-day", "--day", "sparse", "--policy", "comfyfleet", "--json", "--report", str(report)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    (day,) = json.loads(done.stdout)["policies"]
    assert day["completed"] == day["jobs"] > 500
    assert report.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["--policy", "best"], "--policy: is 'best'; allowed: comfyfleet, target-tracking, keda"),
        (["--day", "long"], "--day: is 'long'; allowed: big, consumer, sparse"),
        (["--scale", "2"], "scale: is 2; allowed: above 0 to 1"),
    ],
)
def test_what_cannot_be_simulated_is_refused(asked: list[str], says: str) -> None:
    done = CliRunner().invoke(app, ["simulate-day", *asked])
    assert isinstance(done.exception, InvalidInput)
    assert says in done.exception.message
