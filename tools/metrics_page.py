"""The reference page of metrics: read from the registries of a control plane and of a worker, both made for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prometheus_client.registry import Collector, CollectorRegistry

from comfyfleet.dispatch.figures import QueueFigures
from comfyfleet.gauges import GaugeCollector, GaugeReader, PoolReading, Reading
from comfyfleet.house import House
from comfyfleet.metrics.build import BuildCollector
from comfyfleet.metrics.control_plane import CALL_S, POLLS, RUN_S, START_S, WAIT_S, ControlPlaneCounters
from comfyfleet.metrics.disk import DiskCollector
from comfyfleet.metrics.exchanges import EXCHANGE_S
from comfyfleet.worker.counters import STAGE_S
from comfyfleet.worker.telemetry import Telemetry

INTRODUCTION = """# Metrics

The control plane serves them on `COMFYFLEET_METRICS_PORT`, a worker on its status port (8701), both at `/metrics`: in \
OpenMetrics with exemplars for whoever accepts it, else in the text format. How to read them: \
[watch it with Prometheus](../how-to/watch-with-prometheus.md). Where they are counted: \
[decision 42](../decisions/0042-metrics.md).

Counters belong to one process: add them over replicas. Gauges of the databases are the same at each replica: take \
`max`. Both also export `process_*`: CPU seconds, memory and open files."""
HEAD = "| metric | type | labels | what it says |\n|---|---|---|---|"


Row = tuple[str, str, tuple[str, ...], str]  # name, type, labels, help


def page(house: House) -> str:
    control_plane, worker = _both(house)
    return "\n\n".join(
        [INTRODUCTION, "## Control plane", _table(control_plane), "## Worker", _table(worker), _buckets()]
    )


def everything(house: House) -> list[Row]:
    control_plane, worker = _both(house)
    return [*control_plane, *worker]


def _both(house: House) -> tuple[list[Row], list[Row]]:
    empty = QueueFigures({}, {}, {}, {}, 0, False)
    reader = GaugeReader(house)
    reader.central, reader.pools = Reading({}, empty, {}, {}, 0, 0), {"main": PoolReading(0.0, 0.0)}
    counted = CollectorRegistry()
    ControlPlaneCounters(counted, tenants_max=1)
    shared = (DiskCollector(dict[str, Path], dict[str, Path]), BuildCollector("0"))
    control_plane = [*_rows(_collectors(counted)), *_rows((GaugeCollector(reader), *shared))]
    return control_plane, _rows(_collectors(Telemetry().registry))


def _collectors(registry: CollectorRegistry) -> list[Collector]:
    return list(registry._collector_to_names)


def _rows(collectors: Any) -> list[Row]:
    return list(_each_row(collectors))


def _each_row(collectors: Any) -> Iterator[Row]:
    for collector in collectors:
        for metric in collector.collect():
            if metric.name.startswith("comfyfleet"):
                name = metric.name + {"counter": "_total", "info": "_info"}.get(metric.type, "")
                labels = getattr(collector, "_labelnames", None) or getattr(metric, "_labelnames", None) or ()
                if metric.type == "info":
                    labels = metric.samples[0].labels
                yield name, "gauge" if metric.type == "info" else metric.type, tuple(labels), metric.documentation


def _table(rows: Any) -> str:
    shown = (f"| `{name}` | {kind} | {_labels(labels)} | {text} |" for name, kind, labels, text in rows)
    return "\n".join([HEAD, *sorted(shown)])


def _labels(labels: tuple[str, ...]) -> str:
    return f"`{', '.join(labels)}`" if labels else ""


def _buckets() -> str:
    named = {"waits and totals": WAIT_S, "runs": RUN_S, "calls": CALL_S, "exchanges": EXCHANGE_S, "stages": STAGE_S}
    named |= {"starts of machines": START_S}
    rows = [f"| {name} | {' '.join(f'{end:g}' for end in ends)} |" for name, ends in named.items()]
    rows.append(f"| polls answered together (not seconds) | {' '.join(f'{end:g}' for end in POLLS)} |")
    return "\n".join(["## Buckets", "", "| histograms of | upper ends in seconds |", "|---|---|", *rows])
