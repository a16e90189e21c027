"""A job's spans on its worker, sent to a real collector; and the wire, where one side knows nothing of traces."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from comfyfleet.kernel.traceparent import TraceContext, attempt_context
from comfyfleet.traces.open import open_traces
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.job_trace import JobTrace, WorkerSpans
from comfyfleet.worker.journal import Entry, Journal
from comfyfleet.worker.stages import Stage
from tests.collector import CollectedSpan, Collector, a_collector

JOB_TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
LEASE = str(attempt_context(JOB_TRACE, 1))


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with a_collector() as found:
        for name, value in found.variables.items():
            monkeypatch.setenv(name, value)
        yield found


def a_job(traceparent: str | None) -> wire.Job:
    return wire.Job(
        dispatch_id=uuid4(),
        lease_token="1.x",
        lease_seconds=15.0,
        heartbeat_interval_seconds=30.0,
        deadline_seconds=3600.0,
        job_id=uuid4(),
        workflow_id=uuid4(),
        structure_hash="s",
        provider="self_hosted",
        attempt=1,
        epoch=1,
        nonce="n",
        input_payload=msgspec.Raw(b"{}"),
        traceparent=traceparent,
    )


def an_entry(traceparent: str | None) -> Entry:
    return Entry(job=a_job(traceparent), leased_at=1_000.0)


def seen(collector: Collector, traceparent: str | None, *, outcome: str = "completed") -> dict[str, CollectedSpan]:
    with open_traces("worker") as sink:
        trace = JobTrace(WorkerSpans(sink, "gpu-1", "crew/test"), an_entry(traceparent))
        trace.at(Stage.FETCHING)
        trace.at(Stage.RUNNING)
        trace.at_node("1", "Loader")
        trace.at_node("1", "Loader")
        trace.at_node("2", "Sampler")
        if outcome != "completed":
            trace.failed(outcome)
        trace.at(Stage.ENDING)
        trace.ended(outcome)
        trace.close()
    return {each.name: each for each in collector.spans}


def test_stages_are_below_the_process_and_nodes_below_the_run(collector: Collector) -> None:
    spans = seen(collector, LEASE)
    assert set(spans) == {"process", "fetch", "run", "Loader", "Sampler", "report"}
    assert spans["process"].parent_id == LEASE.split("-")[2]
    assert {spans[name].parent_id for name in ("fetch", "run", "report")} == {spans["process"].span_id}
    assert {spans[name].parent_id for name in ("Loader", "Sampler")} == {spans["run"].span_id}
    assert spans["process"].began_s == 1_000.0


def test_a_failure_is_at_the_stage_and_the_node_where_it_happened(collector: Collector) -> None:
    spans = seen(collector, LEASE, outcome="out_of_memory")
    assert {name for name, each in spans.items() if each.is_error} == {"process", "run", "Sampler"}
    assert spans["run"].error == "out_of_memory"


def test_what_is_given_back_has_not_failed(collector: Collector) -> None:
    with open_traces("worker") as sink:
        trace = JobTrace(WorkerSpans(sink), an_entry(LEASE))
        trace.ended("given_back")
        trace.close()
    [span] = collector.spans
    assert (span.is_error, span.attributes["comfyfleet.outcome"]) == (False, "given_back")


def test_an_old_control_plane_sends_no_trace_and_the_worker_begins_one(collector: Collector) -> None:
    spans = seen(collector, None)
    assert spans["process"].parent_id is None
    assert {each.trace_id for each in spans.values()} == {spans["process"].trace_id}


def test_a_trace_that_is_not_sampled_is_left_out(collector: Collector) -> None:
    assert seen(collector, LEASE[:-2] + "00") == {}


def test_a_worker_without_traces_names_the_jobs_trace_in_its_log_and_records_nothing() -> None:
    trace = JobTrace(WorkerSpans(), an_entry(LEASE))
    assert trace.trace_id == LEASE.split("-")[1]
    trace.at(Stage.FETCHING)
    trace.at_node("1", "Loader")
    trace.close()
    assert JobTrace(WorkerSpans(), an_entry(None)).trace_id is None


def test_both_lives_of_a_worker_are_below_one_process() -> None:
    """What the first one recorded before it died is a child of what the second one records."""
    parent = TraceContext.parse(LEASE)
    assert parent is not None
    assert parent.named_child("process") == parent.named_child("process")


# ── the wire ──


class OldJob(msgspec.Struct, kw_only=True):
    """As a worker from before this field reads a lease."""

    dispatch_id: Any
    lease_token: str
    takes: list[str] = []


def test_an_old_worker_ignores_the_field_and_an_old_control_plane_leaves_it_out() -> None:
    sent = msgspec.json.encode(wire.PollReply(job=a_job(LEASE)))
    assert msgspec.json.decode(sent)["job"]["traceparent"] == LEASE
    assert msgspec.json.decode(msgspec.json.encode(a_job(LEASE)), type=OldJob).lease_token == "1.x"
    old = msgspec.json.decode(msgspec.json.encode(a_job(LEASE)))
    del old["traceparent"]
    assert msgspec.json.decode(msgspec.json.encode(old), type=wire.Job).traceparent is None


async def test_the_journal_keeps_the_trace(tmp_path: Any) -> None:
    journal, entry = Journal(tmp_path), an_entry(LEASE)
    journal.open()
    try:
        await journal.write(entry)
        [found] = journal.read()
    finally:
        journal.close()
    assert found.job.traceparent == LEASE
