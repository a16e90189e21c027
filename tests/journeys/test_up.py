"""`comfyfleet up` and the processes beside it."""

import json
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from tests.server import ServerProcess, server_process

PATIENCE_S = 30


def wait_until(true: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < until, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.05)


def logged(server: ServerProcess, event: str) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in server.errors.splitlines() if line.startswith("{") and line.endswith("}")]
    return [line for line in lines if line["event"] == event]


def process_ids(server: ServerProcess, name: str) -> list[int]:
    return [int(str(line["process_id"])) for line in logged(server, f"{name}.started")]


def lives(process_id: int) -> bool:
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def engine_url(server: ServerProcess) -> str:
    return str(logged(server, "engine.said")[0]["line"]).split()[2].rstrip(",")


def answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/system_stats", timeout=5).status_code == 200
    except httpx2.TransportError:
        return False


def test_the_engine_comes_with_it_comes_back_when_it_dies_and_goes_when_it_is_killed(tmp_path: Path) -> None:
    with server_process(tmp_path, "--engine") as server:
        url = engine_url(server)
        assert url in server.out
        assert answers(url)
        [first] = process_ids(server, "engine")
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: len(process_ids(server, "engine")) > 1, "a second engine")
        wait_until(lambda: answers(url), "the engine, at its old address")
        assert logged(server, "engine.died")[0]["code"] == -signal.SIGKILL
        second = process_ids(server, "engine")[-1]
        assert lives(second)
        server.kill()
        wait_until(lambda: not lives(second), "the engine's end")


def test_the_first_start_sets_up_a_demo_and_the_second_finds_it(tmp_path: Path) -> None:
    """Not even the engine must be there: `--comfyui` names a server that is away."""
    with server_process(tmp_path, "--comfyui", "http://127.0.0.1:1") as server:
        assert not process_ids(server, "engine")
        assert "http://127.0.0.1:1 " in server.out
        said = re.search(r"password of demo@localhost, shown only now: (\S+)", server.out)
        assert said is not None
        login = {"email": "demo@localhost", "password": said[1]}
        assert httpx2.post(f"{server.url}/api/auth/login", json=login).status_code == 200
        first = what_there_is(server)
        assert first["balance"] == 1000
        assert first["effects"] == ["glow", "paint", "painted-film", "pixel-film", "repaint"]
        assert server.stop() == 0
        (server.home / "demo.key").unlink()  # as if the first start had been cut short before its last step
        server.start()
        again = re.search(r"shown only now: (\S+)", server.out)
        assert again is not None
        assert again[1] != said[1]
        assert what_there_is(server) == first
        assert server.stop() == 0
        server.start()
        assert "shown only now" not in server.out
        assert what_there_is(server) == first
        assert oct((server.home / "fleet.secret").stat().st_mode)[-3:] == "600"


def what_there_is(server: ServerProcess) -> dict[str, object]:
    key = {"Authorization": f"Bearer {(server.home / 'demo.key').read_text().strip()}"}
    with httpx2.Client(base_url=server.url) as client:
        tenants = client.get("/api/admin/tenants", headers=server.operator).json()["tenants"]
        fleets = client.get("/api/admin/fleets", headers=server.operator).json()["fleets"]
        effects = client.get("/api/effects", headers=key).json()["effects"]
        return {
            "tenants": [each["slug"] for each in tenants],
            "fleets": [(each["slug"], each["stage"]) for each in fleets],
            "effects": sorted(each["slug"] for each in effects),
            "balance": client.get("/api/wallet", headers=key).json()["balance"],
        }


def test_a_home_with_tenants_of_its_own_gets_no_demo(tmp_path: Path) -> None:
    with server_process(tmp_path) as server:
        made = httpx2.post(f"{server.url}/api/admin/tenants", json={"slug": "acme"}, headers=server.operator)
        assert made.status_code == 201
        assert server.stop() == 0
        server.arguments = ("--comfyui", "http://127.0.0.1:1")
        server.start()
        assert "demo" not in server.out
        assert not (server.home / "demo.key").exists()


def test_without_its_libraries_there_is_a_hint_and_everything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['av'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with server_process(tmp_path, "--engine") as server:
        assert "pip install 'comfyfleet[engine]'" in server.out
        assert httpx2.get(f"{server.url}/readyz").status_code == 200
        assert not process_ids(server, "engine")
        assert server.stop() == 0
