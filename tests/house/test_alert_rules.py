"""What we alert by names metrics and labels that exist, and each alert has a page that says what to do."""

import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from comfyfleet.notifications import CONDITIONS, ONLY_IN_PROMETHEUS
from tests.metric_names import find_promtool
from tests.promql import all_labels, unknown_in
from tools.observe_rules import ALERTS, WINDOWS

ROOT = Path(__file__).parents[2]
OBSERVE, RUNBOOKS = ROOT / "deploy" / "observe", ROOT / "docs" / "runbooks"
PAGES = [*sorted(RUNBOOKS.glob("*.md")), ROOT / "docs" / "how-to" / "watch-with-prometheus.md"]
# What recording rules make.
RECORDED_LABELS = {f"comfyfleet:slo_errors:ratio_rate{window}": {"slo"} for window in WINDOWS}
QUOTED = re.compile(r"`([^`]*comfyfleet_[^`]*)`")


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load((OBSERVE / "rules.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


async def test_every_metric_and_label_that_rules_and_pages_name_exists(tmp_path: Path) -> None:
    labels = (await all_labels(tmp_path / "home")) | RECORDED_LABELS
    assert len(labels) > 30
    for rule in alerts():
        assert unknown_in(rule["expr"], labels) == [], rule
    for page in PAGES:
        for expression in QUOTED.findall(page.read_text()):
            assert unknown_in(expression, labels) == [], f"{page.name}: {expression}"
    assert unknown_in('sum by (pool) (comfyfleet_jobs_total{fleet="a"}) + comfyfleet_nothing', labels) == [
        "comfyfleet_jobs_total{fleet}",
        "comfyfleet_nothing",
        "pool",
    ]


def test_each_alert_has_a_runbook_and_a_test_and_no_runbook_is_left_over() -> None:
    named = {each["alert"]: each["annotations"]["runbook_url"] for each in alerts() if "alert" in each}
    assert named == {f"Comfyfleet{each}": f"docs/runbooks/{each}.md" for each in ALERTS}
    assert {each.stem for each in RUNBOOKS.glob("*.md")} == set(ALERTS)
    cases = yaml.safe_load((OBSERVE / "rules_test.yaml").read_text())["tests"]
    fired = {each["alertname"] for case in cases for each in case["alert_rule_test"] if each["exp_alerts"]}
    assert fired == set(named)


def test_operators_are_notified_of_what_prometheus_alerts_of() -> None:
    """With the same severity, and after the same time; what the databases do not know is left out with a reason."""
    plain = {each["alert"].removeprefix("Comfyfleet"): each for each in alerts() if "alert" in each}
    assert set(plain) - set(CONDITIONS) == set(ONLY_IN_PROMETHEUS)
    for name in set(plain) & set(CONDITIONS):
        rules = [each for each in alerts() if each.get("alert") == f"Comfyfleet{name}"]
        condition = CONDITIONS[name]
        assert condition.severity in {each["labels"]["severity"] for each in rules}, name
        assert condition.for_s == 60 * int(rules[0]["for"].removesuffix("m")), name
        assert (RUNBOOKS.parent.parent / condition.runbook).exists()


def test_prometheus_takes_the_rules_and_they_fire_as_meant() -> None:
    promtool = find_promtool()
    for command in (["check", "rules", "rules.yaml"], ["test", "rules", "rules_test.yaml"]):
        done = subprocess.run([promtool, *command], cwd=OBSERVE, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
