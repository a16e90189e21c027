"""`comfyfleet worker` as a real process: it works, tells how it is, hears signals, and owns its ComfyUI."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2

from tests.engines import EngineProcess
from tests.server import free_port
from tests.worker.edge.metadata_server import ACTION, a_metadata_server
from tests.worker.plant import FLEET, STAGE, Plant
from tests.worker.workers import eventually

COMMAND = [sys.executable, "-m", "comfyfleet", "worker"]


class Started:
    def __init__(self, process: "subprocess.Popen[bytes]", log: Path, port: int) -> None:
        self.process, self._log, self._port = process, log, port

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{")]

    @property
    def text(self) -> str:
        return self._log.read_text()

    def health(self) -> dict[str, Any] | None:
        try:
            answer = httpx2.get(f"http://127.0.0.1:{self._port}/healthz", timeout=5)
        except httpx2.HTTPError:
            assert self.process.poll() is None, self.text
            return None
        return {**answer.json(), "code": answer.status_code}

    def metrics(self) -> str:
        return httpx2.get(f"http://127.0.0.1:{self._port}/metrics", timeout=5).text

    def is_well(self) -> bool:
        found = self.health()
        return found is not None and found["code"] == 200 and found["status"] == "polling"

    def send(self, which: signal.Signals) -> None:
        self.process.send_signal(which)


@contextmanager
def a_started_worker(
    plant: Plant, folder: Path, *flags: str, name: str | None = "", **environment: str
) -> Iterator[Started]:
    """Named after its folder, or not at all."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
    secret = folder / "secret"
    secret.write_text(f"{plant.fleet_secret}\n")
    port, log = free_port(), folder / "worker.log"
    said = [
        *("--control-plane", plant.url, "--fleet-secret-file", str(secret), "--fleet", FLEET, "--stage", STAGE),
        *(() if name is None else ("--worker-id", name or folder.name)),
        *("--home", str(folder / "home"), "--port", str(port), "--log-format", "json"),
    ]
    settings = {"COMFYFLEET_CLOUD_MACHINE": "none", "COMFYFLEET_DISK_FREE_BYTES_MIN": "0", **environment}
    with (
        log.open("wb") as err,
        subprocess.Popen([*COMMAND, *said, *flags], env={**kept, **settings}, cwd=folder, stderr=err) as process,
    ):
        try:
            yield Started(process, log, port)
        finally:
            process.kill()


def runs(plant: Plant, job_id: str) -> bool:
    """The prompt is known: a heartbeat has told it."""
    rows = plant.rows("select status, provider_job_id from ai_job_dispatches where id = ?", job_id)
    return any(row["status"] == "leased" and row["provider_job_id"] for row in rows)


def test_it_works_tells_how_it_is_and_the_first_signal_lets_the_job_end(
    plant: Plant, engine_process: EngineProcess, tmp_path: Path
) -> None:
    with a_started_worker(plant, tmp_path, "--server", engine_process.url) as worker:
        plant.waits(worker.is_well, "it polls")
        job_id = plant.order(seconds=2.0)
        plant.waits(lambda: runs(plant, job_id), "it runs")
        worker.send(signal.SIGTERM)
        assert worker.process.wait(60) == 0, worker.text
    assert plant.job(job_id)["status"] == "completed"
    [shown] = plant.rows("select status, capabilities from comfyui_workers where worker_id = ?", tmp_path.name)
    assert shown["status"] == "gone"
    assert json.loads(shown["capabilities"])["node_classes"] > 10
    spoken = [each for each in worker.events if each.get("job") == job_id]
    assert spoken, worker.text
    assert all(each["dispatch"] == job_id and each["epoch"] == 1 for each in spoken)
    assert plant.fleet_secret not in worker.text


def test_the_second_signal_gives_the_job_back_and_no_attempt_is_spent(
    plant: Plant, engine_process: EngineProcess, tmp_path: Path
) -> None:
    with a_started_worker(plant, tmp_path, "--server", engine_process.url, COMFYFLEET_DRAIN_S="600") as worker:
        plant.waits(worker.is_well, "it polls")
        job_id = plant.order(seconds=120.0, steps=240)
        plant.waits(lambda: runs(plant, job_id), "it runs")
        worker.send(signal.SIGTERM)
        plant.waits(lambda: (worker.health() or {}).get("status") == "draining", "it drains")
        assert 'comfyfleet_worker_phase{phase="draining"} 1' in worker.metrics()
        worker.send(signal.SIGINT)
        assert worker.process.wait(60) == 0, worker.text
    found = plant.dispatch(job_id)
    assert (found["status"], plant.spent(job_id)) == ("queued", 0)
    assert plant.client.post(f"/api/ai-jobs/{job_id}/cancel").status_code == 200


async def test_a_spot_notice_gives_back_what_cannot_end_in_time_and_the_name_is_the_instances(
    plant: Plant, engine_process: EngineProcess, tmp_path: Path
) -> None:
    instance = "i-0123456789abcdef0"
    async with a_metadata_server() as metadata:
        metadata.says["/latest/meta-data/instance-id"] = instance.encode()
        metadata.says["/latest/meta-data/placement/region"] = b"eu-central-1"
        environment = {
            "COMFYFLEET_METADATA_URL": metadata.url,
            "COMFYFLEET_CLOUD_MACHINE": "ec2",
            "COMFYFLEET_SCALE_IN_PROTECTION": "off",
        }
        with a_started_worker(plant, tmp_path, "--server", engine_process.url, name=None, **environment) as worker:
            await eventually(worker.is_well, "it polls")
            job_id = await asyncio.to_thread(plant.order, seconds=600.0, steps=1200)
            await eventually(lambda: runs(plant, job_id), "it runs")
            soon = (datetime.now(UTC) + timedelta(seconds=14)).strftime("%Y-%m-%dT%H:%M:%SZ")
            metadata.says[ACTION] = json.dumps({"action": "terminate", "time": soon}).encode()
            assert await asyncio.to_thread(worker.process.wait, 60) == 0, worker.text
    assert (plant.dispatch(job_id)["status"], plant.spent(job_id)) == ("queued", 0)
    assert plant.rows("select status from comfyui_workers where worker_id = ?", instance) == [{"status": "gone"}]
    assert plant.client.post(f"/api/ai-jobs/{job_id}/cancel").status_code == 200


def test_an_owned_engine_is_started_survives_a_killed_worker_and_stops_with_the_next(
    plant: Plant, tmp_path: Path
) -> None:
    port = free_port()
    command = f"{sys.executable} -m comfyfleet engine --port {port} --dir {tmp_path / 'engine'}"
    flags = ("--server", f"http://127.0.0.1:{port}", "--comfyui-command", command)
    with a_started_worker(plant, tmp_path, *flags) as worker:
        plant.waits(worker.is_well, "it polls")
        [pid_file] = (tmp_path / "home/workers" / tmp_path.name).glob("*.pid")
        first = pid_file.read_text()
        worker.send(signal.SIGKILL)
        worker.process.wait(60)
    with a_started_worker(plant, tmp_path, *flags) as worker:
        plant.waits(worker.is_well, "it polls again")
        assert pid_file.read_text() == first, "the engine of before"
        os.kill(int(first.split()[0]), signal.SIGKILL)
        plant.waits(lambda: pid_file.exists() and pid_file.read_text() != first, "it was started again")
        plant.waits(worker.is_well, "and it is well")
        assert "comfyfleet_worker_server_restarts_total" in worker.metrics()
        worker.send(signal.SIGTERM)
        assert worker.process.wait(60) == 0, worker.text
        assert not pid_file.exists()
    assert any(each["event"] == "comfyui.said" and "Engine on" in each["line"] for each in worker.events)


def test_h11_an_owned_engine_is_restarted_after_two_server_faults_in_a_row(plant: Plant, tmp_path: Path) -> None:
    """Its disk is full when pictures are saved; the second prompt stands behind the first and meets the same."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = f"{sys.executable} -m comfyfleet engine --port {port} --dir {tmp_path / 'engine'}"
    with a_started_worker(plant, tmp_path, "--server", url, "--comfyui-command", command) as worker:
        plant.waits(worker.is_well, "it polls")
        [pid_file] = (tmp_path / "home/workers" / tmp_path.name).glob("*.pid")
        first = pid_file.read_text()
        ordered = httpx2.post(f"{url}/comfyfleet/faults", json={"prompts": {"disk_full_at_node": "9"}})
        assert ordered.status_code == 200, ordered.text
        jobs = [plant.order(seconds=1.0, seed=seed) for seed in (1, 2)]
        plant.waits(lambda: pid_file.exists() and pid_file.read_text() != first, "it was started again")
        plant.waits(worker.is_well, "and it is well")
        [told] = [each for each in worker.events if each["event"] == "server.unhealthy"]
        assert (told["restarts"], "No space left" in told["problem"]) == (True, True)
        assert re.search(r"comfyfleet_worker_server_restarts_total\{.*\} 1", worker.metrics())
        worker.send(signal.SIGTERM)
        assert worker.process.wait(60) == 0, worker.text
    assert {row["reason"] for job_id in jobs for row in plant.attempts(job_id)} == {"server_fault"}


def test_a_worker_that_never_reached_the_control_plane_stops_at_the_first_signal(plant: Plant, tmp_path: Path) -> None:
    flags = ("--control-plane", "http://127.0.0.1:1", "--server", "http://127.0.0.1:1")
    with a_started_worker(plant, tmp_path, *flags) as worker:
        plant.waits(lambda: "control.unreachable" in worker.text, "it tries")
        found = worker.health()
        assert found is not None
        assert (found["code"], found["status"]) == (503, "starting")
        worker.send(signal.SIGTERM)
        assert worker.process.wait(60) == 0, worker.text
