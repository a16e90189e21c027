"""`comfyfleet up --autoscale`: real machines on this one, from zero and back, and none left behind."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.server import ServerProcess, run_command, server_process

PATIENCE_S = 150
FLEET = "demo/default"
SCALING = f"/api/admin/fleets/{FLEET}/scaling"
pytestmark = pytest.mark.timeout(400)


def until(true: Callable[[], bool], what: str, server: ServerProcess) -> None:
    ends = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < ends, f"not within {PATIENCE_S} s: {what}\n{server.errors[-3000:]}"
        time.sleep(0.1)


def get(server: ServerProcess, path: str) -> Any:
    answer = httpx2.get(f"{server.url}{path}", headers=server.operator, timeout=30)
    assert answer.status_code == 200, answer.text
    return answer.json()


def order(server: ServerProcess, jobs: int) -> Any:
    words = ("--tenant", "demo", "--workflow", "demo-paint", "--count", str(jobs), "--cost", "1", "--json")
    return json.loads(server.command("dispatches", "create", *words))


def are_completed(server: ServerProcess, jobs: Any) -> bool:
    rows = get(server, "/api/admin/dispatches?limit=100&status=completed")["dispatches"]
    return sum(jobs["first_id"] <= each["id"] <= jobs["last_id"] for each in rows) == jobs["count"]


def running(server: ServerProcess) -> list[str]:
    """Processes of machines: all have the folder of their machine in their words."""
    folder, found = str(server.home / "machines"), []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        found += [words] if folder in words else []
    return found


def test_a_fleet_goes_from_zero_to_three_and_back_and_survives_being_killed(tmp_path: Path) -> None:
    with server_process(tmp_path, "--autoscale", MAX_ACTIVE_JOBS_PER_USER="50") as server:
        assert get(server, "/api/admin/workers")["workers"] == []
        server.command("fleets", "scale", FLEET, "--down-delay", "3", "--load-window", "10")
        jobs = order(server, 8)
        said = json.loads(server.command("demo", "--json", "--effect", "glow"))
        assert [(job["effect"], job["error"]) for job in said["jobs"]] == [("glow", None)]
        until(lambda: are_completed(server, jobs), "all jobs are completed", server)
        until(lambda: get(server, SCALING)["desired_workers"] == 0, "nothing is desired", server)
        steps = get(server, f"{SCALING}/decisions")["decisions"]
        assert max(each["ready"] + each["starting"] for each in steps) == 3
        until(lambda: not running(server), "its machines have ended", server)
        until(lambda: {each["state"] for each in machines(server)} == {"ended"}, "no machine is listed", server)
        assert {each["end_reason"] for each in machines(server)} <= {"drained", None}

        # In the middle of it, nobody has the time to say good-bye.
        server.command("fleets", "scale", FLEET, "--max", "1", "--down-delay", "60")
        jobs = order(server, 3)
        until(lambda: any(each["leases"] for each in machines(server)), "a machine runs a job", server)
        server.kill()
        until(lambda: not running(server), "its machines have ended with it", server)
        server.start()
        assert get(server, SCALING)["settings"]["max_workers"] == 1
        until(lambda: are_completed(server, jobs), "what was under way is completed", server)
        assert running(server), "it waits for more"
        assert server.stop() == 0
        assert not running(server)
        assert not list((server.home / "machines").iterdir())


def machines(server: ServerProcess) -> list[Any]:
    return list(get(server, f"/api/admin/fleets/{FLEET}/machines")["machines"])


def test_with_a_comfyui_of_ones_own_it_says_what_to_leave_out(tmp_path: Path) -> None:
    done = run_command(tmp_path, "up", "--autoscale", "--comfyui", "http://127.0.0.1:1")
    assert done.returncode != 0
    assert "autoscale: starts machines with the built-in engine; leave out comfyui, or autoscale" in done.stderr
    assert not list(tmp_path.iterdir())
