"""The gauges, as Prometheus reads them."""

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from comfyfleet.db import Database
from comfyfleet.gauges.read import DECISION_HOLDS_S, GaugeReader, Reading
from comfyfleet.metrics.control_plane import FLEETS_MAX, WORKFLOWS_MAX
from comfyfleet.metrics.labels import BoundedLabel
from comfyfleet.scaling import Hold

WORKER_STATUSES = ("ready", "busy", "pending", "draining", "silent")
STARTING = "starting"


class GaugeCollector(Collector):
    """What the reader has read, and how this process is now. Called on the thread of whoever asks."""

    def __init__(self, reader: GaugeReader) -> None:
        self._reader = reader

    def describe(self) -> list[Any]:
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        reader = self._reader
        ok = _family("gauges_read_ok", "1: the gauges of this database are there.", "database")
        ok.add_metric(["central"], int(reader.central is not None))
        for name, found in reader.pools.items():
            ok.add_metric([name], int(found is not None))
        yield ok
        if reader.central is not None:
            yield from _queue(reader.central)
            yield from _house(reader.central)
            yield from _fairness(reader.central)
            yield from _scaling(reader.central)
        yield self._lag()
        yield from self._connections()

    def _lag(self) -> GaugeMetricFamily:
        lag = _family("relay_lag_seconds", "Age of the oldest row that a relay has not carried on.", "pool", "relay")
        central = self._reader.central
        for pool, found in self._reader.pools.items():
            if central is not None:
                lag.add_metric([pool, "settlements"], max(0.0, central.settlements_lag_s.get(pool, 0.0)))
            if found is not None:
                lag.add_metric([pool, "submissions"], found.submissions_lag_s)
                lag.add_metric([pool, "webhooks"], found.webhooks_lag_s)
        return lag

    def _connections(self) -> Iterator[GaugeMetricFamily]:
        family = _family("db_pool_connections", "Connections of this process to a database.", "database", "state")
        at_most = _family(
            "db_pool_connections_max", "Connections that this process may have to a database.", "database"
        )
        house = self._reader.house
        named: list[tuple[str, Database]] = [(each.name, each) for each in house.databases()]
        for name, database in [*named, ("central (workers)", house.desk.database)]:
            for state, count in database.connections().items():
                family.add_metric([name, state], count)
            if (most := database.connections_max()) is not None:
                at_most.add_metric([name], most)
        yield from (family, at_most)


def _queue(reading: Reading) -> Iterator[GaugeMetricFamily]:
    jobs = _family(
        "queue_jobs", "Jobs in the queue: waiting (counted to 10,000 a lane) or leased.", "workflow", "state"
    )
    for state, counts in (
        ("queued", {id: waiting.queued for id, waiting in reading.queue.waiting.items()}),
        ("leased", reading.queue.running),
    ):
        for workflow, count in _bounded(reading, counts, sum).items():
            jobs.add_metric([workflow, state], count)
    yield jobs
    yield _gauge("queue_delayed_jobs", "Jobs that wait out a pause (counted to 10,000).", reading.queue.delayed)
    oldest = _family("queue_oldest_seconds", "How long the job that has waited longest has waited.", "workflow")
    ages = {id: waiting.oldest_s for id, waiting in reading.queue.waiting.items() if waiting.oldest_s is not None}
    for workflow, age in _bounded(reading, ages, max).items():
        oldest.add_metric([workflow], age)
    yield oldest
    work = _family(
        "queue_gpu_seconds", "Work that waits, by the fleet that may do it; shared work is divided.", "fleet"
    )
    for fleet, gpu_s in _first(reading.queued_gpu_s, FLEETS_MAX, sum).items():
        work.add_metric([fleet], gpu_s)
    yield work
    wait = _family("queue_expected_wait_seconds", "How long a job queued now would wait for a fleet.", "fleet")
    for fleet, wait_s in _first(reading.expected_wait_s, FLEETS_MAX, max).items():
        wait.add_metric([fleet], wait_s)
    yield wait


def _bounded(reading: Reading, values: Mapping[Any, float], together: Any) -> dict[str, float]:
    named: dict[str, float] = {}
    for workflow_id, value in values.items():
        name = reading.names.get(str(workflow_id), str(workflow_id))
        named[name] = together([named[name], value]) if name in named else value
    return _first(named, WORKFLOWS_MAX, together)


def _first(values: Mapping[str, float], names_max: int, together: Any) -> dict[str, float]:
    """The largest keep their names."""
    bound, found = BoundedLabel(names_max), dict[str, list[float]]()
    for name, value in sorted(values.items(), key=lambda each: -each[1]):
        found.setdefault(bound(name), []).append(value)
    return {name: together(each) for name, each in found.items()}


def _fairness(reading: Reading) -> Iterator[GaugeMetricFamily]:
    waiting = [each.queued for each in reading.queue.tenants.values()]
    yield _gauge("queue_tenants", "Tenants whose jobs wait, among those first in each lane.", len(waiting))
    largest = max(waiting) / sum(waiting) if sum(waiting) else 0.0
    yield _gauge("queue_largest_tenant_ratio", "Share of these jobs that belong to one tenant, at most.", largest)


def _scaling(reading: Reading) -> Iterator[GaugeMetricFamily]:
    """As the newest decisions have it. What an old one says of machines is absent; that it is old is told."""
    desired = _family("workers_desired", "Workers that a fleet that scales is to have ready or starting.", "fleet")
    at_most = _family("workers_max", "Workers that a fleet that scales may have.", "fleet")
    held = _family("scaling_held", "1: why a fleet does less than its load asks for.", "fleet", "hold")
    decided = _family("scaling_decision_timestamp_seconds", "When a fleet last decided how many workers.", "fleet")
    for fleet, newest in reading.scaling.items():
        at_most.add_metric([fleet], newest.max_workers)
        decided.add_metric([fleet], newest.decided_at.timestamp())
        if newest.age_s < DECISION_HOLDS_S:
            desired.add_metric([fleet], newest.decision.desired)
            holds = {each.hold for each in newest.decision.held}
            for hold in Hold:
                held.add_metric([fleet, hold.value], int(hold in holds))
    yield from (desired, at_most, held, decided)


def _house(reading: Reading) -> Iterator[GaugeMetricFamily]:
    workers = _family(
        "workers",
        "Workers by what they do; silent: not heard of for 90 s; starting: machines without one yet.",
        "fleet",
        "status",
    )
    current = {fleet: each for fleet, each in reading.scaling.items() if each.age_s < DECISION_HOLDS_S}
    for fleet in sorted({fleet for fleet, _ in reading.workers} | current.keys()):
        for status in WORKER_STATUSES:
            workers.add_metric([fleet, status], reading.workers.get((fleet, status), 0))
        if fleet in current:
            # A machine whose worker waits for approval is starting, and its worker is pending: count it once.
            starting = current[fleet].decision.figures.starting - reading.workers.get((fleet, "pending"), 0)
            workers.add_metric([fleet, STARTING], max(0, starting))
    yield workers
    yield _gauge("settlements_parked", "Settlements that somebody must look at.", reading.parked)
    yield _gauge("audit_alarms", "Audit chains that do not hold and were not acknowledged.", reading.alarms)


def _family(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"comfyfleet_{name}", text, labels=list(labels))


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"comfyfleet_{name}", text, value=value)
