"""What a worker records of one job: `process`, from the lease to its end, and below it each stage; below `run` each
node that the server executed.

fetch    inputs are downloaded
wait     for a place on a server; inputs are given to it
submit   the prompt is sent
queued   on the server, behind another prompt
run      the server executes; models are loaded in the nodes that load them
upload   outputs go to the store
report   the end is told to the control plane

A worker that is stopped while it runs records the stages that are over; who goes on with the job records `process`.
Failures are named by their class: what a server says may hold words of a prompt.
"""

import time
from dataclasses import dataclass

from comfyfleet.kernel.traceparent import TraceContext
from comfyfleet.traces.sink import TRACES_OFF, TraceSink
from comfyfleet.traces.span import Attributes, JobSpan, SpanRole
from comfyfleet.worker.journal import Entry
from comfyfleet.worker.stages import Stage

NAMES = {
    Stage.FETCHING: "fetch",
    Stage.WAITING: "wait",
    Stage.SUBMITTING: "submit",
    Stage.QUEUED: "queued",
    Stage.RUNNING: "run",
    Stage.UPLOADING: "upload",
    Stage.ENDING: "report",
}
# More would say nothing more; a loop in a graph may run its nodes thousands of times.
NODES_MAX = 500
LEASE_LOST = "lease_lost"
CALL_REFUSED = "call_refused"


@dataclass(frozen=True, slots=True)
class WorkerSpans:
    """`fleet`: slug and stage, as the worker was told."""

    sink: TraceSink = TRACES_OFF
    worker_id: str = ""
    fleet: str | None = None

    def of(self, entry: Entry) -> "JobTrace":
        return JobTrace(self, entry)


@dataclass(slots=True)
class _OpenSpan:
    name: str
    context: TraceContext
    parent: TraceContext
    attributes: Attributes
    began_s: float


class JobTrace:
    """`trace_id`: for log lines; None where the job has no trace, or it is not sampled."""

    def __init__(self, spans: WorkerSpans, entry: Entry) -> None:
        self._spans, self._entry = spans, entry
        self._parent = TraceContext.parse(entry.job.traceparent)
        # A control plane without traces sends none: then the worker's part is a trace of its own. The name is the same
        # for each life of the worker, so what an earlier one recorded is below it, too.
        self._process = self._parent.named_child("process") if self._parent else spans.sink.begin()
        self._stage: _OpenSpan | None = None
        self._node: _OpenSpan | None = None
        self._nodes = 0
        self._failure: str | None = None
        self._outcome = CALL_REFUSED

    @property
    def trace_id(self) -> str | None:
        return self._process.trace_id if self._process is not None and self._process.is_sampled else None

    @property
    def _records(self) -> TraceContext | None:
        return self._process if self._spans.sink.is_on and self.trace_id is not None else None

    def at(self, stage: Stage) -> None:
        """The stage before is over."""
        process = self._records
        if process is None:
            return
        self._end_stage()
        name = NAMES.get(stage)
        if name is not None:
            self._stage = _OpenSpan(name, process.child(), process, {}, time.time())

    def at_node(self, node: str | None, node_class: str | None) -> None:
        """The server says that it executes this node now."""
        run = self._stage
        if self._records is None or run is None or run.name != NAMES[Stage.RUNNING]:
            return
        if self._node is not None and self._node.attributes["comfyfleet.node.id"] == node:
            return
        self._end_node()
        if node is not None and self._nodes < NODES_MAX:
            self._nodes += 1
            attributes = {"comfyfleet.node.id": node, "comfyfleet.node.class": node_class}
            name = node_class or "node"
            self._node = _OpenSpan(name, run.context.child(), run.context, attributes, time.time())

    def failed(self, failure: str) -> None:
        """In the stage that it is in, and at the node, if one runs."""
        self._failure = failure

    def ended(self, outcome: str) -> None:
        """`outcome`: completed, the failure class, given_back, or lease_lost. Never called: the end was refused."""
        self._outcome = outcome

    def close(self) -> None:
        """The job is no longer this worker's."""
        process = self._records
        if process is None:
            return
        self._end_stage()
        entry, spans = self._entry, self._spans
        is_failure = self._outcome not in ("completed", "given_back", "cancelled")
        spans.sink.record(
            JobSpan(
                name="process",
                context=process,
                parent_id=None if self._parent is None else self._parent.span_id,
                began_s=entry.leased_at,
                role=SpanRole.CONSUMER,
                error_type=self._outcome if is_failure else None,
                attributes={
                    "comfyfleet.job.id": str(entry.job.job_id),
                    "comfyfleet.workflow.id": str(entry.job.workflow_id),
                    "comfyfleet.attempt": entry.job.epoch,
                    "comfyfleet.worker.id": spans.worker_id or None,
                    "comfyfleet.fleet": spans.fleet,
                    "comfyfleet.provider": entry.job.provider,
                    "comfyfleet.outcome": self._outcome,
                },
            )
        )

    def _end_stage(self) -> None:
        self._end_node()
        self._record(self._stage)
        self._stage, self._failure = None, None

    def _end_node(self) -> None:
        self._record(self._node)
        self._node = None

    def _record(self, span: _OpenSpan | None) -> None:
        if span is None:
            return
        self._spans.sink.record(
            JobSpan(
                name=span.name,
                context=span.context,
                parent_id=span.parent.span_id,
                began_s=span.began_s,
                error_type=self._failure,
                attributes=span.attributes,
            )
        )
