"""Spans to an OpenTelemetry collector, by OTLP over HTTP. Loaded only where an endpoint is set.

The SDK's own batch processor exports in a thread of its own, from a bounded queue (OTEL_BSP_*). A collector that is
slow, hangs or is away costs spans and a warning, and never a job's time.
"""

import logging
import threading
from collections.abc import Sequence
from uuid import uuid4

import structlog
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from comfyfleet import __version__
from comfyfleet.kernel.traceparent import TraceContext
from comfyfleet.traces.sink import TraceSink
from comfyfleet.traces.span import ERROR_CHARS_MAX, JobSpan

FLUSH_S = 3.0
NS = 1_000_000_000
LIBRARY = "opentelemetry"
UNNAMED = "unknown_service"
KIND = "spans"  # as the exporter calls what it sends

log = structlog.get_logger()


class OtlpSink(TraceSink):
    is_on = True

    def __init__(self, service: str, *, collector: str, flush_s: float = FLUSH_S) -> None:
        self._flush_s = flush_s
        resource = Resource.create({"service.version": __version__, "service.instance.id": str(uuid4())})
        if str(resource.attributes.get("service.name", UNNAMED)).startswith(UNNAMED):
            resource = resource.merge(Resource({"service.name": service}))
        # By OTEL_TRACES_SAMPLER. It is asked once a trace, when the trace begins: see `begin`.
        self._sampler = TracerProvider(resource=resource, shutdown_on_exit=False).sampler
        self._ids = _ChosenIds()
        self._library = _LibraryLog()
        self._library.attach()
        self._processor: SpanProcessor = BatchSpanProcessor(
            _WarningExporter(OTLPSpanExporter(), self._library, collector)
        )
        provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False, id_generator=self._ids)
        provider.add_span_processor(self._processor)
        self._tracer = provider.get_tracer("comfyfleet", __version__)

    def begin(self, traceparent: str | None = None) -> TraceContext | None:
        parent = TraceContext.parse(traceparent)
        own = TraceContext.new(parent, is_sampled=True)
        try:
            decided = self._sampler.should_sample(_around(parent), int(own.trace_id, 16), "order", SpanKind.SERVER)
            return TraceContext(own.trace_id, own.span_id, decided.decision is Decision.RECORD_AND_SAMPLE)
        except Exception as problem:  # a sampler of others; a job is worth more than its trace
            log.warning("traces.not_sampled", problem=type(problem).__name__)
            return TraceContext(own.trace_id, own.span_id, False)

    def record(self, span: JobSpan) -> None:
        if not span.context.is_sampled:
            return
        try:
            self._record(span)
        except Exception as problem:  # a job is worth more than its trace
            log.warning("traces.not_recorded", span=span.name, problem=type(problem).__name__)

    def _record(self, span: JobSpan) -> None:
        parent = None
        if span.parent_id is not None:
            parent = TraceContext(span.context.trace_id, span.parent_id, True)
        attributes = {name: value for name, value in span.attributes.items() if value is not None}
        if span.error_type is not None:
            attributes["error.type"] = span.error_type
        began_ns = int(span.began_s * NS)
        self._ids.choose(span.context)
        made = self._tracer.start_span(
            span.name, _around(parent), SpanKind[span.role.name], attributes, start_time=began_ns
        )
        if span.error_type is not None:
            text = span.error[:ERROR_CHARS_MAX] if span.error else span.error_type
            made.set_status(Status(StatusCode.ERROR, text))
        # A clock that was set back in between must not make a span that ends before it begins.
        made.end(max(began_ns, int(span.ended_s * NS)))

    def close(self) -> None:
        """A collector that hangs must not keep the process: what it has not taken by then is lost."""
        closing = threading.Thread(target=self._processor.shutdown, name="traces-close", daemon=True)
        closing.start()
        closing.join(self._flush_s)
        if closing.is_alive():
            log.warning("traces.not_flushed", waited_s=self._flush_s)
        self._library.detach()


class _ChosenIds(IdGenerator):
    """A span's ids are chosen when it begins, and may be known to other processes before it is recorded."""

    def __init__(self) -> None:
        self._chosen = threading.local()

    def choose(self, context: TraceContext) -> None:
        self._chosen.context = context

    def generate_span_id(self) -> int:
        return int(self._chosen.context.span_id, 16)

    def generate_trace_id(self) -> int:
        return int(self._chosen.context.trace_id, 16)


class _WarningExporter(SpanExporter):
    """Says that spans were lost, with a reason that stays the same while the fault does: then it is said once, and
    counted."""

    def __init__(self, inner: SpanExporter, library: "_LibraryLog", collector: str) -> None:
        self._inner, self._library, self._collector = inner, library, collector
        self._problem: str | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._inner.export(spans)
        if result is SpanExportResult.SUCCESS:
            self._problem = None
        else:
            # The first reason: one fault is told in other words when its time is over.
            self._problem = self._problem or self._library.problem
            log.warning("traces.not_exported", collector=self._collector, spans=len(spans), problem=self._problem)
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._inner.force_flush(timeout_millis)


class _LibraryLog(logging.Handler):
    """What the SDK logs of its own: each failed try, with addresses of objects in it. Kept for the one warning."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.problem = "no answer in time"

    def attach(self) -> None:
        library = logging.getLogger(LIBRARY)
        library.propagate = False
        library.addHandler(self)

    def detach(self) -> None:
        library = logging.getLogger(LIBRARY)
        library.removeHandler(self)
        library.propagate = True

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(f"{LIBRARY}.exporter"):
            log.warning("traces.library", said=record.getMessage())
            return
        # The status's words, or the exception, of which the kind is enough.
        given = record.args if isinstance(record.args, tuple) else ()
        causes = [each for each in given if isinstance(each, BaseException) or (isinstance(each, str) and each != KIND)]
        if causes:
            self.problem = type(causes[0]).__name__ if isinstance(causes[0], BaseException) else str(causes[0])


def _around(parent: TraceContext | None) -> Context:
    if parent is None:
        return Context()
    flags = TraceFlags(TraceFlags.SAMPLED if parent.is_sampled else TraceFlags.DEFAULT)
    context = SpanContext(int(parent.trace_id, 16), int(parent.span_id, 16), is_remote=True, trace_flags=flags)
    return trace.set_span_in_context(NonRecordingSpan(context), Context())
