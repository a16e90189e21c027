"""What the Grafana dashboards show: their panels as values. `observe_dashboards.py` makes JSON of them.

Counters are added over replicas; gauges of the databases are the same at each, so `max` is taken. `$fleet` and
`$workflow` are variables of the dashboards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

RATE = "[$__rate_interval]"
AT_WORK = 'status=~"ready|busy"'


class PanelKind(StrEnum):
    LINES = "lines"
    STACK = "stack"
    NUMBER = "number"
    TEXT = "text"
    TRACE = "trace"


@dataclass(frozen=True)
class PanelQuery:
    """`exemplars`: points carry the id of one job each."""

    expr: str
    legend: str = ""
    exemplars: bool = False


@dataclass(frozen=True)
class PanelSpec:
    """`limits`: yellow from the first, red from the second on; the other way round where the first is larger."""

    title: str
    text: str
    unit: str
    queries: Sequence[PanelQuery]
    kind: PanelKind = PanelKind.LINES
    limits: tuple[float, float] | None = None
    width: int = 12


@dataclass(frozen=True)
class BoardSpec:
    """`rows`: panels under a heading. `notes`: expressions that mark points in time."""

    uid: str
    title: str
    text: str
    rows: Sequence[tuple[str, Sequence[PanelSpec]]]
    variables: Sequence[str] = ()
    notes: Sequence[tuple[str, str]] = ()


def quantiles(histogram: str, matchers: str = "", by: str = "", legend: str = "") -> tuple[PanelQuery, ...]:
    """p50 and p95; with `by` p95 alone, for there are many lines then."""
    labels = f"le, {by}" if by else "le"
    name = f"{histogram}_bucket" + (f"{{{matchers}}}" if matchers else "")
    return tuple(
        PanelQuery(
            f"histogram_quantile({share}, sum by ({labels}) (rate({name}{RATE})))",
            f"p{share * 100:.0f} {legend}".strip(),
            exemplars=True,
        )
        for share in ((0.95,) if by else (0.5, 0.95))
    )


def rate(counter: str, by: str = "", matchers: str = "", times: str = "") -> str:
    name = counter + (f"{{{matchers}}}" if matchers else "")
    grouped = f"sum by ({by})" if by else "sum"
    return f"{grouped} (rate({name}{RATE})){times}"


def number(
    title: str, text: str, unit: str, expr: str, limits: tuple[float, float] | None = None, width: int = 4
) -> PanelSpec:
    return PanelSpec(title, text, unit, (PanelQuery(expr, title),), PanelKind.NUMBER, limits, width)


def lines(
    title: str,
    text: str,
    unit: str,
    *queries: PanelQuery,
    stack: bool = False,
    limits: tuple[float, float] | None = None,
    width: int = 12,
) -> PanelSpec:
    return PanelSpec(title, text, unit, queries, PanelKind.STACK if stack else PanelKind.LINES, limits, width)


Q = PanelQuery
PER_MINUTE = " * 60"
FAILED = 'outcome!~"completed|cancelled|user_input|workflow_invalid"'
COUNTED = 'outcome!~"cancelled|user_input|workflow_invalid"'
WAIT, RUN, TOTAL = "comfyfleet_job_wait_seconds", "comfyfleet_job_run_seconds", "comfyfleet_job_total_seconds"
OF_WORKFLOW, OF_FLEET = 'workflow=~"$workflow"', 'fleet=~"$fleet"'

WORKERS_BY_STATUS = lines(
    "Workers",
    "Workers by what they do. Silent: nothing was heard for 90 s. Starting: machines without a worker yet.",
    "short",
    Q(f"sum by (status) (max by (fleet, status) (comfyfleet_workers{{{OF_FLEET}}}))", "{{status}}"),
    stack=True,
)

FLEET = BoardSpec(
    "comfyfleet-overview",
    "Comfyfleet: fleet overview",
    "Do jobs run, how long do they wait, and who works? Begin here.",
    (
        (
            "Now",
            (
                number(
                    "Jobs waiting",
                    "Jobs in the queue, counted to 10,000 a lane.",
                    "short",
                    'sum(max by (workflow) (comfyfleet_queue_jobs{state="queued"})) or vector(0)',
                ),
                number(
                    "Jobs leased",
                    "Jobs that workers hold.",
                    "short",
                    'sum(max by (workflow) (comfyfleet_queue_jobs{state="leased"})) or vector(0)',
                ),
                number(
                    "Workers at work",
                    "Workers that are ready or busy.",
                    "short",
                    f"sum(max by (fleet, status) (comfyfleet_workers{{{AT_WORK}}}))",
                ),
                number(
                    "Start within a minute",
                    "Share of jobs that started within 60 s of their order, in the last hour. The objective is 99 %.",
                    "percentunit",
                    f'sum(rate({WAIT}_bucket{{le="60.0"}}[1h])) / sum(rate({WAIT}_count[1h]))',
                    (0.99, 0.95),
                ),
                number(
                    "Succeed",
                    "Share of jobs that completed in the last hour. Faults of users and cancelled jobs are left out.",
                    "percentunit",
                    f'sum(rate(comfyfleet_jobs_total{{outcome="completed"}}[1h]))'
                    f" / sum(rate(comfyfleet_jobs_total{{{COUNTED}}}[1h]))",
                    (0.995, 0.98),
                ),
                number(
                    "Needs an operator",
                    "Settlements that are parked, and audit chains that do not hold. Must be 0.",
                    "short",
                    "max(comfyfleet_settlements_parked) + max(comfyfleet_audit_alarms)",
                    (1, 1),
                ),
            ),
        ),
        (
            "Jobs",
            (
                lines(
                    "Jobs ended per minute",
                    "By outcome: completed, cancelled, or the class of the failure.",
                    "short",
                    Q(rate("comfyfleet_jobs_total", "outcome", OF_WORKFLOW, PER_MINUTE), "{{outcome}}"),
                    stack=True,
                ),
                lines(
                    "Jobs waiting",
                    "By workflow, counted to 10,000 a lane.",
                    "short",
                    Q(
                        f'max by (workflow) (comfyfleet_queue_jobs{{state="queued",{OF_WORKFLOW}}})',
                        "{{workflow}}",
                    ),
                    stack=True,
                ),
                lines("Wait", "Time from order to start.", "s", *quantiles(WAIT, OF_WORKFLOW), limits=(60, 300)),
                lines("Run", "Time that a server worked on a job.", "s", *quantiles(RUN, OF_WORKFLOW)),
                lines("Total", "Time from order to result.", "s", *quantiles(TOTAL, OF_WORKFLOW)),
                lines(
                    "Failures per minute",
                    "Attempts that failed, by reason. A job may have several. Jobs given back are left out.",
                    "short",
                    Q(
                        rate(
                            "comfyfleet_attempts_total",
                            "reason",
                            f'reason!~"completed|requeued",{OF_FLEET}',
                            PER_MINUTE,
                        ),
                        "{{reason}}",
                    ),
                    stack=True,
                ),
            ),
        ),
        (
            "Workers",
            (
                WORKERS_BY_STATUS,
                lines(
                    "Versions",
                    "Replicas and workers by the version that they run.",
                    "short",
                    Q("count by (job, version) (comfyfleet_build_info)", "{{job}} {{version}}"),
                    stack=True,
                ),
            ),
        ),
    ),
    ("fleet", "workflow"),
)

QUEUE = BoardSpec(
    "comfyfleet-queue",
    "Comfyfleet: queue and fairness",
    "What waits, for how long, and whether one tenant takes all the room.",
    (
        (
            "What waits",
            (
                lines(
                    "Waiting jobs",
                    "By workflow, counted to 10,000 a lane.",
                    "short",
                    Q(f'max by (workflow) (comfyfleet_queue_jobs{{state="queued",{OF_WORKFLOW}}})', "{{workflow}}"),
                    Q("max(comfyfleet_queue_delayed_jobs)", "delayed, of all workflows"),
                    stack=True,
                ),
                lines(
                    "Leased jobs",
                    "Jobs that workers hold, by workflow.",
                    "short",
                    Q(f'max by (workflow) (comfyfleet_queue_jobs{{state="leased",{OF_WORKFLOW}}})', "{{workflow}}"),
                    stack=True,
                ),
                lines(
                    "Waiting work",
                    "In GPU-seconds of a machine with speed 1, by fleet. Work of several fleets is divided among them.",
                    "s",
                    Q(f"max by (fleet) (comfyfleet_queue_gpu_seconds{{{OF_FLEET}}})", "{{fleet}}"),
                    stack=True,
                ),
                lines(
                    "Expected wait",
                    "How long a job that is queued now would wait. No line: something waits, and nobody is there.",
                    "s",
                    Q(f"max by (fleet) (comfyfleet_queue_expected_wait_seconds{{{OF_FLEET}}})", "{{fleet}}"),
                    limits=(60, 300),
                ),
                lines(
                    "Oldest job",
                    "How long the job that has waited longest has waited, by workflow.",
                    "s",
                    Q(f"max by (workflow) (comfyfleet_queue_oldest_seconds{{{OF_WORKFLOW}}})", "{{workflow}}"),
                    limits=(3600, 43200),
                ),
                lines(
                    "Wait by workflow",
                    "Nine of ten jobs start sooner than this after their order.",
                    "s",
                    Q(
                        f"histogram_quantile(0.9, sum by (le, workflow) (rate({WAIT}_bucket{{{OF_WORKFLOW}}}{RATE})))",
                        "{{workflow}}",
                        exemplars=True,
                    ),
                ),
            ),
        ),
        (
            "Fairness",
            (
                lines(
                    "Tenants that wait",
                    "Tenants with waiting jobs, among those that are first in each lane.",
                    "short",
                    Q("max(comfyfleet_queue_tenants)", "tenants"),
                    width=8,
                ),
                lines(
                    "Largest tenant",
                    "Share of the waiting jobs that belong to one tenant. High is no fault: GPU time is shared by "
                    "weight, and others pass by.",
                    "percentunit",
                    Q("max(comfyfleet_queue_largest_tenant_ratio)", "share of the largest"),
                    width=8,
                ),
                lines(
                    "Jobs per minute by tenant",
                    "Needs COMFYFLEET_METRICS_TENANTS_MAX; tenants beyond it are `other`.",
                    "short",
                    Q(rate("comfyfleet_tenant_jobs_total", "tenant", times=PER_MINUTE), "{{tenant}}"),
                    stack=True,
                    width=8,
                ),
            ),
        ),
        (
            "Leases",
            (
                lines(
                    "Leases per minute",
                    "Taken, confirmed by a first heartbeat, returned by their worker, expired, or refused as lost.",
                    "short",
                    Q(rate("comfyfleet_leases_total", "event", times=PER_MINUTE), "{{event}}"),
                    width=8,
                ),
                lines(
                    "Polls",
                    "How long a poll waited for its lease. Long is good: workers wait for work, not work for workers.",
                    "s",
                    *quantiles("comfyfleet_poll_wait_seconds", OF_FLEET),
                    width=8,
                ),
                lines(
                    "Polls answered together",
                    "How many polls one look at the queue answers. It grows when many workers ask at once.",
                    "short",
                    Q(
                        rate("comfyfleet_lease_batch_size_sum") + " / " + rate("comfyfleet_lease_batch_size_count"),
                        "mean",
                    ),
                    width=8,
                ),
            ),
        ),
    ),
    ("fleet", "workflow"),
)

MACHINES = BoardSpec(
    "comfyfleet-machines",
    "Comfyfleet: machines and scaling",
    "How many machines fleets want, have and use, and what keeps them from more. Orange marks: the wanted number "
    "changed. Red marks: something held a fleet back.",
    (
        (
            "Scaling",
            (
                lines(
                    "Wanted and there",
                    "What fleets that scale aim at, and what takes work now.",
                    "short",
                    Q(f"max by (fleet) (comfyfleet_workers_desired{{{OF_FLEET}}})", "{{fleet}} wanted"),
                    Q(f"max by (fleet) (comfyfleet_workers_max{{{OF_FLEET}}})", "{{fleet}} at most"),
                    Q(
                        f"sum by (fleet) (max by (fleet, status) (comfyfleet_workers{{{AT_WORK},{OF_FLEET}}}))",
                        "{{fleet}} at work",
                    ),
                ),
                WORKERS_BY_STATUS,
                lines(
                    "Held back",
                    "1: why a fleet does less than its load asks for. Maximum and growth are limits that you set.",
                    "short",
                    Q(f"max by (fleet, hold) (comfyfleet_scaling_held{{{OF_FLEET}}}) > 0", "{{fleet}} {{hold}}"),
                ),
                lines(
                    "Last decision",
                    "Age of each fleet's newest decision. A fleet decides every 10 s.",
                    "s",
                    Q(
                        f"time() - max by (fleet) (comfyfleet_scaling_decision_timestamp_seconds{{{OF_FLEET}}})",
                        "{{fleet}}",
                    ),
                    limits=(60, 120),
                ),
            ),
        ),
        (
            "Machines",
            (
                lines(
                    "What machines do",
                    "Machines of fleets that scale, by phase. Only `running` earns.",
                    "short",
                    Q(rate("comfyfleet_gpu_seconds_total", "phase", OF_FLEET), "{{phase}}"),
                    stack=True,
                ),
                lines(
                    "Start-up time",
                    "From asking for a machine to its first job: 95 % of the starts of an hour were faster.",
                    "s",
                    Q(
                        "histogram_quantile(0.95, sum by (le, fleet) "
                        f"(increase(comfyfleet_machine_start_seconds_bucket{{{OF_FLEET}}}[1h])))",
                        "{{fleet}}",
                    ),
                ),
                lines(
                    "Launched per hour",
                    "Machines that providers launched, by market.",
                    "short",
                    Q(
                        f"sum by (fleet, market) (increase(comfyfleet_machines_launched_total{{{OF_FLEET}}}[1h]))",
                        "{{fleet}} {{market}}",
                    ),
                    stack=True,
                ),
                lines(
                    "Ended per hour",
                    "Machines that ended, by reason. Lost: we had neither drained nor ended them.",
                    "short",
                    Q(
                        f"sum by (market, reason) (increase(comfyfleet_machines_ended_total{{{OF_FLEET}}}[1h]))",
                        "{{market}} {{reason}}",
                    ),
                    stack=True,
                ),
                lines(
                    "Failed launches per hour",
                    "Machines that were asked for and not launched, or that never registered.",
                    "short",
                    Q(
                        f"sum by (fleet, reason) (increase(comfyfleet_machine_launch_errors_total{{{OF_FLEET}}}[1h]))",
                        "{{fleet}} {{reason}}",
                    ),
                    stack=True,
                ),
                lines(
                    "Spot interruptions per hour",
                    "Jobs given back because their machine is being taken away.",
                    "short",
                    Q(
                        f"sum by (fleet) (increase(comfyfleet_spot_interruptions_total{{{OF_FLEET}}}[1h]))",
                        "{{fleet}}",
                    ),
                ),
            ),
        ),
        (
            "Workers and their servers",
            (
                lines(
                    "Servers ready",
                    "ComfyUI servers of workers: those that can run jobs, and all.",
                    "short",
                    Q("sum(comfyfleet_worker_server_ready)", "ready"),
                    Q("count(comfyfleet_worker_server_ready)", "all"),
                ),
                lines(
                    "Servers busy",
                    "Share of the last 10 minutes in which servers executed prompts.",
                    "percentunit",
                    Q(
                        "sum(increase(comfyfleet_worker_server_busy_seconds_total[10m])) / 600"
                        " / count(comfyfleet_worker_server_ready)",
                        "busy",
                    ),
                ),
                lines(
                    "Stages of a job",
                    "Where workers spend their time, in jobs at once.",
                    "short",
                    Q(rate("comfyfleet_worker_stage_seconds_sum", "stage"), "{{stage}}"),
                    stack=True,
                ),
                lines(
                    "Phases of workers",
                    "How many workers are in each phase.",
                    "short",
                    Q("sum by (phase) (comfyfleet_worker_phase)", "{{phase}}"),
                    stack=True,
                ),
                lines(
                    "Jobs at workers",
                    "Leases held, and jobs that run on a server.",
                    "short",
                    Q("sum(comfyfleet_worker_held_leases)", "leases held"),
                    Q("sum(comfyfleet_worker_running_jobs)", "running"),
                ),
                lines(
                    "Ends at workers per minute",
                    "As workers count them: outcomes, jobs given back, leases lost.",
                    "short",
                    Q(rate("comfyfleet_worker_jobs_total", "outcome", times=PER_MINUTE), "{{outcome}}"),
                    Q(
                        rate("comfyfleet_worker_given_back_total", "reason", times=PER_MINUTE),
                        "given back: {{reason}}",
                    ),
                    Q(
                        rate("comfyfleet_worker_leases_total", "event", 'event="lost"', PER_MINUTE),
                        "lease {{event}}",
                    ),
                ),
                lines(
                    "Files",
                    "Bytes a second of inputs and outputs.",
                    "Bps",
                    Q(rate("comfyfleet_worker_bytes_total", "way"), "{{way}}"),
                ),
                lines(
                    "Inputs per minute",
                    "Inputs that jobs asked for: found in the worker's cache, or fetched.",
                    "short",
                    Q(rate("comfyfleet_worker_cache_total", "look", times=PER_MINUTE), "{{look}}"),
                    stack=True,
                ),
                lines(
                    "Trouble per hour",
                    "Servers restarted, decisions of the health check, and jobs that it found lost and recovered.",
                    "short",
                    Q("sum(increase(comfyfleet_worker_server_restarts_total[1h]))", "servers restarted"),
                    Q(
                        "sum by (action) (increase("
                        'comfyfleet_worker_health_checks_total{action!="continue_monitoring"}[1h]))',
                        "health check: {{action}}",
                    ),
                    Q("sum by (reason) (increase(comfyfleet_worker_recoveries_total[1h]))", "recovered: {{reason}}"),
                ),
                lines(
                    "Slowest loop",
                    "Seconds since the loop of the slowest worker last turned. Leases are given up at 120 s.",
                    "s",
                    Q("max(comfyfleet_worker_loop_age_seconds)", "slowest"),
                    limits=(30, 120),
                ),
            ),
        ),
    ),
    ("fleet",),
    (
        (
            "Wanted number changed",
            f"max by (fleet) (comfyfleet_workers_desired{{{OF_FLEET}}})"
            f" != max by (fleet) (comfyfleet_workers_desired{{{OF_FLEET}}} offset 1m)",
        ),
        (
            "Held back",
            f'max by (fleet, hold) (comfyfleet_scaling_held{{hold!~"maximum|growth",{OF_FLEET}}}) > 0',
        ),
    ),
)

MONEY = BoardSpec(
    "comfyfleet-money",
    "Comfyfleet: money",
    "Tokens that come in and are spent, and how much of the paid time earns. The ledger is exact; these are rates.",
    (
        (
            "Tokens",
            (
                number(
                    "Credited in a day",
                    "Tokens that came in over the API: payments and gifts.",
                    "short",
                    'sum(increase(comfyfleet_tokens_total{type="credit"}[1d]))',
                    width=6,
                ),
                number(
                    "Consumed in a day",
                    "Tokens of jobs that completed.",
                    "short",
                    'sum(increase(comfyfleet_tokens_total{type="consume"}[1d]))',
                    width=6,
                ),
                number(
                    "Refunded in a day",
                    "Tokens of jobs that failed or were cancelled.",
                    "short",
                    'sum(increase(comfyfleet_tokens_total{type="refund"}[1d]))',
                    width=6,
                ),
                number(
                    "Refunded share",
                    "Of the tokens of jobs that ended in a day.",
                    "percentunit",
                    'sum(increase(comfyfleet_tokens_total{type="refund"}[1d]))'
                    ' / sum(increase(comfyfleet_tokens_total{type=~"consume|refund"}[1d]))',
                    (0.05, 0.2),
                    6,
                ),
                lines(
                    "Tokens per minute",
                    "Credited, reserved for new jobs, consumed and refunded.",
                    "short",
                    Q(rate("comfyfleet_tokens_total", "type", times=PER_MINUTE), "{{type}}"),
                    width=24,
                ),
            ),
        ),
        (
            "Machines",
            (
                lines(
                    "Paid GPU-hours per hour",
                    "Of fleets that scale, by phase. One machine counts as one GPU.",
                    "short",
                    Q(rate("comfyfleet_gpu_seconds_total", "phase", OF_FLEET), "{{phase}}"),
                    stack=True,
                ),
                lines(
                    "Share that earns",
                    "Time with a job, of all the time that machines were paid for.",
                    "percentunit",
                    Q(
                        f'sum by (fleet) (rate(comfyfleet_gpu_seconds_total{{phase="running",{OF_FLEET}}}{RATE}))'
                        f" / sum by (fleet) (rate(comfyfleet_gpu_seconds_total{{{OF_FLEET}}}{RATE}))",
                        "{{fleet}}",
                    ),
                ),
                lines(
                    "Tokens per GPU-hour",
                    "Tokens consumed for each hour that a machine was paid for. Fleets that do not scale are left out.",
                    "short",
                    Q(
                        'sum(increase(comfyfleet_tokens_total{type="consume"}[1h]))'
                        " / (sum(increase(comfyfleet_gpu_seconds_total[1h])) / 3600)",
                        "tokens",
                    ),
                    width=24,
                ),
            ),
        ),
    ),
    ("fleet",),
)

CONTROL_PLANE = BoardSpec(
    "comfyfleet-control-plane",
    "Comfyfleet: control plane",
    "Whether replicas answer, carry on what they owe, and reach what they need.",
    (
        (
            "Objectives",
            (
                lines(
                    "Error budget, last hour",
                    "How many times faster than allowed each objective spends its error budget. 14.4 wakes somebody.",
                    "short",
                    *(
                        Q(f'comfyfleet:slo_errors:ratio_rate1h{{slo="{slo}"}} / {allowed}', "{{slo}}")
                        for slo, allowed in (
                            ("start", 0.01),
                            ("success", 0.005),
                            ("worker_api", 0.001),
                            ("webhooks", 0.01),
                        )
                    ),
                    limits=(6, 14.4),
                ),
                lines(
                    "Databases read",
                    "1: the gauges of this database could be read. 0: it does not answer.",
                    "short",
                    Q("max by (database) (comfyfleet_gauges_read_ok)", "{{database}}"),
                ),
            ),
        ),
        (
            "Answers",
            (
                lines(
                    "Workers' calls",
                    "How long workers wait for answers. Polls and notices wait on purpose and are left out.",
                    "s",
                    *quantiles("comfyfleet_worker_api_seconds", 'call!~"poll|notices"', "call", "{{call}}"),
                    limits=(0.5, 1),
                ),
                lines(
                    "Workers' calls per second",
                    "By call and class of status.",
                    "reqps",
                    Q(rate("comfyfleet_worker_api_seconds_count", "call, status"), "{{call}} {{status}}"),
                    stack=True,
                ),
                lines(
                    "API",
                    "How long other requests wait until their answer begins.",
                    "s",
                    *quantiles("comfyfleet_api_request_seconds", "", "surface", "{{surface}}"),
                ),
                lines(
                    "API requests per second",
                    "By surface and class of status.",
                    "reqps",
                    Q(rate("comfyfleet_api_request_seconds_count", "surface, status"), "{{surface}} {{status}}"),
                    stack=True,
                ),
            ),
        ),
        (
            "What is owed",
            (
                lines(
                    "Relay lag",
                    "Age of the oldest row that a relay has not carried on.",
                    "s",
                    Q("max by (pool, relay) (comfyfleet_relay_lag_seconds)", "{{pool}} {{relay}}"),
                    limits=(30, 60),
                ),
                lines(
                    "Parked, alarmed",
                    "Settlements that an operator must look at, and audit chains that do not hold.",
                    "short",
                    Q("max(comfyfleet_settlements_parked)", "settlements parked"),
                    Q("max(comfyfleet_audit_alarms)", "audit alarms"),
                    limits=(1, 1),
                ),
                lines(
                    "Upkeep",
                    "Time since each loop last succeeded, as a share of 60 s and five intervals. 100 % is an alert.",
                    "percentunit",
                    Q(
                        "(time() - max by (loop) (comfyfleet_upkeep_last_success_timestamp_seconds))"
                        " / (60 + 5 * max by (loop) (comfyfleet_upkeep_interval_seconds))",
                        "{{loop}}",
                    ),
                    limits=(0.5, 1),
                ),
                lines(
                    "Failed ticks per minute",
                    "Of the loops of upkeep.",
                    "short",
                    Q(rate("comfyfleet_upkeep_ticks_total", "loop", 'outcome="failed"', PER_MINUTE), "{{loop}}"),
                ),
                lines(
                    "Webhooks per minute",
                    "Deliveries, by whether they arrived.",
                    "short",
                    Q(rate("comfyfleet_webhook_deliveries_total", "outcome", times=PER_MINUTE), "{{outcome}}"),
                    stack=True,
                ),
                lines(
                    "Webhook delay",
                    "Time from an event to its first delivery that arrived.",
                    "s",
                    *quantiles("comfyfleet_webhook_delay_seconds"),
                    limits=(60, 300),
                ),
            ),
        ),
        (
            "What it needs",
            (
                lines(
                    "Connections to databases",
                    "Share of the connections that a replica may have, and uses.",
                    "percentunit",
                    Q(
                        'comfyfleet_db_pool_connections{state="used"}'
                        " / on (instance, database) comfyfleet_db_pool_connections_max",
                        "{{instance}} {{database}}",
                    ),
                    limits=(0.8, 1),
                ),
                lines(
                    "Calls to other systems",
                    "How long calls take, without those that wait on purpose: ComfyUI, object store, clouds, webhooks.",
                    "s",
                    *quantiles("comfyfleet_exchange_seconds", 'kind!="control_plane_wait"', "kind", "{{kind}}"),
                ),
                lines(
                    "Failed calls per minute",
                    "Calls to other systems that did not succeed, by kind and outcome.",
                    "short",
                    Q(
                        rate(
                            "comfyfleet_exchange_seconds_count", "kind, outcome", 'outcome!~"ok|cancelled"', PER_MINUTE
                        ),
                        "{{kind}} {{outcome}}",
                    ),
                ),
                lines(
                    "Unanswered calls of workers per minute",
                    "Polls and heartbeats that workers sent, and the control plane did not answer.",
                    "short",
                    Q(
                        rate("comfyfleet_worker_polls_total", matchers='answer="unanswered"', times=PER_MINUTE),
                        "polls",
                    ),
                    Q(
                        rate("comfyfleet_worker_heartbeats_total", matchers='answer="unanswered"', times=PER_MINUTE),
                        "heartbeats",
                    ),
                ),
                lines(
                    "Free disk",
                    "Free share of the file systems that replicas and workers write to.",
                    "percentunit",
                    Q(
                        "min by (job, place) (comfyfleet_disk_free_bytes / comfyfleet_disk_size_bytes)",
                        "{{job}} {{place}}",
                    ),
                    limits=(0.1, 0.05),
                ),
                lines(
                    "SQLite files",
                    "Size of the databases on a local disk, with their journals.",
                    "bytes",
                    Q("max by (database) (comfyfleet_database_file_bytes)", "{{database}}"),
                ),
                lines(
                    "Processor",
                    "Cores that each process uses.",
                    "short",
                    Q('rate(process_cpu_seconds_total{job=~"comfyfleet.*"}[$__rate_interval])', "{{job}} {{instance}}"),
                ),
                lines(
                    "Memory",
                    "Resident memory of each process.",
                    "bytes",
                    Q('process_resident_memory_bytes{job=~"comfyfleet.*"}', "{{job}} {{instance}}"),
                ),
            ),
        ),
    ),
)

ONE_JOB = BoardSpec(
    "comfyfleet-job",
    "Comfyfleet: one job",
    "From a slow point to the job behind it. Metrics have no job in their labels; the dots on these panels do.",
    (
        (
            "Find it",
            (
                PanelSpec(
                    "How to use this page",
                    "",
                    "",
                    (
                        Q(
                            "Each dot is one job: hold the pointer over it to read its `job_id`, and its `trace_id` "
                            "where traces are on. Paste them into the boxes above.\n\n"
                            "- The job with its attempts, log and graph: "
                            "[$console/console/dispatches/$job_id]($console/console/dispatches/$job_id)\n"
                            "- On a shell: `comfyfleet dispatches show $job_id`\n"
                            "- Its trace is below, if traces are on and their data source is chosen above."
                        ),
                    ),
                    PanelKind.TEXT,
                    width=24,
                ),
                lines("Wait", "Time from order to start. Dots are jobs.", "s", *quantiles(WAIT, OF_WORKFLOW), width=8),
                lines("Run", "Time that a server worked. Dots are jobs.", "s", *quantiles(RUN, OF_WORKFLOW), width=8),
                lines("Total", "From order to result. Dots are jobs.", "s", *quantiles(TOTAL, OF_WORKFLOW), width=8),
            ),
        ),
        (
            "What jobs spend their time on",
            (
                lines(
                    "Stages",
                    "Mean time of each stage at workers: fetch inputs, wait for the server, run, fetch and upload.",
                    "s",
                    Q(
                        rate("comfyfleet_worker_stage_seconds_sum", "stage")
                        + " / "
                        + rate("comfyfleet_worker_stage_seconds_count", "stage"),
                        "{{stage}}",
                    ),
                    stack=True,
                ),
                lines(
                    "Attempts that failed, per minute",
                    "By reason. A job that is tried again shows here each time.",
                    "short",
                    Q(
                        rate("comfyfleet_attempts_total", "reason", 'reason!~"completed|requeued"', PER_MINUTE),
                        "{{reason}}",
                    ),
                ),
                PanelSpec(
                    "Trace",
                    "The steps of one job across the control plane and its worker. Needs a data source of traces.",
                    "",
                    (Q("$trace_id"),),
                    PanelKind.TRACE,
                    width=24,
                ),
            ),
        ),
    ),
    ("workflow", "job_id", "trace_id", "console", "traces"),
)

BOARDS = (FLEET, QUEUE, MACHINES, MONEY, CONTROL_PLANE, ONE_JOB)
