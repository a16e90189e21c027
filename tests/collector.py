"""An OpenTelemetry collector for tests: takes OTLP over HTTP on loopback, decodes it, and keeps the spans."""

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Status

WITHIN_S = 60.0


@dataclass(frozen=True)
class CollectedSpan:
    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str | None
    kind: int
    began_s: float
    ended_s: float
    attributes: dict[str, Any]
    is_error: bool
    error: str


@dataclass
class Collector:
    """`hangs`: it takes requests and does not answer them."""

    port: int = 0
    hangs: bool = False
    bodies: list[bytes] = field(default_factory=list)
    spans: list[CollectedSpan] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def variables(self) -> dict[str, str]:
        """For a process that sends its spans here, soon."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "50"}

    def take(self, path: str, body: bytes) -> None:
        assert path == "/v1/traces"
        self.bodies.append(body)
        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        for each in request.resource_spans:
            service = _attributes(each.resource.attributes)["service.name"]
            self.spans += [_span(service, span) for scope in each.scope_spans for span in scope.spans]

    def of(self, trace_id: str) -> list[CollectedSpan]:
        return [each for each in list(self.spans) if each.trace_id == trace_id]

    def waits(self, trace_id: str, is_whole: Callable[[list[CollectedSpan]], bool]) -> list[CollectedSpan]:
        ends = time.monotonic() + WITHIN_S
        while time.monotonic() < ends:
            if is_whole(found := self.of(trace_id)):
                return found
            time.sleep(0.03)
        raise AssertionError(f"the trace is not whole: {[(each.service, each.name) for each in self.of(trace_id)]}")


def _span(service: str, span: Any) -> CollectedSpan:
    return CollectedSpan(
        service=service,
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex() or None,
        kind=span.kind,
        began_s=span.start_time_unix_nano / 1e9,
        ended_s=span.end_time_unix_nano / 1e9,
        attributes=_attributes(span.attributes),
        is_error=span.status.code == Status.STATUS_CODE_ERROR,
        error=span.status.message,
    )


def _attributes(found: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in found}


@contextmanager
def a_collector(*, hangs: bool = False) -> Iterator[Collector]:
    collector = Collector(hangs=hangs)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if collector.hangs:
                collector.bodies.append(body)
                collector.released.wait(WITHIN_S)
                return
            collector.take(self.path, gzip.decompress(body) if self.headers.get("content-encoding") else body)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Not into the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    collector.port = int(server.server_address[1])
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield collector
    finally:
        collector.released.set()
        server.shutdown()
        server.server_close()
        serving.join()
