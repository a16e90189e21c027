"""A worker's name: who has it, who gets it back at once, and who has to wait for it."""

import asyncio
import signal
import stat
from pathlib import Path

import httpx2

from comfyfleet.kernel.secret import Secret
from comfyfleet.worker.own_token import FILE, NEXT, OwnToken
from tests.engines import EngineProcess
from tests.worker.line import Line
from tests.worker.plant import Plant
from tests.worker.workers import a_worker, a_worker_process, eventually

WAITED = "worker.waits_for_its_name"


async def test_a_lost_reply_to_a_registration_is_asked_for_again_and_comes(
    plant: Plant, engine_process: EngineProcess, tmp_path: Path
) -> None:
    """The control plane has made the worker, and the worker does not know it."""
    name, port = "lost-reply", httpx2.URL(plant.url).port
    assert port is not None
    async with Line(port) as line:
        line.hold_replies()
        given = {"name": name, "CONTROL_PLANE_URL": line.url}
        with a_worker_process(plant, tmp_path, engine_process.url, **given) as process:
            await eventually(lambda: plant.rows("SELECT 1 FROM comfyui_workers WHERE worker_id = ?", name), "made")
            await line.cut()
            line.let_replies_go()
            line.mend()
            job = await asyncio.to_thread(plant.order, "draw")
            assert await asyncio.to_thread(plant.ends, job) == "completed"
            assert WAITED not in process.said
    assert plant.worker(name)["incarnation"] == 1


async def test_killed_before_it_wrote_down_its_token_it_is_back_at_once(
    plant: Plant, engine_process: EngineProcess, tmp_path: Path
) -> None:
    name = "killed-unwritten"
    for _ in range(2):
        with a_worker_process(plant, tmp_path, engine_process.url, name=name, die_at="registered") as process:
            assert await asyncio.to_thread(process.process.wait, 60) == -signal.SIGKILL, process.said
            assert WAITED not in process.said
    with a_worker_process(plant, tmp_path, engine_process.url, name=name) as process:
        await eventually(lambda: "worker.at_work" in process.said, "it is back")
        assert WAITED not in process.said
    home = tmp_path / "workers" / name
    assert stat.S_IMODE((home / FILE).stat().st_mode) == 0o600
    assert not (home / NEXT).exists()


async def test_another_machine_waits_for_a_name_that_is_in_use_and_says_why(
    plant: Plant, engine_process: EngineProcess, tmp_path: Path
) -> None:
    async with a_worker(plant, tmp_path / "first", engine_process.url, name="wanted") as first:
        await eventually(lambda: first.agent.is_registered, "the first has it")
        with a_worker_process(plant, tmp_path / "second", engine_process.url, name="wanted") as second:
            await eventually(lambda: WAITED in second.said, "it says why it waits")
            assert "A live worker has the name" in second.said
            assert second.process.poll() is None, second.said
            job = await asyncio.to_thread(plant.order, "draw")
            assert await asyncio.to_thread(plant.ends, job) == "completed", "the first works on"
    assert plant.worker("wanted")["incarnation"] == 1


async def test_a_folder_that_cannot_be_written_costs_no_more_than_the_proof(tmp_path: Path) -> None:
    token = OwnToken(tmp_path / "is not there")
    token.read()
    proposed = await token.propose()
    assert await token.propose() == proposed, "the same until it is answered"
    await token.keep(proposed)
    assert (token.last, token.proposed) == (proposed, None)


async def test_what_an_operator_put_into_the_file_is_what_it_shows(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("a-rotated-token\n")
    (tmp_path / NEXT).write_bytes(b"\xff not a token")
    token = OwnToken(tmp_path)
    token.read()
    assert (token.last, token.proposed) == (Secret("a-rotated-token"), None)
