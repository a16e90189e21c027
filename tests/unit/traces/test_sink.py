"""What goes to a collector, and what does not; a real one, on loopback."""

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from comfyfleet.kernel.traceparent import TraceContext
from comfyfleet.traces.open import TracesMisconfigured, open_traces
from comfyfleet.traces.sink import TRACES_OFF
from comfyfleet.traces.span import JobSpan, SpanRole
from tests.collector import CollectedSpan, Collector, a_collector

CUSTOMER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"
JUST_A_MOMENT_S = 10.0


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with a_collector() as found:
        for name, value in found.variables.items():
            monkeypatch.setenv(name, value)
        yield found


def recorded(collector: Collector, traceparent: str | None = None) -> list[CollectedSpan]:
    """Of a root and one span below it."""
    with open_traces("tests") as sink:
        context = sink.begin(traceparent)
        assert context is not None
        parent = TraceContext.parse(traceparent)
        sink.record(JobSpan(name="order", context=context, parent_id=parent and parent.span_id, began_s=1.5, ended_s=2))
        sink.record(
            JobSpan(
                name="attempt",
                context=context.child(),
                parent_id=context.span_id,
                began_s=3.0,
                ended_s=2.0,
                role=SpanRole.CONSUMER,
                error_type="out_of_memory",
                error="The job failed.",
                attributes={"comfyfleet.attempt": 2, "nothing": None},
            )
        )
    return list(collector.spans)


def test_spans_arrive_as_they_were_when_the_sink_is_closed(collector: Collector) -> None:
    root, child = recorded(collector, f"{CUSTOMER}-01")
    assert {root.trace_id, child.trace_id} == {CUSTOMER.split("-")[1]}
    assert (root.parent_id, child.parent_id) == (CUSTOMER.split("-")[2], root.span_id)
    assert (root.service, root.began_s, root.ended_s, root.is_error) == ("tests", 1.5, 2.0, False)
    assert child.attributes == {"comfyfleet.attempt": 2, "error.type": "out_of_memory"}
    assert (child.is_error, child.error, child.kind) == (True, "The job failed.", 5)
    assert (child.began_s, child.ended_s) == (3.0, 3.0)  # a clock was set back in between


def test_without_a_parent_a_trace_begins(collector: Collector) -> None:
    root, child = recorded(collector)
    assert root.parent_id is None
    assert child.parent_id == root.span_id
    assert root.trace_id == child.trace_id != CUSTOMER.split("-")[1]


def test_what_the_customer_does_not_sample_is_not_recorded(collector: Collector) -> None:
    assert recorded(collector, f"{CUSTOMER}-00") == []


@pytest.mark.parametrize(
    ("sampler", "argument", "traceparent", "count"),
    [
        ("always_off", "", f"{CUSTOMER}-01", 0),
        ("always_on", "", f"{CUSTOMER}-00", 2),
        ("parentbased_always_off", "", None, 0),
        ("parentbased_always_off", "", f"{CUSTOMER}-01", 2),
        ("parentbased_traceidratio", "0", None, 0),
        ("parentbased_traceidratio", "1", None, 2),
    ],
)
def test_the_standard_variables_choose_the_sampler(
    collector: Collector,
    monkeypatch: pytest.MonkeyPatch,
    sampler: str,
    argument: str,
    traceparent: str | None,
    count: int,
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", argument)
    assert len(recorded(collector, traceparent)) == count


def test_the_name_of_the_service_is_the_environments(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "fleet-of-mine")
    assert {each.service for each in recorded(collector)} == {"fleet-of-mine"}


def test_the_queue_is_bounded_and_a_full_one_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    with a_collector(hangs=True) as collector:
        for name, value in {**collector.variables, "OTEL_BSP_MAX_QUEUE_SIZE": "20"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
        sink = open_traces("tests")
        context = sink.begin()
        assert context is not None
        began = time.monotonic()
        for _ in range(2_000):
            sink.record(JobSpan(name="order", context=context.child(), parent_id=None, began_s=1.0))
        assert time.monotonic() - began < JUST_A_MOMENT_S
        began = time.monotonic()
        sink.close()
        assert time.monotonic() - began < JUST_A_MOMENT_S


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": " "},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_traces_are_off(environment: dict[str, str]) -> None:
    sink = open_traces("tests", environment=environment)
    assert sink is TRACES_OFF
    assert sink.begin(f"{CUSTOMER}-01") is None


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4318"}, "OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://"}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be an http"),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://u:secret@h:99999"}, "must be an http or https URL"),
        (
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://h:4317", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
            "OTEL_EXPORTER_OTLP_PROTOCOL is 'grpc'; comfyfleet sends http/protobuf only",
        ),
    ],
)
def test_an_endpoint_that_cannot_be_used_is_told(environment: dict[str, str], says: str) -> None:
    with pytest.raises(TracesMisconfigured, match=says) as raised:
        open_traces("tests", environment=environment)
    assert "secret" not in raised.value.message


WITHOUT_SDK = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter")):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from comfyfleet.traces.open import TracesMisconfigured, open_traces
open_traces("tests", environment={})
try:
    open_traces("tests", environment={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})
except TracesMisconfigured as problem:
    print(problem.message)
"""
NOTHING_LOADED = """
import sys
from comfyfleet.traces.open import open_traces
import comfyfleet.worker.run, comfyfleet.traces.control_plane
with open_traces("tests"):
    pass
print(sorted(name for name in sys.modules if name.startswith("opentelemetry")))
import comfyfleet.cli.serve, comfyfleet.cli.worker, comfyfleet.cli.up
print(sorted(name for name in sys.modules if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))))
"""


def run(script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_the_sdk_an_endpoint_names_the_extra() -> None:
    said = run(WITHOUT_SDK)
    assert "OTEL_EXPORTER_OTLP_ENDPOINT is set, and the OpenTelemetry SDK is not installed" in said
    assert "comfyfleet[traces]" in said


def test_without_an_endpoint_nothing_of_opentelemetry_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """FastAPI loads the API of its own accord; the SDK and the exporter nobody does."""
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    assert run(NOTHING_LOADED).split("\n")[:2] == ["[]", "[]"]
