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
START_S = (30.0, 60.0, 90.0, 120.0, 180.0, 240.0, 300.0, 420.0, 600.0)
POLLS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
WORKFLOWS_MAX = 200
FLEETS_MAX = 200
# Failure classes, loops, calls: closed lists of ours. The bound is for the day one of them is not.
WORDS_MAX = 100
NO_FLEET = "none"
# These are shown before there are any: the first of a series that was not there is no increase.
LAUNCH_PROBLEMS = ("capacity", "quota", "refused", "unreachable", "pending", facts.NEVER_REGISTERED)
MARKETS = ("spot", "on_demand")
TOKEN_TYPES = ("credit", "reserve", "consume", "refund")
COMPLETED = "completed"


class ControlPlaneCounters:
    """`note` is called from the event loop, and costs a few microseconds."""

    def __init__(self, registry: CollectorRegistry, *, tenants_max: int = 0) -> None:
        self._registry = registry
        self._workflow, self._fleet = BoundedLabel(WORKFLOWS_MAX), BoundedLabel(FLEETS_MAX)
        self._tenant, self._word = BoundedLabel(tenants_max), BoundedLabel(WORDS_MAX)
        self._leases = self._counter("leases_total", "Leases taken, confirmed, returned, expired or refused.", "event")
        self._poll_wait = self._histogram("poll_wait_seconds", "Time from a poll to its lease.", WAIT_S, "fleet")
        self._batch = self._histogram("lease_batch_size", "Polls that one look at the queue answered.", POLLS)
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
        self._spot = self._counter(
            "spot_interruptions_total", "Jobs given back because their Spot machine is being taken away.", "fleet"
        )
        self._tokens = self._counter(
            "tokens_total", "Tokens credited, reserved for jobs, consumed by jobs, or refunded.", "type"
        )
        for each in TOKEN_TYPES:
            self._tokens.labels(each)
        self._launched = self._counter(
            "machines_launched_total", "Machines that a provider has launched.", "fleet", "market"
        )
        self._launch_errors = self._counter(
            "machine_launch_errors_total",
            "Machines that were asked for and not launched, or that never registered.",
            "fleet",
            "reason",
        )
        self._machine_start = self._histogram(
            "machine_start_seconds", "Time from asking for a machine to its first job.", START_S, "fleet"
        )
        self._machines_ended = self._counter(
            "machines_ended_total",
            "Machines that ended; lost: we had neither drained nor ended them.",
            "fleet",
            "market",
            "reason",
        )
        self._gpu_seconds = self._counter(
            "gpu_seconds_total",
            "Time of the machines of fleets that scale, by phase. One machine counts as one GPU.",
            "fleet",
            "phase",
        )
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
            facts.LeasesChanged: self._leases_changed,
            facts.PollsAnswered: self._polls_answered,
            facts.AttemptEnded: self._attempt_ended,
            facts.SpotInterrupted: self._spot_interrupted,
            facts.TokensMoved: self._tokens_moved,
            facts.JobSettled: self._job_settled,
            facts.LoopTicked: self._loop_ticked,
            facts.MachinesLaunched: self._machines_were_launched,
            facts.LaunchFailed: self._launch_failed,
            facts.MachineStarted: self._machine_started,
            facts.MachineEnded: self._machine_ended,
            facts.MachinesSeen: self._machines_seen,
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

    def _leases_changed(self, fact: facts.LeasesChanged) -> None:
        self._leases.labels(fact.event).inc(fact.count)

    def _polls_answered(self, fact: facts.PollsAnswered) -> None:
        self._batch.observe(fact.polls)

    def _attempt_ended(self, fact: facts.AttemptEnded) -> None:
        self._attempts.labels(self._fleet_of(fact.fleet_id), self._word(fact.reason)).inc()

    def _spot_interrupted(self, fact: facts.SpotInterrupted) -> None:
        self._spot.labels(self._fleet_of(fact.fleet_id)).inc()

    def _tokens_moved(self, fact: facts.TokensMoved) -> None:
        self._tokens.labels(fact.type).inc(fact.tokens)

    def _job_settled(self, fact: facts.JobSettled) -> None:
        workflow, outcome = self._workflow(str(fact.workflow_id)), self._word(fact.outcome)
        exemplar = {"job_id": str(fact.job_id), **({"trace_id": fact.trace_id} if fact.trace_id else {})}
        self._jobs.labels(workflow, outcome).inc()
        self._tokens.labels("consume" if fact.outcome == COMPLETED else "refund").inc(fact.tokens)
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

    def _machines_were_launched(self, fact: facts.MachinesLaunched) -> None:
        self._launched.labels(self._fleet_of(fact.fleet_id), self._word(fact.market)).inc(fact.machines)

    def _launch_failed(self, fact: facts.LaunchFailed) -> None:
        self._launch_errors.labels(self._fleet_of(fact.fleet_id), self._word(fact.reason)).inc(fact.machines)

    def _machine_started(self, fact: facts.MachineStarted) -> None:
        self._machine_start.labels(self._fleet_of(fact.fleet_id)).observe(fact.start_s)

    def _machine_ended(self, fact: facts.MachineEnded) -> None:
        market, reason = self._word(fact.market), self._word(fact.reason)
        self._machines_ended.labels(self._fleet_of(fact.fleet_id), market, reason).inc()

    def _machines_seen(self, fact: facts.MachinesSeen) -> None:
        fleet = self._fleet_of(fact.fleet_id)
        for reason in LAUNCH_PROBLEMS:
            self._launch_errors.labels(fleet, reason)
        for market in MARKETS:
            self._launched.labels(fleet, market)
            self._machines_ended.labels(fleet, market, facts.LOST)
        self._spot.labels(fleet)
        self._machine_start.labels(fleet)
        for phase, machines in fact.phases.items():
            self._gpu_seconds.labels(fleet, phase).inc(machines * fact.seconds)

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
