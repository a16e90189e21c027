"""What a worker counts, for its status port. Every method may be called from any thread and never fails."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from prometheus_client import ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector, CollectorRegistry

from comfyfleet import __version__
from comfyfleet.kernel.exchanges import TimedExchange
from comfyfleet.metrics.build import BuildCollector
from comfyfleet.metrics.disk import DiskCollector
from comfyfleet.worker.counters import WorkerCounters

# A loop that has not turned for so long is dead; the heartbeat thread gives its leases up at the same age.
LOOP_AGE_S_MAX = 120.0


class Phase(StrEnum):
    STARTING = "starting"
    POLLING = "polling"
    DRAINING = "draining"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ServerStatus:
    ready: bool
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """How the worker is at one instant."""

    phase: Phase
    loop_age_s: float
    running: int
    leases: int
    servers: dict[str, ServerStatus]
    takes_no_work: str | None = None


class Telemetry:
    """
    phase_is            starting → polling → draining → stopped
    loop_turned         the agent's event loop is alive; at least every few seconds
    takes_no_work       why it takes none at present; None: it does
    server_is           ready or not, by name, with the problem
    polled, beaten      a poll or a heartbeat was answered, or not
    holding             leases held and jobs running at present
    lease_taken, lease_lost
    stage_took          a stage of a job ended: fetch, upload_inputs, wait, run, fetch_outputs, upload, complete
    server_busy         a server executed a prompt for so long
    job_finished        outcome: completed, cancelled, or the failure class
    job_given_back      requeued, with a short word for the reason
    bytes_moved         way: in (assets), out (outputs)
    cache_looked        an asset was there already, or not
    health_checked      a health check decided something about a prompt
    exchanged           a call to another system ended
    server_restarted    the owned process was started again
    follow_busy         hears when the worker gets its first lease, and when it has returned its last
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, *, folders: Mapping[str, Path] | None = None) -> None:
        """`folders`: where this worker writes, by a name for each."""
        self._now = now
        self._lock = threading.Lock()
        self._phase = Phase.STARTING
        self._takes_no_work: str | None = None
        self._turned_at = now()
        self._running = 0
        self._leases = 0
        self._servers: dict[str, ServerStatus] = {}
        self._followers: list[Callable[[bool], None]] = []
        self.registry = CollectorRegistry()
        self.counters = WorkerCounters(self.registry)
        places = dict(folders or {})
        self.registry.register(_Present(self))
        self.registry.register(BuildCollector(__version__))
        self.registry.register(DiskCollector(lambda: places))
        ProcessCollector(registry=self.registry)

    def phase_is(self, phase: Phase) -> None:
        with self._lock:
            self._phase = phase

    def takes_no_work(self, reason: str | None) -> None:
        self._takes_no_work = reason

    def loop_turned(self) -> None:
        self._turned_at = self._now()

    def server_is(self, name: str, *, ready: bool, problem: str | None = None) -> None:
        with self._lock:
            self._servers[name] = ServerStatus(ready, problem)

    def server_gone(self, name: str) -> None:
        with self._lock, suppress(KeyError):
            del self._servers[name]

    def holding(self, *, leases: int, running: int) -> None:
        with self._lock:
            was_busy, self._leases, self._running = self._leases > 0, leases, running
            followers = tuple(self._followers) if was_busy != (leases > 0) else ()
        for tell in followers:
            tell(leases > 0)

    def follow_busy(self, tell: Callable[[bool], None]) -> None:
        """`tell` is called on the thread that calls `holding`, and at once if the worker is busy already."""
        with self._lock:
            self._followers.append(tell)
            busy = self._leases > 0
        if busy:
            tell(True)

    def polled(self, *, answered: bool) -> None:
        self.counters.polls("answered" if answered else "unanswered")

    def beaten(self, *, answered: bool) -> None:
        self.counters.heartbeats("answered" if answered else "unanswered")

    def lease_taken(self) -> None:
        self.counters.leases("taken")

    def lease_lost(self) -> None:
        self.counters.leases("lost")

    def job_finished(self, outcome: str) -> None:
        self.counters.jobs(outcome)

    def job_given_back(self, reason: str) -> None:
        self.counters.given_back(reason)

    def bytes_moved(self, way: str, count: int) -> None:
        self.counters.bytes(way, count)

    def cache_looked(self, hit: bool) -> None:
        self.counters.cache("hit" if hit else "miss")

    def health_checked(self, action: str, reason: str, *, recovers: bool) -> None:
        self.counters.health_checked(action, reason, recovers=recovers)

    def exchanged(self, exchange: TimedExchange) -> None:
        self.counters.exchanged(exchange)

    def server_restarted(self, name: str) -> None:
        self.counters.server_restarts(name)

    def stage_took(self, stage: str, seconds: float) -> None:
        self.counters.stage_took(stage, seconds)

    def server_busy(self, name: str, seconds: float) -> None:
        self.counters.busy_s(name, seconds)

    def seen(self) -> Seen:
        with self._lock:
            return Seen(
                phase=self._phase,
                loop_age_s=max(0.0, self._now() - self._turned_at),
                running=self._running,
                leases=self._leases,
                servers=dict(self._servers),
                takes_no_work=self._takes_no_work,
            )


class _Present(Collector):
    """How the worker is now, read at each scrape."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def collect(self) -> Iterator[GaugeMetricFamily]:
        seen = self._telemetry.seen()
        phase = GaugeMetricFamily("comfyfleet_worker_phase", "1 for the phase the worker is in.", labels=["phase"])
        for each in Phase:
            phase.add_metric([each.value], int(each is seen.phase))
        yield phase
        for name, text, value in (
            ("held_leases", "Leases held now.", seen.leases),
            ("running_jobs", "Jobs that run on a server now.", seen.running),
            ("loop_age_seconds", "Seconds since the agent's loop last turned.", seen.loop_age_s),
        ):
            yield GaugeMetricFamily(f"comfyfleet_worker_{name}", text, value=value)
        ready = GaugeMetricFamily("comfyfleet_worker_server_ready", "1: the server can run jobs.", labels=["server"])
        for name, status in sorted(seen.servers.items()):
            ready.add_metric([name], int(status.ready))
        yield ready
