"""However many workers, tenants and workflows there are, Prometheus gets a bounded number of series."""

import subprocess
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from msgspec import structs
from prometheus_client.exposition import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.registry import CollectorRegistry

from comfyfleet.dispatch.figures import QueueFigures, Waiting
from comfyfleet.gauges import GaugeCollector, PoolReading, Reading
from comfyfleet.kernel.exchanges import ExchangeOutcome, Kind, TimedExchange
from comfyfleet.kernel.ids import WorkflowId
from comfyfleet.machines import NewestDecision
from comfyfleet.metrics import facts
from comfyfleet.metrics.control_plane import (
    FLEETS_MAX,
    LAUNCH_PROBLEMS,
    MARKETS,
    RUN_S,
    START_S,
    WAIT_S,
    WORKFLOWS_MAX,
    ControlPlaneCounters,
)
from comfyfleet.metrics.names import NamedCollector
from comfyfleet.scaling import EndReason, LaunchProblem, Market, Reason, ScalingDecision
from tests.metric_names import find_promtool, problems_of

WORKERS, TENANTS, WORKFLOWS, FLEETS = 10_000, 1_000, 500, 20
OUTCOMES = ("completed", "cancelled", "out_of_memory", "infra")
# Of a histogram: its buckets, the endless one, sum and count.
WAIT_SERIES, RUN_SERIES = len(WAIT_S) + 3, len(RUN_S) + 3


def series(registry: CollectorRegistry, name: str = "comfyfleet_") -> int:
    return sum(each.name.startswith(name) for family in registry.collect() for each in family.samples)


def settled(number: int, workflow: UUID, tenant: UUID) -> facts.JobSettled:
    outcome = OUTCOMES[number % len(OUTCOMES)]
    return facts.JobSettled(uuid4(), tenant, workflow, outcome, tokens=3, total_s=5.0, wait_s=2.0, run_s=3.0)


@pytest.mark.parametrize(("tenants_max", "tenant_series"), [(0, 0), (20, 21 * len(OUTCOMES))])
def test_a_large_fleet_has_few_series(tenants_max: int, tenant_series: int) -> None:
    registry = CollectorRegistry()
    counters = ControlPlaneCounters(registry, tenants_max=tenants_max)
    workflows, tenants = [uuid4() for _ in range(WORKFLOWS)], [uuid4() for _ in range(TENANTS)]
    fleets = [uuid4() for _ in range(FLEETS)]
    for number in range(WORKERS):
        counters.note(facts.LeaseTaken(fleets[number % FLEETS], 0.1))
        counters.note(facts.AttemptEnded(fleets[number % FLEETS], "completed"))
    for number in range(WORKFLOWS * len(OUTCOMES)):
        workflow, tenant = workflows[number // len(OUTCOMES)], tenants[number // len(OUTCOMES) * 2]
        counters.note(settled(number, workflow, tenant))
    named = WORKFLOWS_MAX + 1  # and `other`
    assert series(registry, "comfyfleet_jobs_total") == named * len(OUTCOMES)
    assert series(registry, "comfyfleet_job_wait_seconds") == named * WAIT_SERIES
    assert series(registry, "comfyfleet_job_run_seconds") == named * RUN_SERIES
    assert series(registry, "comfyfleet_poll_wait_seconds") == FLEETS * WAIT_SERIES
    assert series(registry, "comfyfleet_tenant_jobs_total") == tenant_series
    assert series(registry) < named * (len(OUTCOMES) + 2 * WAIT_SERIES + RUN_SERIES) + FLEETS * 20 + tenant_series + 20
    jobs = registry.get_sample_value("comfyfleet_jobs_total", {"workflow": "other", "outcome": "completed"})
    assert jobs == WORKFLOWS - WORKFLOWS_MAX, "nothing is lost: it is counted together"


def test_the_queue_of_500_workflows_has_200_names_and_loses_no_job() -> None:
    queue = QueueFigures(
        waiting={WorkflowId(uuid4()): Waiting(number + 1, oldest_s=float(number)) for number in range(WORKFLOWS)},
        tenants={},
        running={},
        reasons={},
        delayed=0,
        delayed_is_at_least=False,
    )
    found = [each for family in collected(Reading({}, queue, {}, {}, 0, 0)) for each in family.samples]
    jobs = [each.value for each in found if each.name == "comfyfleet_queue_jobs"]
    assert (len(jobs), sum(jobs)) == (WORKFLOWS_MAX + 1, sum(range(1, WORKFLOWS + 1)))
    oldest = {each.labels["workflow"]: each.value for each in found if each.name == "comfyfleet_queue_oldest_seconds"}
    assert (len(oldest), oldest["other"]) == (WORKFLOWS_MAX + 1, WORKFLOWS - WORKFLOWS_MAX - 1)


def test_many_fleets_that_scale_have_a_bounded_number_of_series() -> None:
    registry = CollectorRegistry()
    counters = ControlPlaneCounters(registry)
    for _ in range(FLEETS_MAX + 100):
        fleet = uuid4()
        for fact in machine_facts(fleet):
            counters.note(fact)
    named = FLEETS_MAX + 1
    assert series(registry, "comfyfleet_machine_launch_errors_total") == named * len(LAUNCH_PROBLEMS)
    assert series(registry, "comfyfleet_gpu_seconds_total") == named * 2
    assert series(registry, "comfyfleet_machine_start_seconds") == named * (len(START_S) + 3)
    assert series(registry, "comfyfleet_machines_ended_total") == named * (len(MARKETS) + 1)
    assert registry.get_sample_value("comfyfleet_gpu_seconds_total", {"fleet": "other", "phase": "idle"}) == 100 * 20
    queue, names = (
        QueueFigures({}, {}, {}, {}, 0, False),
        [f"fleet-{number}/test" for number in range(FLEETS_MAX + 100)],
    )
    work = dict.fromkeys(names, 2.0)
    found = [
        each
        for family in collected(Reading({}, queue, {}, {}, 0, 0, queued_gpu_s=work, expected_wait_s=work))
        for each in family.samples
    ]
    seconds = [each.value for each in found if each.name == "comfyfleet_queue_gpu_seconds"]
    assert (len(seconds), sum(seconds)) == (named, 2.0 * len(names)), "nothing is lost: it is counted together"
    waits = [each.value for each in found if each.name == "comfyfleet_queue_expected_wait_seconds"]
    assert (len(waits), max(waits)) == (named, 2.0)


def test_a_fleet_that_scales_shows_zeros_before_anything_fails() -> None:
    """The first failure would be no increase if its series began with it."""
    registry, fleet = CollectorRegistry(), uuid4()
    counters = ControlPlaneCounters(registry)
    counters.note(facts.MachinesSeen(fleet, 0.0, {"idle": 1}))
    for reason in LAUNCH_PROBLEMS:
        labels = {"fleet": str(fleet), "reason": reason}
        assert registry.get_sample_value("comfyfleet_machine_launch_errors_total", labels) == 0
    lost = {"fleet": str(fleet), "market": "spot", "reason": "lost"}
    assert registry.get_sample_value("comfyfleet_machines_ended_total", lost) == 0
    assert set(LAUNCH_PROBLEMS) == {*LaunchProblem, EndReason.NEVER_REGISTERED}
    assert set(MARKETS) == {*Market}


def machine_facts(fleet: UUID) -> list[facts.Fact]:
    return [
        facts.MachinesLaunched(fleet, "spot", 2),
        facts.LaunchFailed(fleet, "capacity", 2),
        facts.MachineStarted(fleet, 100.0),
        facts.MachineEnded(fleet, "spot", "drained"),
        facts.MachinesSeen(fleet, 10.0, {"running": 1, "idle": 2}),
    ]


def test_ids_become_names_and_exemplars_are_in_openmetrics_only() -> None:
    counted, shown = CollectorRegistry(), CollectorRegistry()
    counters = ControlPlaneCounters(counted)
    workflow, fleet, deleted = uuid4(), uuid4(), uuid4()
    fact = settled(0, workflow, uuid4())
    counters.note(fact)
    counters.note(settled(0, deleted, uuid4()))
    counters.note(facts.AttemptEnded(fleet, "completed"))
    counters.note(facts.AttemptEnded(None, "completed"))
    names = {str(workflow): "face-swap", str(fleet): "video/production"}
    shown.register(NamedCollector(counted, lambda: names))
    assert counters.ids() == {str(workflow), str(fleet), str(deleted)}
    for name in ("face-swap", str(deleted)):
        assert shown.get_sample_value("comfyfleet_jobs_total", {"workflow": name, "outcome": "completed"}) == 1
    for name in ("video/production", "none"):
        assert shown.get_sample_value("comfyfleet_attempts_total", {"fleet": name, "reason": "completed"}) == 1
    exemplars = [
        each.exemplar.labels
        for family in parse_openmetrics(generate_openmetrics(shown).decode())
        for each in family.samples
        if each.exemplar and each.labels.get("workflow") == "face-swap"
    ]
    assert exemplars == [{"job_id": str(fact.job_id)}] * 3
    assert str(fact.job_id) not in generate_latest(shown).decode()


def test_an_exemplar_names_the_trace_where_there_is_one() -> None:
    registry = CollectorRegistry()
    fact = structs.replace(settled(0, uuid4(), uuid4()), trace_id="0af7651916cd43dd8448eb211c80319c")
    ControlPlaneCounters(registry).note(fact)
    exemplars = [
        each.exemplar.labels
        for family in parse_openmetrics(generate_openmetrics(registry).decode())
        for each in family.samples
        if each.exemplar
    ]
    assert exemplars == [{"job_id": str(fact.job_id), "trace_id": fact.trace_id}] * 3


def test_what_is_shown_follows_the_naming_rules_of_prometheus() -> None:
    registry = CollectorRegistry()
    counters = ControlPlaneCounters(registry, tenants_max=2)
    for fact in (
        settled(0, uuid4(), uuid4()),
        facts.LeaseTaken(None, 1.0),
        facts.LeasesChanged("expired", 3),
        facts.PollsAnswered(7),
        facts.SpotInterrupted(None),
        facts.TokensMoved("credit", 5),
        *machine_facts(uuid4()),
        facts.AttemptEnded(None, "infra"),
        facts.LoopTicked("expire_leases", failed=False, at_s=1.0, every_s=2.0),
        facts.LoopTicked("expire_leases", failed=True, at_s=2.0, every_s=2.0),
        facts.WebhookSent(arrived=True, late_s=1.0),
        facts.WorkerCalled("poll", 200, 0.1),
        facts.ApiCalled("tenant", 503, 0.1),
    ):
        counters.note(fact)
    counters.exchanged(TimedExchange(Kind.WEBHOOK, "POST", outcome=ExchangeOutcome.TIMED_OUT, took_s=9.0))
    newest = NewestDecision(ScalingDecision(desired=1, reason=Reason.STEADY), 3, datetime.now(UTC), 1.0)
    reading = Reading(
        {},
        QueueFigures({}, {}, {}, {}, 0, False),
        {("none", "ready"): 1},
        {"main": 1.0},
        0,
        0,
        queued_gpu_s={"none": 1.0},
        expected_wait_s={"none": 1.0},
        scaling={"none": newest},
    )
    registry.register(GaugeCollector(a_reader(reading)))
    text = generate_latest(registry).decode()
    assert problems_of(text) == []
    checked = subprocess.run(
        [find_promtool(), "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    assert len([line for line in text.splitlines() if line.startswith("# TYPE")]) > 20
    success = registry.get_sample_value("comfyfleet_upkeep_last_success_timestamp_seconds", {"loop": "expire_leases"})
    assert success == 1.0, "a tick that failed is no success"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# HELP a_x x\n# TYPE a_x gauge\na_x 1\n", None),
        ("# HELP a_x x\n# TYPE a_x counter\na_x 1\n", "a counter without _total"),
        ("# HELP a_x_total x\n# TYPE a_x_total gauge\na_x_total 1\n", "_total, and no counter"),
        ("# TYPE a_x gauge\na_x 1\n", "no help text"),
        ("# HELP a_x_milliseconds x\n# TYPE a_x_milliseconds gauge\na_x_milliseconds 1\n", "not in base units"),
        ("# HELP aX x\n# TYPE aX gauge\naX 1\n", "not lower_snake_case"),
        ('# HELP a_x x\n# TYPE a_x gauge\na_x{instance="1"} 1\n', "a reserved label in ['instance']"),
    ],
)
def test_the_rules_find_what_breaks_them(text: str, problem: str | None) -> None:
    assert [each.partition(": ")[2] for each in problems_of(text)] == ([problem] if problem else [])


def a_reader(reading: Reading) -> Any:
    house = SimpleNamespace(
        databases=list, desk=SimpleNamespace(database=SimpleNamespace(connections=dict, connections_max=int))
    )
    return SimpleNamespace(central=reading, pools={"main": PoolReading(0.0, 0.0)}, house=house)


def collected(reading: Reading) -> Any:
    return GaugeCollector(a_reader(reading)).collect()
