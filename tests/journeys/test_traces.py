"""One job is one trace, across processes: a control plane, a worker, an engine, and a collector of spans."""

import json
import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.collector import CollectedSpan, Collector, a_collector
from tests.engines import EngineProcess, an_engine_process
from tests.worker.plant import Plant, a_plant
from tests.worker.workers import WorkerProcess, a_worker_process

CUSTOMERS_SPAN = "b7ad6b7169203331"
WORDS = "a lighthouse nobody else writes of"
CLIENT, SERVER_KIND = 3, 2
# Two processes of one machine read one clock; a span's times are rounded, and a process may be held up in between.
SLACK_S = 0.25


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with a_collector() as found:
        yield found


@pytest.fixture(scope="module")
def traced(
    collector: Collector, tmp_path_factory: pytest.TempPathFactory, sqlite_templates: Path
) -> Iterator[tuple[Plant, WorkerProcess, EngineProcess]]:
    folder = tmp_path_factory.mktemp("traced")
    given = {
        "BLOCK_COOLDOWN_S": "0",
        "WEBHOOK_NETWORKS": '["127.0.0.0/8"]',
        "TRACE_URL": "https://traces.example.com/trace/{trace_id}",
        "LOG_FORMAT": "json",
        **collector.variables,
    }
    with (
        an_engine_process(folder / "engine") as engine,
        a_plant(folder, sqlite_templates, **given) as plant,
        a_worker_process(plant, folder / "worker", engine.url, name="traced-1", **collector.variables) as worker,
    ):
        yield plant, worker, engine


def traceparent_of_a_customer(*, flags: str = "01") -> str:
    return f"00-{secrets.token_hex(16)}-{CUSTOMERS_SPAN}-{flags}"


def order(plant: Plant, effect: str = "draw", *, headers: dict[str, str] | None = None, **body: Any) -> str:
    answer = plant.client.post("/api/ai-jobs", json={"effect": effect, **body}, headers=headers or {})
    assert answer.status_code == 201, answer.text
    plant.ordered.append(str(answer.json()["id"]))
    return plant.ordered[-1]


def detail(plant: Plant, job: str) -> dict[str, Any]:
    answer = httpx2.get(f"{plant.url}/api/admin/dispatches/{job}", headers=plant.server.operator, timeout=30)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def trace_id(plant: Plant, job: str) -> str:
    plant.dispatch(job)
    return str(detail(plant, job)["dispatch"]["trace_id"])


def named(spans: list[CollectedSpan], name: str) -> CollectedSpan:
    [found] = [each for each in spans if each.name == name]
    return found


def names_of(spans: list[CollectedSpan]) -> set[str]:
    return {each.name for each in spans}


def parent_name(spans: list[CollectedSpan], span: CollectedSpan) -> str | None:
    return next((each.name for each in spans if each.span_id == span.parent_id), None)


@contextmanager
def a_hook() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Not into the test's output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/hook/secret-path"
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


PARENTS = {
    "relay": "order",
    "lease": "order",
    "attempt": "order",
    "settle": "order",
    "webhook": "order",
    "complete": "attempt",
    "process": "attempt",
    "fetch": "process",
    "wait": "process",
    "submit": "process",
    "queued": "process",
    "run": "process",
    "upload": "process",
    "report": "process",
    "FleetSleep": "run",
    "SaveImage": "run",
}
AT_WORKER = {"process", "fetch", "wait", "submit", "queued", "run", "upload", "report", "FleetSleep", "SaveImage"}


def test_one_job_is_one_trace_from_the_order_to_the_delivered_result(
    traced: tuple[Plant, WorkerProcess, EngineProcess], collector: Collector
) -> None:
    plant, worker, _ = traced
    customer = traceparent_of_a_customer()
    with a_hook() as url:
        headers = {"traceparent": customer, "x-request-id": customer}
        body = {"properties": {"seconds": 0.3, "steps": 3, "words": WORDS}, "webhook_url": url}
        job = order(plant, "say", headers=headers, **body)
        assert plant.ends(job) == "completed"
        ours = customer.split("-")[1]
        assert trace_id(plant, job) == ours
        webhooks = 3  # queued, started, completed

        def is_whole(spans: list[CollectedSpan]) -> bool:
            sent = [each.name for each in spans].count("webhook")
            return names_of(spans) >= {"order", *PARENTS} and sent == webhooks

        spans = collector.waits(ours, is_whole)
    root = named(spans, "order")
    assert root.parent_id == CUSTOMERS_SPAN
    assert root.kind == SERVER_KIND
    found = {each.name: parent_name(spans, each) for each in spans if each is not root}
    assert {name: found[name] for name in PARENTS} == PARENTS
    assert {name for name, parent in found.items() if parent is None} == set()
    assert {each.name for each in spans if each.service == "comfyfleet-worker"} >= AT_WORKER
    assert {each.service for each in spans if each.name not in found.keys() - PARENTS.keys()} == {
        "comfyfleet",
        "comfyfleet-worker",
    }
    assert not AT_WORKER & {each.name for each in spans if each.service == "comfyfleet"}
    assert not any(each.is_error for each in spans)
    _check_times(spans)
    _check_attributes(plant, spans, job)
    everything = b"".join(collector.bodies)
    assert WORDS.encode() not in everything
    assert b"secret-path" not in everything
    assert plant.member.key.reveal().encode() not in everything
    _check_what_is_shown(plant, worker, job, customer)


def _check_times(spans: list[CollectedSpan]) -> None:
    """What follows from another comes after it, and what is inside of another lies in it."""
    assert all(each.ended_s >= each.began_s for each in spans)
    attempt, process, run = (named(spans, name) for name in ("attempt", "process", "run"))
    # It begins when the worker hears of the first node, which may be a step later.
    assert run.ended_s - run.began_s >= named(spans, "FleetSleep").ended_s - named(spans, "FleetSleep").began_s > 0
    stages = [named(spans, name) for name in ("fetch", "wait", "submit", "queued", "run", "upload", "report")]
    assert all(one.ended_s <= two.began_s + SLACK_S for one, two in pairwise(stages))
    inside = [(process, each) for each in stages]
    inside += [(run, named(spans, name)) for name in ("FleetSleep", "SaveImage")]
    for outer, inner in inside:
        assert outer.began_s - SLACK_S <= inner.began_s <= inner.ended_s <= outer.ended_s + SLACK_S
    assert named(spans, "lease").ended_s <= attempt.began_s + SLACK_S
    assert attempt.began_s <= run.began_s <= run.ended_s <= attempt.ended_s + SLACK_S
    assert named(spans, "settle").ended_s >= attempt.began_s


def _check_attributes(plant: Plant, spans: list[CollectedSpan], job: str) -> None:
    for each in spans:
        if each.name in {*PARENTS, "order"} - AT_WORKER:
            assert each.attributes["comfyfleet.job.id"] == job, each.name
            assert each.attributes["comfyfleet.tenant.id"] == str(plant.member.tenant.id), each.name
    assert named(spans, "order").attributes["comfyfleet.effect"] == "say"
    assert named(spans, "settle").attributes["comfyfleet.outcome"] == "completed"
    process, attempt = named(spans, "process"), named(spans, "attempt")
    assert process.attributes["comfyfleet.fleet"] == "crew/test"
    assert {each.attributes["comfyfleet.worker.id"] for each in (process, attempt)} == {"traced-1"}
    assert {each.attributes["comfyfleet.attempt"] for each in (process, attempt)} == {1}
    assert named(spans, "SaveImage").attributes["comfyfleet.node.id"] == "9"
    [hook, *_] = [each for each in spans if each.attributes.get("comfyfleet.webhook.event") == "job.completed"]
    assert hook.kind == CLIENT
    assert hook.attributes["http.response.status_code"] == 204


def _check_what_is_shown(plant: Plant, worker: WorkerProcess, job: str, customer: str) -> None:
    """Operators get the trace and its URL, users neither; log lines name it."""
    ours = customer.split("-")[1]
    url = f"https://traces.example.com/trace/{ours}"
    shown = detail(plant, job)
    assert (shown["dispatch"]["trace_id"], shown["trace_url"]) == (ours, url)
    told = json.loads(plant.server.command("dispatches", "show", job, "--json"))
    assert (told["dispatch"]["trace_id"], told["trace_url"]) == (ours, url)
    assert not [word for word in ("trace_id", "trace_url", ours) if word in json.dumps(plant.job(job))]
    of_job = [line for line in _log(worker.said) if line.get("job") == job]
    assert of_job
    assert {line["trace_id"] for line in of_job} == {ours}
    of_order = [line for line in _log(plant.server.errors) if line.get("request_id") == customer]
    assert {line.get("trace_id") for line in of_order if line["event"] == "request"} == {ours}
    assert {line.get("trace_id") for line in _log(plant.server.errors) if line["event"] == "webhook.sent"} >= {ours}


def _log(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def test_a_second_attempt_is_in_the_same_trace_and_the_first_one_is_an_error(
    traced: tuple[Plant, WorkerProcess, EngineProcess], collector: Collector
) -> None:
    plant, _, engine = traced
    # What has failed on the only worker, and never succeeded, is not tried again.
    assert plant.ends(order(plant, properties={"seed": 5})) == "completed"
    faults = {"prompts": {"out_of_memory_at_node": "9"}, "prompts_times": 1}
    httpx2.post(f"{engine.url}/comfyfleet/faults", json=faults).raise_for_status()
    job = order(plant, properties={"seed": 7, "seconds": 0.2})
    assert plant.ends(job) == "completed"
    ours = trace_id(plant, job)

    def is_whole(spans: list[CollectedSpan]) -> bool:
        counts = {name: [each.name for each in spans].count(name) for name in ("process", "attempt", "settle")}
        return counts == {"process": 2, "attempt": 2, "settle": 1} and "order" in names_of(spans)

    spans = collector.waits(ours, is_whole)
    root = named(spans, "order")
    assert root.parent_id is None
    first, second = sorted((each for each in spans if each.name == "attempt"), key=lambda each: each.began_s)
    assert (first.parent_id, second.parent_id) == (root.span_id, root.span_id)
    assert (first.is_error, first.attributes["error.type"]) == (True, "out_of_memory")
    assert (second.is_error, second.attributes["comfyfleet.outcome"]) == (False, "completed")
    assert [each.attributes["comfyfleet.attempt"] for each in (first, second)] == [1, 2]
    processes = {each.parent_id: each for each in spans if each.name == "process"}
    assert processes[first.span_id].attributes["error.type"] == "out_of_memory"
    assert not processes[second.span_id].is_error
    [failed] = [each for each in spans if each.is_error and each.parent_id == processes[first.span_id].span_id]
    assert failed.name == "run"
    assert [each.name for each in spans if each.is_error and each.parent_id == failed.span_id] == ["SaveImage"]
    assert {each.name: parent_name(spans, each) for each in spans}["fail"] == "attempt"
    leases = sorted((each for each in spans if each.name == "lease"), key=lambda each: each.began_s)
    # The second one waited since the first attempt had ended, and not since the order.
    assert [each.attributes["comfyfleet.attempt"] for each in leases] == [1, 2]
    assert abs(leases[1].began_s - first.ended_s) < 1.0
    assert first.ended_s - first.began_s < second.began_s - first.began_s


def test_a_job_that_nobody_ordered_over_http_gets_its_trace_on_its_way_to_the_queue(
    traced: tuple[Plant, WorkerProcess, EngineProcess], collector: Collector
) -> None:
    plant, _, _ = traced
    job = order(plant, properties={"seed": 11})
    assert plant.ends(job) == "completed"
    answer = httpx2.post(
        f"{plant.url}/api/admin/dispatches/{job}/retry", headers=plant.server.operator, json={}, timeout=30
    )
    again = answer.json()["job_id"]
    ours = trace_id(plant, again)
    assert ours != trace_id(plant, job)
    spans = collector.waits(ours, lambda found: names_of(found) >= {"order", "relay", "process", "settle", "attempt"})
    assert named(spans, "order").parent_id is None
    assert {parent_name(spans, named(spans, name)) for name in ("relay", "lease", "attempt", "settle")} == {"order"}


def test_a_trace_that_its_customer_does_not_sample_is_recorded_by_nobody(
    traced: tuple[Plant, WorkerProcess, EngineProcess], collector: Collector
) -> None:
    plant, _, _ = traced
    unsampled = traceparent_of_a_customer(flags="00")
    job = order(plant, headers={"traceparent": unsampled}, properties={"seed": 13})
    assert plant.ends(job) == "completed"
    later = order(plant, properties={"seed": 17})
    assert plant.ends(later) == "completed"
    collector.waits(trace_id(plant, later), lambda found: names_of(found) >= {"process", "settle", "order"})
    assert collector.of(unsampled.split("-")[1]) == []
    shown = detail(plant, job)
    assert (shown["dispatch"]["trace_id"], shown["trace_url"]) == (None, None)


def test_a_refused_order_is_an_error_in_its_customers_trace(
    traced: tuple[Plant, WorkerProcess, EngineProcess], collector: Collector
) -> None:
    plant, _, _ = traced
    traceparent = traceparent_of_a_customer()
    body = {"effect": "draw", "properties": {"steps": 0}}
    answer = plant.client.post("/api/ai-jobs", json=body, headers={"traceparent": traceparent})
    assert answer.status_code == 422
    [span] = collector.waits(traceparent.split("-")[1], lambda found: len(found) == 1)
    assert (span.name, span.is_error) == ("order", True)
    assert span.attributes["error.type"] == answer.json()["error"]["code"]


def test_a_collector_that_is_away_or_hangs_costs_no_job_and_no_stop(tmp_path: Path, sqlite_templates: Path) -> None:
    with a_collector() as gone:
        nowhere = gone.url
    away = {"OTEL_EXPORTER_OTLP_ENDPOINT": nowhere, "OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
    with (
        a_collector(hangs=True) as silent,
        an_engine_process(tmp_path / "engine") as engine,
        a_plant(tmp_path, sqlite_templates, LOG_FORMAT="json", **away) as plant,
        a_worker_process(plant, tmp_path / "worker", engine.url, name="deaf", **silent.variables) as worker,
    ):
        jobs = [order(plant, properties={"seed": seed}) for seed in range(3)]
        assert [plant.ends(job) for job in jobs] == ["completed"] * 3

        def warnings() -> list[dict[str, Any]]:
            return [line for line in _log(plant.server.errors) if line["event"] == "traces.not_exported"]

        plant.waits(warnings, "it is said that spans were lost")
        plant.waits(lambda: silent.bodies, "the worker has tried")
        jobs = [order(plant, properties={"seed": seed}) for seed in range(3, 6)]
        assert [plant.ends(job) for job in jobs] == ["completed"] * 3
        assert len(warnings()) == 1  # what comes again is counted
        assert warnings()[0]["collector"] == nowhere.removeprefix("http://")
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(30) == 0
        assert [line["event"] for line in _log(worker.said)][-1] == "traces.not_flushed"
        assert plant.server.stop() == 0
