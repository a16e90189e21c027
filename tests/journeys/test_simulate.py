"""`comfyfleet simulate`, small: real workers of the protocol, a real control plane, and nothing wrong afterwards."""

import asyncio
import json
from pathlib import Path

from comfyfleet.simulate.plan import Plan
from comfyfleet.simulate.stage import set_stage
from tests.server import run_command, server_process


def test_a_small_simulation_on_a_control_plane_of_its_own(tmp_path: Path) -> None:
    arguments = ["--workers", "6", "--jobs", "40", "--tenants", "3", "--seconds", "0.05", "--json"]
    done = run_command(tmp_path, "simulate", *arguments)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["completed"], found["failed"], found["repeated"]) == (40, 0, 0)
    assert (found["ledger_exact"], found["audit_clean"]) == (True, True)
    assert found["jobs_per_s"] > 0
    assert 0 < found["gpu_busy_share"] <= 1
    assert found["late_wait_p50_s"] is not None
    assert not list(tmp_path.iterdir())  # everything was in a folder that went away


def test_another_control_plane_with_its_own_limits(tmp_path: Path) -> None:
    """Five jobs a user at a time, as a server is by default: then its users wait for their own."""
    with server_process(tmp_path) as server:
        key = (server.home / "operator.key").read_text().strip()
        arguments = ["--workers", "2", "--jobs", "12", "--tenants", "1", "--seconds", "0.05"]
        done = run_command(tmp_path, "simulate", *arguments, "--control-plane", server.url, "--json", OPERATOR_KEY=key)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["completed"] == 12
        many = Plan(workers=1, jobs=12_000, tenants=1, run_s=1.0, output_bytes=1)
        assert [user.jobs for user in asyncio.run(set_stage(server.url, key, many)).users] == [5_000, 5_000, 2_000]
        nobody = run_command(tmp_path, "simulate", "--control-plane", server.url)
        assert "COMFYFLEET_OPERATOR_KEY" in nobody.stderr
        assert nobody.returncode == 2
