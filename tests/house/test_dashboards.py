"""The dashboards of Grafana: every query parses and names what exists, and no metric of ours is forgotten."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.house.test_alert_rules import OBSERVE, RECORDED_LABELS, alerts
from tests.metric_names import find_promtool
from tests.promql import OF_PROCESS, OF_PROMETHEUS, all_labels, metrics_in, read_query, unknown_in

Board = dict[str, Any]
BOARDS: dict[str, Board] = {path.stem: json.loads(path.read_text()) for path in (OBSERVE / "dashboards").glob("*.json")}
NAMES = {
    "comfyfleet-overview",
    "comfyfleet-queue",
    "comfyfleet-machines",
    "comfyfleet-money",
    "comfyfleet-control-plane",
    "comfyfleet-job",
}
# Metrics of ours that neither a dashboard nor an alert uses, with the reason.
UNUSED: dict[str, str] = {}
LEGEND = re.compile(r"{{\s*(\w+)\s*}}")
UNITS = {"short", "s", "percentunit", "bytes", "Bps", "reqps"}


def known_with(labels: Mapping[str, set[str]]) -> dict[str, set[str]]:
    return {**labels, **RECORDED_LABELS, **{each: set() for each in OF_PROCESS}}


def panels(board: Board) -> list[dict[str, Any]]:
    return [each for each in board["panels"] if each["type"] != "row"]


def queries(board: Board) -> Iterator[tuple[str, str, str]]:
    """Panel, expression and legend; and the notes."""
    for panel in panels(board):
        for target in panel.get("targets", []):
            if "expr" in target:
                yield panel["title"], target["expr"], target["legendFormat"]
    for note in board["annotations"].get("list", []):
        yield note["name"], note["expr"], ""


async def test_every_query_parses_and_names_metrics_and_labels_that_exist(tmp_path: Path) -> None:
    known = known_with(await all_labels(tmp_path / "home"))
    assert set(BOARDS) == NAMES
    for name, board in BOARDS.items():
        for title, expr, legend in queries(board):
            assert unknown_in(expr, known) == [], f"{name}, {title}: {expr}"
            used = metrics_in(expr, known)
            assert used, f"{name}, {title}: {expr} names no metric"
            shown = {label for each in used for label in known[each]} | OF_PROMETHEUS
            assert set(LEGEND.findall(legend)) <= shown, f"{name}, {title}: {legend}"
    assert unknown_in('sum by (pool) (rate(comfyfleet_jobs_total{fleet="a"}[5m])) + comfyfleet_nothing', known) == [
        "comfyfleet_jobs_total{fleet}",
        "comfyfleet_nothing",
        "pool",
    ]
    with pytest.raises(ValueError, match="unclosed left parenthesis"):
        read_query("sum by (rate(comfyfleet_jobs_total[5m])")


async def test_every_metric_is_on_a_dashboard_or_in_an_alert_or_says_why_not(tmp_path: Path) -> None:
    labels = await all_labels(tmp_path / "home")
    expressions = [expr for board in BOARDS.values() for _, expr, _ in queries(board)]
    expressions += [rule["expr"] for rule in alerts()]
    used = {each for expr in expressions for each in metrics_in(expr, known_with(labels))}
    assert set(labels) - used == set(UNUSED)
    assert all(UNUSED.values()), "with a reason"


@pytest.mark.parametrize("name", sorted(BOARDS))
def test_a_dashboard_is_complete(name: str) -> None:
    board = BOARDS[name]
    assert (board["uid"], board["title"].startswith("Comfyfleet: "), board["schemaVersion"]) == (name, True, 41)
    variables = {each["name"]: each for each in board["templating"]["list"]}
    assert (variables["datasource"]["type"], variables["datasource"]["query"]) == ("datasource", "prometheus")
    ids = [each["id"] for each in board["panels"]]
    assert ids == list(range(1, len(ids) + 1))
    assert overlaps(board) == []
    given = set(re.findall(r"\$\{?([a-z_]+)", json.dumps(board))) - {"__rate_interval", "__all"}
    assert given == set(variables), "every variable is used, and none is missing"
    for panel in panels(board):
        if panel["type"] in ("text", "traces"):
            continue
        defaults = panel["fieldConfig"]["defaults"]
        assert panel["description"].endswith("."), panel["title"]
        assert defaults["unit"] in UNITS, panel["title"]
        assert defaults["thresholds"]["steps"][0]["value"] is None, panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        for target in panel["targets"]:
            assert target["datasource"] == panel["datasource"]
            over = re.findall(r"\brate\([^\[]*\[([^\]]+)\]", target["expr"])
            assert panel["type"] == "stat" or set(over) <= {"$__rate_interval"}, target["expr"]


def overlaps(board: Board) -> list[str]:
    """Panels that cover a place of the grid that another has, or that stand outside of it."""
    taken: dict[tuple[int, int], str] = {}
    found = []
    for panel in board["panels"]:
        place = panel["gridPos"]
        if place["x"] + place["w"] > 24:
            found.append(f"{panel['title']}: outside")
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                other = taken.setdefault((x, y), panel["title"])
                if other != panel["title"]:
                    found.append(f"{panel['title']}: on {other}")
    return found


def test_the_grid_check_sees_an_overlap() -> None:
    first, second = ({"title": name, "gridPos": {"x": x, "y": 0, "w": 12, "h": 8}} for name, x in (("a", 0), ("b", 11)))
    assert set(overlaps({"panels": [first, second]})) == {"b: on a"}
    assert overlaps({"panels": [{"title": "c", "gridPos": {"x": 13, "y": 0, "w": 12, "h": 1}}]}) == ["c: outside"]


def test_prometheus_takes_the_configuration_and_grafana_finds_its_files() -> None:
    done = subprocess.run(
        [find_promtool(), "check", "config", "prometheus.yml"], cwd=OBSERVE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = {each["job_name"] for each in yaml.safe_load((OBSERVE / "prometheus.yml").read_text())["scrape_configs"]}
    assert jobs == {"comfyfleet", "comfyfleet-worker"}, "by these names panels tell processes apart"
    routes = yaml.safe_load((OBSERVE / "alertmanager.yml").read_text())
    receivers = {each["name"] for each in routes["receivers"]}
    assert {routes["route"]["receiver"], *(each["receiver"] for each in routes["route"]["routes"])} == receivers
    named = {each["alert"] for each in alerts() if "alert" in each}
    silenced = set(re.findall(r"Comfyfleet\w+", json.dumps(routes["inhibit_rules"])))
    assert silenced <= named
    for kind, key in (("datasources", "datasources"), ("dashboards", "providers")):
        for path in (OBSERVE / "grafana" / kind).glob("*.yaml"):
            assert yaml.safe_load(path.read_text())[key], path
