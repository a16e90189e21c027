"""The rules that Prometheus alerts by, made from two tables: objectives with their burn rates, and plain conditions."""

from dataclasses import dataclass
from typing import Any

import yaml

from comfyfleet.scaling import ALERTING_HOLDS

RUNBOOKS = "docs/runbooks"
HEAD = """# Made by `make snapshots` from tools/observe_rules.py. Do not edit.
#
# Prometheus 2.42 or newer. `runbook_url` is a path in the repository of comfyfleet.
"""
WINDOWS = ("5m", "30m", "1h", "6h", "3d")
# Long and short window, how many times faster than allowed the budget burns, who is told. Of a 30-day budget the three
# spend 2 %, 5 % and 10 % (Google's SRE workbook).
BURNS = (("1h", "5m", 14.4, "page"), ("6h", "30m", 6.0, "page"), ("3d", "6h", 1.0, "ticket"))
# A single failure at night must wake nobody: so many events in the long window are needed.
EVENTS_MIN = 50


@dataclass(frozen=True)
class Objective:
    """`bad` and `all`: rates over `$window`, summed over replicas."""

    name: str
    alert: str
    goal: float
    summary: str
    bad: str
    all: str


@dataclass(frozen=True)
class Condition:
    alert: str
    expr: str
    for_: str
    severity: str
    summary: str


def _rate(metric: str, matchers: str = "") -> str:
    return f"sum(rate({metric}{{{matchers}}}[$window]))" if matchers else f"sum(rate({metric}[$window]))"


def _late(histogram: str, within: str) -> str:
    in_time = f'le="{within}"'
    return f"{_rate(f'{histogram}_count')} - {_rate(f'{histogram}_bucket', in_time)}"


ASKS = 'call!~"poll|notices"'
WORKER_API = "comfyfleet_worker_api_seconds"
ANSWERED = f'{ASKS},status!="5xx",le="1.0"'
OBJECTIVES = (
    Objective(
        "start",
        "JobsStartLate",
        0.99,
        "Fewer than 99 % of jobs start within 60 s.",
        _late("comfyfleet_job_wait_seconds", "60.0"),
        _rate("comfyfleet_job_wait_seconds_count"),
    ),
    Objective(
        "success",
        "JobsFail",
        0.995,
        "Fewer than 99.5 % of jobs succeed; faults of users are not counted.",
        _rate("comfyfleet_jobs_total", 'outcome!~"completed|cancelled|user_input|workflow_invalid"'),
        _rate("comfyfleet_jobs_total", 'outcome!~"cancelled|user_input|workflow_invalid"'),
    ),
    Objective(
        "worker_api",
        "WorkerApiSlow",
        0.999,
        "Fewer than 99.9 % of workers' calls are answered within 1 s and without a fault.",
        f"{_rate(f'{WORKER_API}_count', ASKS)} - {_rate(f'{WORKER_API}_bucket', ANSWERED)}",
        _rate(f"{WORKER_API}_count", ASKS),
    ),
    Objective(
        "webhooks",
        "WebhooksLate",
        0.99,
        "Fewer than 99 % of webhooks that arrive do so within 5 minutes.",
        _late("comfyfleet_webhook_delay_seconds", "300.0"),
        _rate("comfyfleet_webhook_delay_seconds_count"),
    ),
)
CONDITIONS = (
    Condition(
        "NoWorkers",
        'sum(max by (workflow) (comfyfleet_queue_jobs{state="queued"})) > 0'
        ' unless on () (sum(max by (fleet, status) (comfyfleet_workers{status=~"ready|busy"})) > 0)',
        "5m",
        "page",
        "Jobs wait, and no worker that may take work has been heard of for 5 minutes.",
    ),
    Condition(
        "OldestJobWaits",
        "max by (workflow) (comfyfleet_queue_oldest_seconds) > 43200",
        "5m",
        "page",
        "A job of {{ $labels.workflow }} has waited for half of the default queue deadline (24 h).",
    ),
    Condition(
        "LeasesExpire",
        'sum(rate(comfyfleet_leases_total{event="expired"}[10m]))'
        ' / sum(rate(comfyfleet_leases_total{event="taken"}[10m])) > 0.05'
        ' and sum(increase(comfyfleet_leases_total{event="expired"}[10m])) > 5',
        "10m",
        "page",
        "More than 5 % of leases run out: workers die, or cannot reach the control plane.",
    ),
    Condition(
        "SettlementsParked",
        "max(comfyfleet_settlements_parked) > 0",
        "0m",
        "page",
        "{{ $value }} settlements cannot be applied: jobs ended, and their tenants do not know.",
    ),
    Condition(
        "RelayLags",
        "max by (pool, relay) (comfyfleet_relay_lag_seconds) > 60",
        "5m",
        "page",
        "{{ $labels.relay }} of pool {{ $labels.pool }} are {{ $value | humanizeDuration }} behind.",
    ),
    Condition(
        "UpkeepSilent",
        "time() - max by (loop) (comfyfleet_upkeep_last_success_timestamp_seconds)"
        " > 60 + 5 * max by (loop) (comfyfleet_upkeep_interval_seconds)",
        "1m",
        "page",
        "{{ $labels.loop }} has not succeeded at any replica for more than five of its intervals.",
    ),
    Condition(
        "AuditAlarm",
        "max(comfyfleet_audit_alarms) > 0",
        "0m",
        "page",
        "An audit chain does not hold. Credits are stopped until an operator acknowledges it.",
    ),
    Condition(
        "DatabaseAway",
        "max by (database) (comfyfleet_gauges_read_ok) == 0",
        "2m",
        "page",
        "No replica can read the database {{ $labels.database }}.",
    ),
    Condition(
        "DatabasePoolExhausted",
        'comfyfleet_db_pool_connections{state="used"} >= on (instance, database) comfyfleet_db_pool_connections_max',
        "2m",
        "page",
        "All {{ $value }} connections of {{ $labels.instance }} to the database {{ $labels.database }} are in use.",
    ),
    Condition(
        "ScalingHeld",
        f'max by (fleet, hold) (comfyfleet_scaling_held{{hold=~"{"|".join(sorted(ALERTING_HOLDS))}"}}) > 0',
        "5m",
        "page",
        "Fleet {{ $labels.fleet }} has fewer machines than its load asks for: {{ $labels.hold }}.",
    ),
    Condition(
        "ScalingSilent",
        "time() - max by (fleet) (comfyfleet_scaling_decision_timestamp_seconds) > 120",
        "2m",
        "page",
        "No replica has decided for {{ $value | humanizeDuration }} how many machines {{ $labels.fleet }} should have.",
    ),
    Condition(
        "LaunchesFail",
        'sum by (fleet, reason) (increase(comfyfleet_machine_launch_errors_total{reason!="capacity"}[30m])) > 2.5',
        "0m",
        "page",
        "Machines of {{ $labels.fleet }} do not start: {{ $labels.reason }}.",
    ),
    Condition(
        "SpotLost",
        'sum by (fleet) (increase(comfyfleet_machines_ended_total{market="spot",reason="lost"}[10m]))'
        ' / sum by (fleet) (max by (fleet, status) (max_over_time(comfyfleet_workers{status!="silent"}[10m]))) > 0.2'
        ' and sum by (fleet) (increase(comfyfleet_machines_ended_total{market="spot",reason="lost"}[10m])) > 2.5',
        "0m",
        "ticket",
        "In 10 minutes {{ $labels.fleet }} has lost {{ $value | humanizePercentage }} of its machines to Spot.",
    ),
    Condition(
        "DiskFull",
        "comfyfleet_disk_free_bytes / comfyfleet_disk_size_bytes < 0.05",
        "10m",
        "ticket",
        "Less than 5 % is free where {{ $labels.place }} of {{ $labels.instance }} lies.",
    ),
)
ALERTS = (*(each.alert for each in OBJECTIVES), *(each.alert for each in CONDITIONS))


def rules() -> dict[str, Any]:
    return {
        "groups": [
            {"name": "comfyfleet-objectives", "rules": [each for one in OBJECTIVES for each in _recorded(one)]},
            {"name": "comfyfleet-burn", "rules": [each for one in OBJECTIVES for each in _burns(one)]},
            {"name": "comfyfleet-conditions", "rules": [_plain(each) for each in CONDITIONS]},
        ]
    }


def page() -> str:
    written: str = yaml.safe_dump(rules(), sort_keys=False, width=1000, allow_unicode=True)
    return HEAD + written


def _recorded(objective: Objective) -> list[dict[str, Any]]:
    return [
        {
            "record": f"comfyfleet:slo_errors:ratio_rate{window}",
            "labels": {"slo": objective.name},
            "expr": f"({objective.bad}) / ({objective.all})".replace("$window", window),
        }
        for window in WINDOWS
    ]


def _burns(objective: Objective) -> list[dict[str, Any]]:
    return [_burn(objective, *each) for each in BURNS]


def _burn(objective: Objective, long: str, short: str, times: float, severity: str) -> dict[str, Any]:
    limit = f"({times:g} * {1 - objective.goal:.3g})"
    events = objective.all.replace("rate(", "increase(").replace("$window", long)
    expr = " and on () ".join(
        [
            f'comfyfleet:slo_errors:ratio_rate{long}{{slo="{objective.name}"}} > {limit}',
            f'comfyfleet:slo_errors:ratio_rate{short}{{slo="{objective.name}"}} > {limit}',
            f"{events} > {EVENTS_MIN}",
        ]
    )
    return _alert(objective.alert, expr, "0m", severity, objective.summary, window=long)


def _plain(condition: Condition) -> dict[str, Any]:
    return _alert(condition.alert, condition.expr, condition.for_, condition.severity, condition.summary)


def _alert(alert: str, expr: str, for_: str, severity: str, summary: str, **labels: str) -> dict[str, Any]:
    return {
        "alert": f"Comfyfleet{alert}",
        "expr": expr,
        "for": for_,
        "labels": {"severity": severity, **labels},
        "annotations": {"summary": summary, "runbook_url": f"{RUNBOOKS}/{alert}.md"},
    }
