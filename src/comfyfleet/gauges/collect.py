"""The gauges, as Prometheus reads them."""

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from comfyfleet.db import Database
from comfyfleet.gauges.read import GaugeReader, Reading
from comfyfleet.metrics.control_plane import WORKFLOWS_MAX
from comfyfleet.metrics.labels import BoundedLabel

WORKER_STATUSES = ("ready", "busy", "pending", "draining", "silent")


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
        yield self._lag()
        yield self._connections()

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

    def _connections(self) -> GaugeMetricFamily:
        family = _family("db_pool_connections", "Connections of this process to a database.", "database", "state")
        house = self._reader.house
        named: list[tuple[str, Database]] = [(each.name, each) for each in house.databases()]
        for name, database in [*named, ("central (workers)", house.desk.database)]:
            for state, count in database.connections().items():
                family.add_metric([name, state], count)
        return family


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


def _bounded(reading: Reading, values: Mapping[Any, float], together: Any) -> dict[str, float]:
    """The largest keep their names."""
    bound, found = BoundedLabel(WORKFLOWS_MAX), dict[str, list[float]]()
    for workflow_id, value in sorted(values.items(), key=lambda each: -each[1]):
        found.setdefault(bound(reading.names.get(str(workflow_id), str(workflow_id))), []).append(value)
    return {workflow: together(each) for workflow, each in found.items()}


def _house(reading: Reading) -> Iterator[GaugeMetricFamily]:
    workers = _family("workers", "Workers by what they do; silent: not heard of for 90 s.", "fleet", "status")
    for fleet in sorted({fleet for fleet, _ in reading.workers}):
        for status in WORKER_STATUSES:
            workers.add_metric([fleet, status], reading.workers.get((fleet, status), 0))
    yield workers
    yield _gauge("settlements_parked", "Settlements that somebody must look at.", reading.parked)
    yield _gauge("audit_alarms", "Audit chains that do not hold and were not acknowledged.", reading.alarms)


def _family(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"comfyfleet_{name}", text, labels=list(labels))


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"comfyfleet_{name}", text, value=value)
