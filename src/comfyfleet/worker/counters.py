"""What a worker counts: every counter and histogram, with its labels and buckets, in one place."""

from collections.abc import Callable

from prometheus_client import Counter, Histogram
from prometheus_client.registry import CollectorRegistry

from comfyfleet.metrics.exchanges import ExchangeSeconds
from comfyfleet.metrics.labels import BoundedLabel

# Upper ends in seconds; a run of a still takes seconds, one of a film minutes.
STAGE_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
# A label comes from words of others now and then: what is too much goes under one name.
LABELS_MAX = 50


class BoundedCounter:
    """One label. Its values are bounded."""

    def __init__(self, registry: CollectorRegistry, name: str, label: str, text: str) -> None:
        self._counter = Counter(f"comfyfleet_worker_{name}", text, [label], registry=registry)
        self._bound = BoundedLabel(LABELS_MAX)

    def add(self, value: str, by: float = 1) -> None:
        self._counter.labels(self._bound(value)).inc(by)


class WorkerCounters:
    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, label: str, text: str) -> Callable[..., None]:
            return BoundedCounter(registry, name, label, text).add

        self.polls = counter("polls_total", "answer", "Polls, by whether the control plane answered.")
        self.heartbeats = counter("heartbeats_total", "answer", "Heartbeats, by whether the control plane answered.")
        self.leases = counter("leases_total", "event", "Leases taken and lost.")
        self.jobs = counter("jobs_total", "outcome", "Jobs ended: completed, cancelled, or the failure class.")
        self.given_back = counter("given_back_total", "reason", "Jobs given back, by reason.")
        self.bytes = counter("bytes_total", "way", "Bytes of inputs (in) and outputs (out) moved.")
        self.cache = counter("cache_total", "look", "Assets asked for, by whether the cache had them.")
        self.server_restarts = counter("server_restarts_total", "server", "Starts of an owned ComfyUI after the first.")
        self.busy_s = counter("server_busy_seconds_total", "server", "Seconds in which a server executed a prompt.")
        self.health_checks = Counter(
            "comfyfleet_worker_health_checks_total",
            "Decisions of the health check, by action and reason.",
            ["action", "reason"],
            registry=registry,
        )
        self.recoveries = Counter(
            "comfyfleet_worker_recoveries_total",
            "Ends of prompts that the health check found and no message had told.",
            ["action", "reason"],
            registry=registry,
        )
        self._reasons, self._stages = BoundedLabel(LABELS_MAX), BoundedLabel(LABELS_MAX)
        self._stage_seconds = Histogram(
            "comfyfleet_worker_stage_seconds", "Time of a job's stages.", ["stage"], buckets=STAGE_S, registry=registry
        )
        self.exchanged = ExchangeSeconds(registry).note

    def health_checked(self, action: str, reason: str, *, recovers: bool) -> None:
        reason = self._reasons(reason)
        self.health_checks.labels(action, reason).inc()
        if recovers:
            self.recoveries.labels(action, reason).inc()

    def stage_took(self, stage: str, seconds: float) -> None:
        self._stage_seconds.labels(self._stages(stage)).observe(seconds)
