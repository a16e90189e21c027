"""Jobs from order to result: a real control plane, a real engine, a real worker."""

import asyncio
import base64
import contextlib
import io
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from comfyfleet.comfy.cloud import CloudConnector, CloudSettings
from comfyfleet.engine.node import Context, Inputs, Made
from comfyfleet.engine.nodes import NODES
from comfyfleet.engine.nodes.sleep import FleetSleep
from comfyfleet.kernel.exchanges import Kind, TimedExchange, follow_exchanges
from comfyfleet.kernel.ids import new_id
from comfyfleet.kernel.secret import Secret
from comfyfleet.worker.leases import LeaseBook
from comfyfleet.worker.stages import Force, Stage, Stop
from tests.contract.comfy.cloud.walking import JumpingClock
from tests.engines import an_engine
from tests.fake_cloud import KEY, fake_cloud
from tests.made_media import a_picture
from tests.worker.plant import SAY, Plant
from tests.worker.workers import a_worker, eventually


async def test_a_still_and_a_picture_made_of_a_picture(plant: Plant, tmp_path: Path) -> None:
    picture, exchanges = a_picture(), list[TimedExchange]()
    async with (
        an_engine(tmp_path / "engine") as engine,
        a_worker(plant, tmp_path / "home", engine.url) as worker_process,
    ):
        counted = worker_process.agent.telemetry.registry.get_sample_value
        following = contextlib.ExitStack()
        following.enter_context(follow_exchanges(exchanges.append))
        video = await asyncio.to_thread(plant.upload, picture)
        still = await asyncio.to_thread(plant.order, "draw")
        turned = await asyncio.to_thread(plant.order, "invert", video_id=video)
        assert await asyncio.to_thread(plant.ends, still) == "completed"
        assert await asyncio.to_thread(plant.ends, turned) == "completed"
        made = await asyncio.to_thread(plant.output, turned)
        assert plant.spent(still) == plant.spent(turned) == 1
        row = plant.dispatch(turned)
        assert row["provider_job_id"]
        assert row["service_submitted_at"] <= row["finished_at"]
        job = await asyncio.to_thread(plant.job, turned)
        [output] = job["outputs"]
        worker = plant.rows("select worker_id from comfyui_workers where id = ?", row["worker_id"])[0]["worker_id"]
        assert output["metadata"].pop("filename").endswith(".png")
        assert output["metadata"] == {
            "node": "9",
            "key": "images",
            "job_id": turned,
            "attempt": row["done_epoch"],
            "prompt_id": row["provider_job_id"],
            "worker": worker,
        }
        details = (await asyncio.to_thread(plant.client.get, f"/api/videos/{job['video_id']}")).json()
        assert details["processing_details"] == {
            "duration_seconds": round(row["duration_seconds"], 3),
            "worker": worker,
            "outputs": 1,
        }
        [attempt] = plant.attempts(turned)
        assert attempt["provider_job_id"] == row["provider_job_id"]
        [kept] = plant.rows("select result_metadata from attempt_results where dispatch_id = ?", turned)
        said = json.loads(kept["result_metadata"])
        assert "execution_success" in [kind for kind, _ in said["status"]["messages"]]
        assert said["outputs"]["9"]["images"][0]["filename"].endswith(".png")
        await eventually(lambda: not engine.engine.history.all(), "its history is clean")
        following.close()
        assert counted("comfyfleet_worker_bytes_total", {"way": "in"}) == len(picture)
        assert (counted("comfyfleet_worker_bytes_total", {"way": "out"}) or 0) > len(made)
    # The server is one of this process, so that its calls are heard here, too.
    assert {each.kind for each in exchanges} >= {
        Kind.COMFYUI,
        Kind.CONTROL_PLANE,
        Kind.CONTROL_PLANE_WAIT,
        Kind.OBJECT_STORE,
    }
    assert {each.call for each in exchanges} >= {"POST /prompt", "complete", "poll", "heartbeat", "GET", "PUT"}
    assert all(each.outcome == "ok" for each in exchanges if each.call in ("POST /prompt", "complete"))
    before, after = Image.open(io.BytesIO(picture)).convert("RGB"), Image.open(io.BytesIO(made)).convert("RGB")
    assert after.size == before.size
    # ComfyUI computes in fractions, and rounds down.
    pairs = zip(before.getpixel((3, 3)), after.getpixel((3, 3)), strict=True)
    assert all(abs(255 - old - new) <= 1 for old, new in pairs)
    assert list((tmp_path / "home").rglob("journal/*.json")) == []
    assert list((tmp_path / "home").glob("workers/*/jobs/*")) == []


async def test_a_prompt_arrives_at_the_engine_byte_for_byte(plant: Plant, tmp_path: Path) -> None:
    """Over HTTP, through both databases and the worker; the engine writes the graph it ran into the picture."""
    words = (
        '"no" {{words}} {{seed}} {0} %s $x \\ \\n \\u0041 \\u0000 </script> \t\r\n 🦊 ñ 漢字 \u202e\u2028 '
        + "long " * 20_000
    )
    async with an_engine(tmp_path / "engine") as engine, a_worker(plant, tmp_path / "home", engine.url):
        job = await asyncio.to_thread(plant.order, "say", words=words)
        assert await asyncio.to_thread(plant.ends, job) == "completed"
        made = await asyncio.to_thread(plant.output, job)
    ran = json.loads(Image.open(io.BytesIO(made)).text["prompt"])
    assert (ran["5"]["inputs"]["value"], ran["6"]["inputs"]["string_b"]) == (words, f"{words}!")
    assert (ran.keys(), ran["6"]["inputs"]["string_a"]) == (SAY.keys(), ["5", 0])


FAILS_AT = 13


class FleetSleepAloud(FleetSleep):
    """Writes a line to its server's log, and then takes its time, where it takes any."""

    log: Callable[[str], None]

    def __init__(self, line: str) -> None:
        self.line = line

    @property
    def name(self) -> str:
        return "FleetSleep"

    def run(self, inputs: Inputs, context: Context) -> Made:
        if inputs["seconds"] > 0:
            self.log(self.line)
        if inputs["steps"] == FAILS_AT:
            raise RuntimeError("it does not want to")
        return super().run(inputs, context)


async def test_a_job_shorter_than_a_heartbeat_says_all_of_its_end(
    plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last lines, when it was submitted and checked, and how the server ended it; also of one that fails."""
    monkeypatch.setattr(LeaseBook, "hurry", lambda _book: None)  # the next heartbeat comes when all is over
    node = FleetSleepAloud("")
    node.log = lambda _line: None
    async with (
        an_engine(tmp_path / "engine", nodes=[*NODES, node]) as engine,
        # It is kept from the workflow for a while: no other test meets it.
        a_worker(plant, tmp_path / "home", engine.url, name=f"brief-{new_id()}"),
    ):
        done = await asyncio.to_thread(plant.order, "draw")
        assert await asyncio.to_thread(plant.ends, done) == "completed"
        failed = await asyncio.to_thread(plant.order, "draw", steps=FAILS_AT)
        await eventually(lambda: any(each["ended_at"] for each in plant.attempts(failed)), "its attempt has ended")
        await asyncio.to_thread(plant.cancel, failed)  # it would be tried again in a minute
        for job, status, last in (
            (done, "completed", "Uploaded 1 output."),
            (failed, "failed", "Ended: execution_error."),
        ):
            row, [attempt] = plant.dispatch(job), plant.attempts(job)
            assert row["service_status"] == status
            times = [row["leased_at"], row["service_submitted_at"], row["last_service_check"], attempt["ended_at"]]
            assert None not in times
            assert times == sorted(times)
            told = await asyncio.to_thread(plant.watch, job)
            assert [each["data"]["line"] for each in told["log"]][-1] == last


async def test_whoever_watches_reads_the_log_of_the_worker_and_of_its_server(plant: Plant, tmp_path: Path) -> None:
    node = FleetSleepAloud(f"reading {tmp_path}/engine/input/x.png")
    async with (
        an_engine(tmp_path / "engine", nodes=[*NODES, node]) as engine,
        a_worker(plant, tmp_path / "home", engine.url),
    ):
        node.log = engine.engine.hub.log
        before = await asyncio.to_thread(plant.order, "draw")
        assert await asyncio.to_thread(plant.ends, before) == "completed"
        await eventually(lambda: engine.engine.hub._log_readers, "the worker has asked for the log")
        job = await asyncio.to_thread(plant.order, "draw", seconds=3.5, steps=7)
        told = await asyncio.to_thread(plant.watch, job)
    lines = [(each["data"]["source"], each["data"]["line"]) for each in told["log"]]
    assert ("worker", "Submitted to ComfyUI.") in lines
    assert ("comfyui", "reading …/x.png") in lines
    # What was written for the prompt that ran before is not this job's.
    assert not [line for _, line in lines if "Prompt executed in 0." in line]
    row = plant.dispatch(job)
    assert row["leased_at"] <= row["service_submitted_at"] <= row["last_service_check"] <= row["finished_at"]


async def test_whoever_watches_sees_nodes_progress_and_previews(plant: Plant, tmp_path: Path) -> None:
    async with an_engine(tmp_path / "engine") as engine, a_worker(plant, tmp_path / "home", engine.url):
        job = await asyncio.to_thread(plant.order, "draw", seconds=1.0, steps=10)
        seen = await asyncio.to_thread(plant.watch, job)
    fractions = [each["data"]["fraction"] for each in seen["progress"]]
    assert fractions == sorted(fractions)
    assert any(0.0 < each < 1.0 for each in fractions)
    assert {each["data"]["node_class"] for each in seen["node"]} >= {"FleetSleep"}
    frame = base64.b64decode(seen["preview"][0]["data"]["image"])
    assert Image.open(io.BytesIO(frame)).size == (64, 64)


async def test_a_job_on_comfy_cloud(plant: Plant, tmp_path: Path) -> None:
    picture = a_picture()
    given = {"providers": ["cloud"], "comfy_cloud_api_key": KEY, "concurrency": 2}
    with fake_cloud() as cloud:
        cloud.files["cat_00001_.png"] = picture
        far = CloudConnector(Secret(KEY), settings=CloudSettings(url=cloud.url), clock=JumpingClock())
        async with a_worker(plant, tmp_path / "home", far, name="far", **given):
            video = await asyncio.to_thread(plant.upload, picture)
            job = await asyncio.to_thread(plant.order, "far", video_id=video)
            assert await asyncio.to_thread(plant.ends, job) == "completed"
        assert await asyncio.to_thread(plant.output, job) == picture
        [posted] = cloud.posts("/api/prompt")
        assert json.loads(posted.body)["prompt"]["2"]["inputs"]["image"]
        [forgotten] = cloud.posts("/api/history")
        assert [plant.dispatch(job)["provider_job_id"]] == json.loads(forgotten.body)["delete"]
    assert plant.spent(job) == 1


async def test_h4_what_is_given_back_while_it_ends_is_either_delivered_or_run_again_never_both(
    plant: Plant, tmp_path: Path
) -> None:
    async with (
        an_engine(tmp_path / "engine") as engine,
        a_worker(plant, tmp_path / "home", engine.url, name="h4") as worker,
    ):
        jobs = [await asyncio.to_thread(plant.order, "draw", seconds=0.1, steps=2) for _ in range(5)]
        chance = random.Random(4)
        while any(plant.job(job)["status"] != "completed" for job in jobs):
            for run in worker.agent._under_way:
                returned = plant.dispatch(str(run.course.entry.dispatch_id))["releases"]
                if run.course.stage is Stage.RUNNING and returned < 2:
                    await asyncio.sleep(chance.uniform(0.0, 0.15))
                    run.stop(Stop(Force.RETURN, "a test wants it back"))
            await asyncio.sleep(0.01)
        made = list((tmp_path / "engine" / "output").rglob("*.png"))
    assert [plant.spent(job) for job in jobs] == [1] * len(jobs)
    assert len(made) == len(jobs)
