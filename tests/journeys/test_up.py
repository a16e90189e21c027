"""`comfyfleet up` and the processes beside it."""

import asyncio
import json
import os
import re
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from PIL import Image

from comfyfleet.demo.catalogue import STOCK_PICTURES
from comfyfleet.engine.node import Node
from comfyfleet.engine.nodes import NODES
from tests.engines import an_engine
from tests.server import ServerProcess, free_port, run_command, server_process

PATIENCE_S = 30
STOCK = [each.slug for each in STOCK_PICTURES]


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


def test_everything_starts_a_demo_plays_and_everything_stops(tmp_path: Path) -> None:
    # Made by somebody else, who lets others look into it.
    (tmp_path / "home" / "engine").mkdir(parents=True)
    with server_process(tmp_path, "--engine") as server:
        assert f"cat {server.home / 'demo.password'}" in server.out
        assert stat.S_IMODE((server.home / "demo.password").stat().st_mode) == 0o600
        password = (server.home / "demo.password").read_text().strip()
        login = {"email": "demo@localhost", "password": password}
        assert httpx2.post(f"{server.url}/api/auth/login", json=login).status_code == 200
        for door in ("studio: ", "console:"):
            links = (server.home / "login.links").read_text()
            link = re.search(rf"open the {door} {server.url}/enter#token=(\S+)", links)
            assert link is not None
            assert httpx2.post(f"{server.url}/api/auth/enter", json={"token": link[1]}).status_code == 200
        told = json.loads(server.command("demo", "--json", "--effect", "glow"))
        assert [(job["effect"], job["error"]) for job in told["jobs"]] == [("glow", None)]
        assert told["balance"] == 1000 - 2
        moves = sorted((row["type"], row["amount"]) for row in told["ledger"])
        assert moves == [("JOB_CONSUME", 0), ("JOB_RESERVE", -2)]
        [[picture]] = [[tmp_path / file["path"] for file in job["files"]] for job in told["jobs"]]
        with Image.open(picture) as opened:
            assert opened.size == (1024, 683)
            assert len(opened.convert("RGB").resize((64, 64)).getcolors(64 * 64) or []) > 100
        files = [path for path in server.home.rglob("*") if path.is_file()]
        assert {"engine", "workers", "objects"} <= {path.relative_to(server.home).parts[0] for path in files}
        assert [path for path in files if path.stat().st_mode & 0o077] == []
        assert stat.S_IMODE((server.home / "engine").stat().st_mode) == 0o700
        beside = [process_ids(server, name)[-1] for name in ("engine", "worker")]
        assert server.stop() == 0
        assert not any(lives(each) for each in beside)
        assert logged(server, "worker.stopped")
        assert password not in server.errors + server.out


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
        beside = [process_ids(server, name)[-1] for name in ("engine", "worker")]
        assert all(lives(each) for each in beside)
        server.kill()
        wait_until(lambda: not any(lives(each) for each in beside), "the end of its neighbours")


SLOW_ENGINE = """
import sys, time
if "engine" in sys.argv:
    time.sleep(4)
elif "up" in sys.argv:
    import comfyfleet.cli.up.engine as engine
    engine.ANNOUNCED_WITHIN_S = 0.1
"""


def test_an_engine_that_is_slow_to_start_gets_its_worker_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine that is busy it may take longer than `up` waits for it."""
    (tmp_path / "sitecustomize.py").write_text(SLOW_ENGINE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with server_process(tmp_path, "--engine") as server:
        assert "the worker starts after it" in server.out
        assert logged(server, "worker.waits_for_engine")
        wait_until(lambda: bool(logged(server, "worker.at_work")), "the worker is at work")
        assert logged(server, "engine.started_late")


def test_without_its_libraries_there_is_a_hint_and_everything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['av'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with server_process(tmp_path, "--engine") as server:
        wait_until(lambda: "Without it work:" in server.out, "what works without the engine")
        assert "install it and start again:   pip install 'comfyfleet[engine]'" in server.out
        assert "comfyfleet demo" not in server.out, "nothing of it could run"
        assert offered(server) == set()
        assert httpx2.get(f"{server.url}/readyz").status_code == 200
        assert not process_ids(server, "engine")
        assert server.stop() == 0


def stock_nodes() -> list[Node]:
    """Those that a plain ComfyUI has, too."""
    return [node for node in NODES if not node.name.startswith("Fleet")]


async def test_a_plain_comfyui_that_comes_later_gets_effects_that_it_can_run_and_the_demo_finishes(
    tmp_path: Path,
) -> None:
    port = free_port()
    with server_process(tmp_path, "--comfyui", f"http://127.0.0.1:{port}") as server:
        wait_until(lambda: "The ComfyUI does not answer" in server.out, "a word on the server that is away")
        assert "The demo's effects are made as soon as it does" in server.out
        assert offered(server) == set()
        async with an_engine(tmp_path / "plain", nodes=stock_nodes(), port=port):
            told = json.loads(await asyncio.to_thread(server.command, "demo", "--json"))
            assert {job["effect"]: job["error"] for job in told["jobs"]} == dict.fromkeys(STOCK)
            assert offered(server) == set(STOCK)
            left_out = {each["effect"]: each["reason"] for each in told["left_out"]}
            assert set(left_out) == {"paint", "repaint", "painted-film", "pixel-film", "dream"}
            assert left_out["paint"] == "needs nodes of the built-in engine: FleetPaint"
            assert "left out: paint (needs nodes of the built-in engine: FleetPaint)" in server.out
            for job in told["jobs"]:
                [picture] = [tmp_path / file["path"] for file in job["files"]]
                with Image.open(picture) as opened:
                    assert len(opened.convert("RGB").resize((64, 64)).getcolors(64 * 64) or []) > 4
            beside = {"HOME": str(server.home), "PORT": str(server.port)}
            no_run = await asyncio.to_thread(run_command, tmp_path, "demo", "pipeline", **beside)
            assert no_run.returncode != 0
            assert "dream (needs a checkpoint" in no_run.stderr
            assert "Traceback" not in no_run.stderr
            assert await asyncio.to_thread(server.stop) == 0


def offered(server: ServerProcess) -> set[str]:
    headers = {"Authorization": f"Bearer {(server.home / 'demo.key').read_text().strip()}"}
    return {each["slug"] for each in httpx2.get(f"{server.url}/api/effects", headers=headers).json()["effects"]}
