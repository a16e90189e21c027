"""The control plane's `/metrics`, on a port of its own."""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog
from prometheus_client import ProcessCollector
from prometheus_client.registry import CollectorRegistry

from comfyfleet import __version__
from comfyfleet.gauges.collect import GaugeCollector
from comfyfleet.gauges.read import READ_S, GaugeReader
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.exchanges import follow_exchanges
from comfyfleet.metrics.build import BuildCollector
from comfyfleet.metrics.control_plane import ControlPlaneCounters
from comfyfleet.metrics.disk import DiskCollector
from comfyfleet.metrics.names import NamedCollector
from comfyfleet.metrics.port import PortReply, StatusServer, metrics_reply

log = structlog.get_logger()


class MetricsPortTaken(FleetError):
    """Another process listens there."""

    code = "metrics_port_taken"
    text = "Cannot listen on {host}:{port} for /metrics ({problem}). Choose another COMFYFLEET_METRICS_PORT."


@dataclass(frozen=True, slots=True)
class PortRules:
    """`folders` and `files`: what this process writes to, by a name for each."""

    host: str
    port: int
    tenants_max: int
    folders: Callable[[], Mapping[str, Path]]
    files: Callable[[], Mapping[str, Path]]


class MetricsPort:
    """Listens from the moment it is made; `with`, in the event loop, counts what happens in this house, and serves."""

    def __init__(self, house: House, rules: PortRules) -> None:
        self.counted = CollectorRegistry()
        counters = ControlPlaneCounters(self.counted, tenants_max=rules.tenants_max)
        self._house, self._counters, self._reader = house, counters, GaugeReader(house)
        self.registry = CollectorRegistry()
        self.registry.register(NamedCollector(self.counted, self._names))
        self.registry.register(GaugeCollector(self._reader))
        self.registry.register(DiskCollector(rules.folders, rules.files))
        self.registry.register(BuildCollector(__version__))
        ProcessCollector(registry=self.registry)
        self._open = ExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None
        try:
            self._server = StatusServer(
                {"/metrics": self._metrics}, host=rules.host, port=rules.port, name="comfyfleet"
            )
        except OSError as problem:
            why = os.strerror(problem.errno or 0)
            raise MetricsPortTaken(host=rules.host, port=rules.port, problem=why) from None
        self.port = self._server.port

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._house.facts.note = self._counters.note
        self._open.callback(self._house.facts.ignore)
        self._open.enter_context(follow_exchanges(self._counters.exchanged))
        self._open.enter_context(self._server)
        log.info("metrics.listening", host=self._server.host, port=self.port)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._open.close()

    def _metrics(self, accept: str) -> PortReply:
        """On the port's thread; the databases are asked in the event loop. One that stands still is not waited for."""
        if self._loop is not None:
            reading = asyncio.run_coroutine_threadsafe(self._reader.read(self._counters.ids()), self._loop)
            try:
                reading.result(timeout=READ_S)
            except TimeoutError:
                reading.cancel()
                self._reader.central, self._reader.pools = None, dict.fromkeys(self._reader.pools)
        return metrics_reply(self.registry, accept)

    def _names(self) -> Mapping[str, str]:
        return self._reader.names
