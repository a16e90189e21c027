"""Every span that the control plane records of a job, with its name and attributes.

order      from the request until the job is written down; its parent is the customer's `traceparent`, if one came
relay      from the order until the job is in the queue
lease      from then, or from the end of the attempt before, until a worker has it
attempt    one for each lease, until it has ended; the worker's spans are below it
complete   and `fail`, `requeue`: how long the worker's word about the end took here
settle     the outcome reaches the tenant's database
webhook    one for each try to deliver a notification about the job

An attempt's span is known by its number, so the worker may send its part before the attempt is over, and an attempt
whose worker died has a span too. No prompt, no property, no URL and no error of a worker goes in as it came.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import structlog

from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.traceparent import TraceContext, attempt_context
from comfyfleet.traces.sink import TRACES_OFF, TraceSink
from comfyfleet.traces.span import Attributes, JobSpan, SpanRole

TENANT, JOB, WORKFLOW = "comfyfleet.tenant.id", "comfyfleet.job.id", "comfyfleet.workflow.id"
ATTEMPT, WORKER, FLEET = "comfyfleet.attempt", "comfyfleet.worker.id", "comfyfleet.fleet.id"
OUTCOME = "comfyfleet.outcome"
# Ends of an attempt that are no failure of it.
NO_FAILURE = frozenset({"completed", "requeued", "cancelled"})
TRACE_ID = "{trace_id}"


@dataclass(slots=True)
class OpenOrder:
    """`traceparent`: to be stored with the job; None: traces are off. `replayed`: the job has a trace of its own."""

    traceparent: str | None
    job_id: UUID | None = None
    tenant_id: UUID | None = None
    workflow_id: UUID | None = None
    effect: str | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class TracedJob:
    """Which job a span is about. `traceparent` as it is stored: without one nothing is recorded."""

    traceparent: str | None
    job_id: UUID
    tenant_id: UUID
    workflow_id: UUID | None = None

    @property
    def facts(self) -> Attributes:
        workflow = None if self.workflow_id is None else str(self.workflow_id)
        return {JOB: str(self.job_id), TENANT: str(self.tenant_id), WORKFLOW: workflow}


class ControlPlaneSpans:
    """`url`: where an operator sees a trace, with `{trace_id}` in it."""

    def __init__(self, sink: TraceSink = TRACES_OFF, *, url: str | None = None) -> None:
        self._sink, self._url = sink, url

    @property
    def is_on(self) -> bool:
        return self._sink.is_on

    def url_of(self, trace_id: str | None) -> str | None:
        return None if self._url is None or trace_id is None else self._url.replace(TRACE_ID, trace_id)

    def begin(self) -> str | None:
        """The trace of a job that nobody ordered over HTTP."""
        context = self._sink.begin()
        return None if context is None else str(context)

    @contextmanager
    def ordering(self, traceparent: str | None) -> Iterator[OpenOrder]:
        """A job is ordered. What is known of it is written into the value that this gives."""
        context = self._sink.begin(traceparent)
        if context is None:
            yield OpenOrder(None)
            return
        parent, order, began_s = TraceContext.parse(traceparent), OpenOrder(str(context)), time.time()
        refused: str | None = None
        if context.is_sampled:
            structlog.contextvars.bind_contextvars(trace_id=context.trace_id)
        try:
            yield order
        except FleetError as problem:
            refused = problem.code
            raise
        except Exception as problem:
            refused = type(problem).__name__
            raise
        finally:
            self._sink.record(
                JobSpan(
                    name="order",
                    context=context,
                    parent_id=None if parent is None else parent.span_id,
                    began_s=began_s,
                    role=SpanRole.SERVER,
                    error_type=refused,
                    attributes={
                        JOB: _text(order.job_id),
                        TENANT: _text(order.tenant_id),
                        WORKFLOW: _text(order.workflow_id),
                        "comfyfleet.effect": order.effect,
                        "comfyfleet.replayed": order.replayed or None,
                    },
                )
            )

    def relayed(self, job: TracedJob, *, ordered_s: float, begins: bool) -> None:
        """It is in the queue. `begins`: its trace began on the way there."""
        root = TraceContext.parse(job.traceparent)
        if root is None:
            return
        if begins:
            order = JobSpan(name="order", context=root, parent_id=None, began_s=ordered_s, attributes=job.facts)
            self._sink.record(order)
        self._child(root, "relay", job.facts, began_s=ordered_s, role=SpanRole.PRODUCER)

    def leased(self, job: TracedJob, *, waited_s: float, epoch: int, worker: str, fleet_id: UUID | None) -> str | None:
        """A worker has it. What the lease carries: the span of this attempt."""
        root = TraceContext.parse(job.traceparent)
        if root is None:
            return None
        about: Attributes = {ATTEMPT: epoch, WORKER: worker, FLEET: _text(fleet_id)}
        self._child(root, "lease", {**job.facts, **about}, began_s=time.time() - waited_s)
        return str(attempt_context(job.traceparent, epoch))

    def reported(self, job: TracedJob, call: str, *, epoch: int, began_s: float) -> None:
        """A worker's word about the end of an attempt was taken."""
        context = attempt_context(job.traceparent, epoch)
        if context is not None:
            self._child(context, call, job.facts, began_s=began_s, role=SpanRole.SERVER)

    def attempt_ended(
        self,
        job: TracedJob,
        reason: str,
        *,
        epoch: int,
        leased_s: float,
        worker: str | None = None,
        fleet_id: UUID | None = None,
        error: str | None = None,
    ) -> None:
        """`reason`: completed, requeued, or the failure class. `error`: in words that a user may read."""
        root, context = TraceContext.parse(job.traceparent), attempt_context(job.traceparent, epoch)
        if root is None or context is None:
            return
        about: Attributes = {OUTCOME: reason, ATTEMPT: epoch, WORKER: worker, FLEET: _text(fleet_id)}
        self._sink.record(
            JobSpan(
                name="attempt",
                context=context,
                parent_id=root.span_id,
                began_s=time.time() - leased_s,
                error_type=None if reason in NO_FAILURE else reason,
                error=error,
                attributes={**job.facts, **about},
            )
        )

    def settled(self, job: TracedJob, outcome: str, *, began_s: float, error_type: str | None = None) -> None:
        """The tenant's database has the outcome. `outcome`: completed, failed or cancelled."""
        root = TraceContext.parse(job.traceparent)
        if root is None:
            return
        failed = None if outcome in NO_FAILURE else error_type or outcome
        self._child(root, "settle", {**job.facts, OUTCOME: outcome}, began_s=began_s, error_type=failed)

    def webhook_sent(
        self, job: TracedJob, event: str, *, began_s: float, attempt: int, status: int | None, arrived: bool
    ) -> None:
        root = TraceContext.parse(job.traceparent)
        if root is None:
            return
        about: Attributes = {
            "comfyfleet.webhook.event": event,
            "comfyfleet.webhook.attempt": attempt,
            "http.request.method": "POST",
            "http.response.status_code": status,
        }
        failed = None if arrived else "no_answer" if status is None else str(status)
        self._child(root, "webhook", {**job.facts, **about}, began_s=began_s, role=SpanRole.CLIENT, error_type=failed)

    def _child(
        self,
        parent: TraceContext,
        name: str,
        attributes: Attributes,
        *,
        began_s: float,
        role: SpanRole = SpanRole.INTERNAL,
        error_type: str | None = None,
    ) -> None:
        self._sink.record(
            JobSpan(
                name=name,
                context=parent.child(),
                parent_id=parent.span_id,
                began_s=began_s,
                role=role,
                error_type=error_type,
                attributes=attributes,
            )
        )


def _text(value: UUID | None) -> str | None:
    return None if value is None else str(value)
