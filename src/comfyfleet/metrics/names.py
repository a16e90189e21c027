"""Ids in labels become names when Prometheus asks: to count needs no look into a database."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

NAMED_LABELS = ("workflow", "fleet")


class NamedCollector(Collector):
    """What `counted` holds, with the names in place of the ids. An id without a name stays as it is."""

    def __init__(self, counted: CollectorRegistry, names: Callable[[], Mapping[str, str]]) -> None:
        self._counted, self._names = counted, names

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        names = self._names()
        for metric in self._counted.collect():
            renamed = Metric(metric.name, metric.documentation, metric.type, metric.unit)
            renamed.samples = [
                each._replace(labels={**each.labels, **_named(each.labels, names)})
                if any(label in each.labels for label in NAMED_LABELS)
                else each
                for each in metric.samples
            ]
            yield renamed


def _named(labels: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    return {name: names.get(labels[name], labels[name]) for name in NAMED_LABELS if name in labels}
