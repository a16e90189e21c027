"""`/healthz` and `/metrics`."""

import socket
from pathlib import Path

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from comfyfleet import __version__
from comfyfleet.worker.counters import LABELS_MAX
from comfyfleet.worker.status_port import StatusPort, StatusPortTaken
from comfyfleet.worker.telemetry import LOOP_AGE_S_MAX, Phase, Telemetry
from tests.metric_names import problems_of


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_worker_is_well_while_it_polls_or_drains_with_a_server_and_a_loop_that_turns() -> None:
    clock = Clock()
    telemetry = Telemetry(now=clock)
    with StatusPort(telemetry, host="127.0.0.1", port=0) as port, httpx2.Client() as client:

        def health() -> tuple[int, str, str | None]:
            answer = client.get(f"http://127.0.0.1:{port.port}/healthz")
            body = answer.json()
            return answer.status_code, body["status"], body["problem"]

        assert health() == (503, "starting", "no server is ready")
        telemetry.server_is("a:8188", ready=True)
        assert health() == (503, "starting", "it has not registered yet")
        telemetry.phase_is(Phase.POLLING)
        assert health() == (200, "polling", None)
        telemetry.phase_is(Phase.DRAINING)
        assert health() == (200, "draining", None)
        telemetry.server_is("a:8188", ready=False, problem="gone")
        assert health() == (503, "draining", "no server is ready")
        telemetry.server_is("b:8188", ready=True)
        assert health()[0] == 200
        clock.now = LOOP_AGE_S_MAX + 1
        assert health()[0] == 503
        telemetry.loop_turned()
        assert health()[0] == 200
        telemetry.phase_is(Phase.STOPPED)
        assert health()[0] == 503
        assert client.get(f"http://127.0.0.1:{port.port}/other").status_code == 404
        assert client.head(f"http://127.0.0.1:{port.port}/metrics").status_code == 200


def test_what_is_counted_is_written_as_prometheus_reads_it(tmp_path: Path) -> None:
    telemetry = Telemetry(folders={"worker": tmp_path / "not made yet"})
    telemetry.server_is('ugly "name"\n\\', ready=True)
    telemetry.holding(leases=2, running=1)
    telemetry.job_finished("completed")
    telemetry.job_finished("completed")
    telemetry.stage_took("run", 3.0)
    telemetry.server_busy("a", 1.5)
    telemetry.bytes_moved("in", 20_000_000)
    telemetry.health_checked("continue_monitoring", "running", recovers=False)
    telemetry.health_checked("fail_job", "service_error", recovers=True)
    for number in range(LABELS_MAX * 2):
        telemetry.job_given_back(f"reason {number}")
    with StatusPort(telemetry, host="127.0.0.1", port=0) as port:
        text = httpx2.get(f"http://127.0.0.1:{port.port}/metrics").text
        accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
        newer = httpx2.get(f"http://127.0.0.1:{port.port}/metrics", headers=accept)
    assert newer.headers["content-type"].startswith("application/openmetrics-text")
    assert newer.text.endswith("# EOF\n")
    assert problems_of(text) == []
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    for sample, value in (
        (("comfyfleet_worker_jobs_total", ("outcome", "completed")), 2),
        (("comfyfleet_worker_held_leases",), 2),
        (("comfyfleet_worker_stage_seconds_bucket", ("le", "2.5"), ("stage", "run")), 0),
        (("comfyfleet_worker_stage_seconds_bucket", ("le", "5.0"), ("stage", "run")), 1),
        (("comfyfleet_worker_stage_seconds_sum", ("stage", "run")), 3),
        (("comfyfleet_worker_server_ready", ("server", 'ugly "name"\n\\')), 1),
        (("comfyfleet_worker_bytes_total", ("way", "in")), 20_000_000),
        (("comfyfleet_worker_given_back_total", ("reason", "other")), LABELS_MAX),
        (
            ("comfyfleet_worker_health_checks_total", ("action", "continue_monitoring"), ("reason", "running")),
            1,
        ),
        (("comfyfleet_worker_recoveries_total", ("action", "fail_job"), ("reason", "service_error")), 1),
        (("comfyfleet_build_info", ("version", __version__)), 1),
    ):
        assert samples[sample] == value
    assert samples["comfyfleet_disk_free_bytes", ("place", "worker")] > 0
    assert (
        "comfyfleet_worker_recoveries_total",
        ("action", "continue_monitoring"),
        ("reason", "running"),
    ) not in samples


def test_a_port_that_is_taken_is_told_and_silent_callers_keep_nobody_away() -> None:
    telemetry = Telemetry()
    with StatusPort(telemetry, host="127.0.0.1", port=0) as port:
        with pytest.raises(StatusPortTaken, match="Choose another status_port"):
            StatusPort(telemetry, host="127.0.0.1", port=port.port)
        silent = [socket.create_connection(("127.0.0.1", port.port)) for _ in range(3)]
        try:
            assert httpx2.get(f"http://127.0.0.1:{port.port}/healthz").status_code == 503
        finally:
            for each in silent:
                each.close()


def test_who_follows_hears_of_the_first_lease_and_of_the_last() -> None:
    telemetry, heard = Telemetry(), list[bool]()
    telemetry.follow_busy(heard.append)
    for leases in (0, 1, 2, 1, 0, 0, 3):
        telemetry.holding(leases=leases, running=0)
    assert heard == [True, False, True]
    telemetry.follow_busy(heard.append)
    assert heard[3:] == [True], "one that comes late is told at once"
