"""The table from facts to metrics: every counter and histogram of the control plane, with its labels and buckets."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.registry import CollectorRegistry

from comfyfleet.metrics import facts
from comfyfleet.metrics.exchanges import ExchangeSeconds
from comfyfleet.metrics.labels import OTHER, BoundedLabel

WAIT_S = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
RUN_S = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0, 300.0, 600.0, 1200.0, 1800.0)
CALL_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
WORKFLOWS_MAX = 200
FLEETS_MAX = 200
# Failure classes, loops, calls: closed lists of ours. The bound is for the day one of them is not.
WORDS_MAX = 100
NO_FLEET = "none"


class ControlPlaneCounters:
    """`note` is called from the event loop, and costs a few microseconds."""

    def __init__(self, registry: CollectorRegistry, *, tenants_max: int = 0) -> None:
        self._registry = registry
        self._workflow, self._fleet = BoundedLabel(WORKFLOWS_MAX), BoundedLabel(FLEETS_MAX)
        self._tenant, self._word = BoundedLabel(tenants_max), BoundedLabel(WORDS_MAX)
        self._leases = self._counter("leases_total", "Leases taken, and returned, expired or refused.", "event")
        self._poll_wait = self._histogram("poll_wait_seconds", "Time from a poll to its lease.", WAIT_S, "fleet")
        self._attempts = self._counter(
            "attempts_total",
            "Attempts that workers ended: completed, requeued, or the failure class.",
            "fleet",
            "reason",
        )
        self._jobs = self._counter(
            "jobs_total", "Jobs that ended: completed, cancelled, or the failure class.", "workflow", "outcome"
        )
        self._wait = self._histogram("job_wait_seconds", "Time from order to start.", WAIT_S, "workflow")
        self._run = self._histogram("job_run_seconds", "Time that a server worked on a job.", RUN_S, "workflow")
        self._total = self._histogram("job_total_seconds", "Time from order to result.", WAIT_S, "workflow")
        self._tenant_jobs = (
            self._counter("tenant_jobs_total", "Jobs that ended, by tenant id.", "tenant", "outcome")
            if tenants_max
            else None
        )
        self._ticks = self._counter("upkeep_ticks_total", "Ticks of the upkeep loops.", "loop", "outcome")
        self._last_success = Gauge(
            "comfyfleet_upkeep_last_success_timestamp_seconds",
            "When a loop of this process last ticked without a failure.",
            ["loop"],
            registry=registry,
        )
        self._interval = Gauge(
            "comfyfleet_upkeep_interval_seconds",
            "How often a loop of upkeep ticks at least.",
            ["loop"],
            registry=registry,
        )
        self._webhooks = self._counter("webhook_deliveries_total", "Webhooks sent, by whether they arrived.", "outcome")
        self._webhook_delay = self._histogram(
            "webhook_delay_seconds", "Time from an event to its first delivery that arrived.", WAIT_S
        )
        self._worker_calls = self._histogram(
            "worker_api_seconds", "Calls of workers. `poll` and `notices` wait on purpose.", CALL_S, "call", "status"
        )
        self._api_calls = self._histogram(
            "api_request_seconds", "Other requests, until the answer begins.", CALL_S, "surface", "status"
        )
        self.exchanged = ExchangeSeconds(registry).note
        self._table: dict[type, Callable[[Any], None]] = {
            facts.LeaseTaken: self._lease_taken,
            facts.LeasesEnded: self._leases_ended,
            facts.AttemptEnded: self._attempt_ended,
            facts.JobSettled: self._job_settled,
            facts.LoopTicked: self._loop_ticked,
            facts.WebhookSent: self._webhook_sent,
            facts.WorkerCalled: self._worker_called,
            facts.ApiCalled: self._api_called,
        }

    def ids(self) -> set[str]:
        """Of the workflows and fleets that were counted."""
        return {*self._workflow.values, *self._fleet.values}

    def note(self, fact: facts.Fact) -> None:
        self._table[type(fact)](fact)

    def _lease_taken(self, fact: facts.LeaseTaken) -> None:
        self._leases.labels("taken").inc()
        self._poll_wait.labels(self._fleet_of(fact.fleet_id)).observe(fact.waited_s)

    def _leases_ended(self, fact: facts.LeasesEnded) -> None:
        self._leases.labels(fact.event).inc(fact.count)

    def _attempt_ended(self, fact: facts.AttemptEnded) -> None:
        self._attempts.labels(self._fleet_of(fact.fleet_id), self._word(fact.reason)).inc()

    def _job_settled(self, fact: facts.JobSettled) -> None:
        workflow, outcome = self._workflow(str(fact.workflow_id)), self._word(fact.outcome)
        exemplar = {"job_id": str(fact.job_id)}
        self._jobs.labels(workflow, outcome).inc()
        self._total.labels(workflow).observe(fact.total_s, exemplar)
        if fact.wait_s is not None:
            self._wait.labels(workflow).observe(fact.wait_s, exemplar)
        if fact.run_s is not None:
            self._run.labels(workflow).observe(fact.run_s, exemplar)
        if self._tenant_jobs is not None:
            self._tenant_jobs.labels(self._tenant(str(fact.tenant_id)), outcome).inc()

    def _loop_ticked(self, fact: facts.LoopTicked) -> None:
        loop = self._word(fact.loop)
        self._ticks.labels(loop, "failed" if fact.failed else "ok").inc()
        self._interval.labels(loop).set(fact.every_s)
        if not fact.failed:
            self._last_success.labels(loop).set(fact.at_s)

    def _webhook_sent(self, fact: facts.WebhookSent) -> None:
        self._webhooks.labels("arrived" if fact.arrived else "not_arrived").inc()
        if fact.late_s is not None:
            self._webhook_delay.observe(fact.late_s)

    def _worker_called(self, fact: facts.WorkerCalled) -> None:
        self._worker_calls.labels(fact.call, _class_of(fact.status)).observe(fact.took_s)

    def _api_called(self, fact: facts.ApiCalled) -> None:
        self._api_calls.labels(fact.surface, _class_of(fact.status)).observe(fact.took_s)

    def _fleet_of(self, fleet_id: UUID | None) -> str:
        return NO_FLEET if fleet_id is None else self._fleet(str(fleet_id))

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"comfyfleet_{name}", text, labels, registry=self._registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"comfyfleet_{name}", text, labels, buckets=buckets, registry=self._registry)


def _class_of(status: int) -> str:
    """`2xx`, `5xx`; a caller that hung up before there was an answer is none of them."""
    return f"{status // 100}xx" if status else OTHER
