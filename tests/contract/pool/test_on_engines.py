"""The pool on three real engines over real sockets: HTTP, WebSocket, files, and one engine that fails one workflow."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.health import Patience
from comfyfleet.comfy.model import FailureClass
from comfyfleet.comfy.self_hosted import SelfHosted
from comfyfleet.engine.engine import Engine
from comfyfleet.engine.faults import FaultOrder, PromptFaults, RouteFault
from comfyfleet.engine.server import serve_here
from comfyfleet.pool import (
    ClientBlockedWorkflow,
    ClientUnblockedWorkflow,
    InputFile,
    Pool,
    RunCancelled,
    RunFailed,
    Server,
    SmartFailover,
)


def a_png() -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (8, 8), (200, 100, 50)).save(written, "PNG")
    return written.getvalue()


@dataclass
class Engines:
    servers: list[Server]
    boards: dict[str, Engine]

    def order(self, name: str, **faults: Any) -> None:
        routes = faults.pop("routes", ())
        self.boards[name].board.set(FaultOrder(prompts=PromptFaults(**faults), routes=routes))


@pytest.fixture
async def engines(tmp_path: Path) -> AsyncIterator[Engines]:
    async with AsyncExitStack() as stack:
        made: dict[str, Engine] = {}
        servers = []
        for name in ("one", "two", "three"):
            made[name] = Engine(tmp_path / name)
            url = await stack.enter_async_context(serve_here(made[name]))
            servers.append(Server(SelfHosted(url, patience=Patience(ambiguous_s=0.5, round_gap_s=0.1)), name=name))
        yield Engines(servers, made)


def draw(node: str = "draw", *, color: int = 255, seconds: float = 0.0) -> dict[str, Any]:
    return {
        node: {"class_type": "EmptyImage", "inputs": {"width": 32, "height": 32, "batch_size": 1, "color": color}},
        "sleep": {
            "class_type": "FleetSleep",
            "inputs": {
                "seconds": seconds,
                "steps": 1 + int(seconds * 20),
                "seed": color,
                "previews": True,
                "image": [node, 0],
            },
        },
        "save": {"class_type": "SaveImage", "inputs": {"images": ["sleep", 0], "filename_prefix": "pool"}},
    }


async def test_one_engine_fails_one_workflow_only_and_comes_back_after_the_cooldown(engines: Engines) -> None:
    engines.order("one", error_at_node="draw")
    async with Pool(engines.servers, strategy=SmartFailover(cooldown_s=1.0)) as pool:
        blocked, lifted = pool.events("client:blocked_workflow"), pool.events("client:unblocked_workflow")
        results = await asyncio.gather(*(pool.run(draw(color=number)) for number in range(9)))
        assert {result.server for result in results} == {"two", "three"}
        said = await anext(blocked)
        assert isinstance(said, ClientBlockedWorkflow)
        assert (said.server, said.structure_hash) == ("one", results[0].job.structure_hash)
        assert said.failure is FailureClass.EXECUTION_ERROR
        # The same server is asked for another workflow, and serves it.
        assert (await pool.run(draw("paint"), servers={"one"})).server == "one"
        engines.order("one")
        again = await pool.run(draw(color=77), servers={"one"})
        assert again.server == "one"
        freed = await anext(lifted)
        assert isinstance(freed, ClientUnblockedWorkflow)
        assert (freed.server, freed.reason) == ("one", "expired")
        assert again.job.started_at is not None
        assert again.job.started_at >= said.until


async def test_a_picture_goes_in_and_comes_out_with_progress_previews_and_a_profile(
    engines: Engines, tmp_path: Path
) -> None:
    invert = {
        "load": {"class_type": "LoadImage", "inputs": {"image": "placeholder.png"}},
        "invert": {"class_type": "ImageInvert", "inputs": {"image": ["load", 0]}},
        "save": {"class_type": "SaveImage", "inputs": {"images": ["invert", 0], "filename_prefix": "inverted"}},
    }
    async with Pool(engines.servers, outputs=tmp_path / "out") as pool:
        events = pool.events("job:progress", "job:preview")
        inputs = {("load", "image"): InputFile(a_png(), "cat.png")}
        result = await pool.run(invert, inputs=inputs, metadata={"user": "ada"})
        slept = await pool.run(draw(seconds=0.4))
    assert [file.path.read_bytes()[:8] for file in result.files] == [b"\x89PNG\r\n\x1a\n"]
    assert slept.profile.nodes[0].class_type == "FleetSleep"
    assert slept.profile.nodes[0].seconds == pytest.approx(0.4, abs=0.35)
    assert {event.name async for event in events} == {"job:progress", "job:preview"}


async def test_many_jobs_spread_over_all_engines(engines: Engines) -> None:
    async with Pool(engines.servers) as pool:
        results = await asyncio.gather(*(pool.run(draw(color=number, seconds=0.05)) for number in range(18)))
    assert {result.server for result in results} == {"one", "two", "three"}
    assert all(result.outputs for result in results)


async def test_running_and_waiting_prompts_are_cancelled_on_the_engine(engines: Engines) -> None:
    async with Pool(engines.servers[:1]) as pool:
        started = pool.events("job:progress")
        handles = [await pool.submit(draw(color=number, seconds=30.0)) for number in range(3)]
        await anext(started)
        for handle in reversed(handles):
            assert await handle.cancel()
            with pytest.raises(RunCancelled):
                await handle
        assert engines.boards["one"].queue.remaining() == 0
        await pool.run(draw(color=9))


async def test_memory_card_and_wrong_values_are_told_apart(engines: Engines) -> None:
    engines.order("one", out_of_memory_at_node="draw")
    engines.order("two", cuda_error_at_node="draw")
    async with Pool(engines.servers, strategy=SmartFailover(cooldown_s=1.0)) as pool:
        blocked = pool.events("client:blocked_workflow")
        assert (await pool.run(draw())).server == "three"
        for _ in range(2):
            said = await anext(blocked)
            assert isinstance(said, ClientBlockedWorkflow)
            whole = said.failure is FailureClass.SERVER_FAULT
            assert (said.server, said.structure_hash == "*") == (("two", True) if whole else ("one", False))
        bad = draw()
        bad["draw"]["inputs"]["width"] = -5
        with pytest.raises(RunFailed, match="width") as failed:
            await pool.run(bad)
        assert failed.value.failure.failure is FailureClass.USER_INPUT
        with pytest.raises(RunFailed) as failed:
            await pool.run({"1": {"class_type": "NobodyHasThis", "inputs": {}}})
        assert failed.value.failure.failure is FailureClass.WORKFLOW_INVALID
        with pytest.raises(InvalidGraph):
            await pool.run({"nodes": [], "links": []})


async def test_an_answer_that_is_lost_after_the_prompt_was_taken_does_not_run_it_twice(engines: Engines) -> None:
    engines.order("one", drop_post=True)
    async with Pool(engines.servers[:1]) as pool:
        result = await pool.run(draw())
        assert result.job.attempts == 1
    assert len(engines.boards["one"].history.all()) == 1


async def test_an_engine_that_answers_nonsense_is_left_for_the_others(engines: Engines) -> None:
    engines.order("one", routes=(RouteFault(path="/prompt", method="POST", kind="status", status=503),))
    async with Pool(engines.servers[1:]) as pool:
        await pool.run(draw())
        await pool.add_server(engines.servers[0])
        results = await asyncio.gather(*(pool.run(draw(color=number, seconds=0.02)) for number in range(6)))
        assert all(result.outputs for result in results)
