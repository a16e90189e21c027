"""Which version runs."""

from collections.abc import Iterator

from prometheus_client.core import InfoMetricFamily
from prometheus_client.registry import Collector


class BuildCollector(Collector):
    def __init__(self, version: str) -> None:
        self._version = version

    def collect(self) -> Iterator[InfoMetricFamily]:
        yield InfoMetricFamily("comfyfleet_build", "The version that runs.", value={"version": self._version})
