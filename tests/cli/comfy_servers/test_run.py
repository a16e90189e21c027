"""`comfyfleet comfy run` on real server processes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.cli.comfy_servers.calling import Comfy, Server
from tests.engines import an_engine_process
from tests.fake_cloud import KEY, PICTURE, FakeCloud, fake_cloud
from tests.server import environment, free_port

SCALE: dict[str, Any] = {
    "1": {"class_type": "LoadImage", "inputs": {"image": "example.png"}},
    "2": {
        "class_type": "ImageScale",
        "inputs": {"image": ["1", 0], "upscale_method": "bilinear", "width": 64, "height": 64, "crop": "disabled"},
    },
    "9": {"class_type": "SaveImage", "inputs": {"images": ["2", 0], "filename_prefix": "scaled"}},
}
SLEEP: dict[str, Any] = {
    "1": {"class_type": "FleetSleep", "inputs": {"seconds": 0.2, "steps": 4, "seed": 0, "previews": True}},
    "9": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "slept"}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Image.new("RGB", (32, 24), (200, 30, 30)).save(tmp_path / "cat.png")
    (tmp_path / "scale.json").write_text(json.dumps(SCALE))
    (tmp_path / "sleep.json").write_text(json.dumps(SLEEP))
    return tmp_path


def size_of(path: Path) -> tuple[int, int]:
    with Image.open(path) as picture:
        return picture.size


def test_a_picture_goes_in_and_comes_out_as_asked(comfy: Comfy, engine: Server, folder: Path) -> None:
    done = comfy(
        *("run", "scale.json", "--set", "width=48", "--set", "2.height=96"),
        *("--input", "image=cat.png", "--server", engine.url, "--out", "results"),
    )
    assert done.code == 0, done.err
    manifest = json.loads((folder / "results" / "manifest.json").read_text())
    (file,) = manifest["files"]
    saved = folder / "results" / file["path"]
    assert size_of(saved) == (48, 96)
    assert file["bytes"] == saved.stat().st_size
    assert (file["node"], file["media_type"]) == ("9", "image/png")
    assert file["path"] in done.out


def test_previews_are_kept_in_their_order(comfy: Comfy, engine: Server, folder: Path) -> None:
    done = comfy("run", "sleep.json", "--set", "seed=random", "--server", engine.url, "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["files"]
    previews = sorted(path.name for path in (folder / "out" / "previews").iterdir())
    assert previews == [f"000{number}-1.jpg" for number in (1, 2, 3, 4)]
    assert size_of(folder / "out" / "previews" / previews[-1]) == (64, 64)


def test_a_workflow_as_the_interface_saves_it_is_converted_where_that_is_exact(
    comfy: Comfy, engine: Server, folder: Path
) -> None:
    drawn = {
        "nodes": [
            {
                "id": 5,
                "type": "EmptyImage",
                "inputs": [],
                "outputs": [{"name": "IMAGE", "type": "IMAGE", "links": [1]}],
                "widgets_values": [16, 8, 1, 0],
            },
            {
                "id": 6,
                "type": "SaveImage",
                "inputs": [{"name": "images", "type": "IMAGE", "link": 1}],
                "outputs": [],
                "widgets_values": ["drawn"],
            },
        ],
        "links": [[1, 5, 0, 6, 0, "IMAGE"]],
        "version": 0.4,
    }
    (folder / "drawn.json").write_text(json.dumps(drawn))
    done = comfy("run", "drawn.json", "--set", "5.width=24", "--server", engine.url, "--json")
    assert done.code == 0, done.err
    assert size_of(folder / "out" / json.loads(done.out)["files"][0]["path"]) == (24, 8)
    drawn["nodes"][0]["type"] = "NodeOfNobody"  # type: ignore[index]
    (folder / "drawn.json").write_text(json.dumps(drawn))
    refused = comfy("run", "drawn.json", "--server", engine.url)
    assert refused.code == 2
    assert "NodeOfNobody" in refused.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "widht=3"], "It has: "),
        (["--set", "width=wide"], "no whole number"),
        (["--input", "image=dog.png"], "there is no file"),
        (["--output-node", "77"], "no node 77"),
        (["--set", "width=-5"], "smaller than min"),
        (["--out", "cat.png"], "no folder that can be written to"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(
    comfy: Comfy, engine: Server, folder: Path, arguments: list[str], said: str
) -> None:
    image = [] if "--input" in arguments else ["--input", "image=cat.png"]
    done = comfy("run", "scale.json", *image, *arguments, "--server", engine.url)
    assert done.code == 2
    assert said in done.err
    assert not (folder / "out" / "manifest.json").exists()


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_an_output_that_the_server_refuses_is_an_exit_code(
    comfy: Comfy, engine: Server, folder: Path, flags: tuple[str, ...]
) -> None:
    """The server takes the rest of the graph and answers 200: a script must not take that for success."""
    bad = {"class_type": "ImageScale", "inputs": {**SCALE["2"]["inputs"], "width": -5}}
    save = {"class_type": "SaveImage", "inputs": {"images": ["3", 0], "filename_prefix": "bad"}}
    (folder / "partly.json").write_text(json.dumps({**SCALE, "3": bad, "8": save}))
    done = comfy("run", "partly.json", "--input", "1.image=cat.png", "--server", engine.url, *flags)
    assert done.code == 7, done.err
    told = json.loads((folder / "out" / "manifest.json").read_text())
    assert [file["node"] for file in told["files"]] == ["9"]
    assert "node 3" in told["dropped_outputs"][0]
    if flags:
        assert json.loads(done.out) == told
    else:
        assert "refused node 3" in done.err
        assert "Done in part" in done.err


def test_a_workflow_that_fails_names_the_node(comfy: Comfy, engine: Server, folder: Path) -> None:
    engine.order(prompts={"error_at_node": "2"})
    # A size of its own: else the node's result may be in the engine's cache, and the node does not run.
    given = ("--set", "2.width=77", "--input", "image=cat.png")
    done = comfy("run", "scale.json", *given, "--server", engine.url, "--attempts", "1", "--json")
    assert done.code == 1
    error = json.loads(done.err.splitlines()[-1])["error"]
    assert (error["class"], error["node"], error["node_class"]) == ("execution_error", "2", "ImageScale")


def test_one_server_of_two_is_enough_and_none_is_not(comfy: Comfy, engine: Server, folder: Path) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    done = comfy("run", "sleep.json", "--set", "1.seconds=0", "--server", dead, "--server", engine.url)
    assert done.code == 0
    assert "Going on without it" in done.err
    assert comfy("run", "sleep.json", "--server", dead).code == 6


def test_the_cloud_is_a_server_like_another(comfy: Comfy, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_cloud() as cloud:
        cloud.words = ("completed",)
        assert comfy("run", "sleep.json", "--server", "cloud").code == 5  # no key
        monkeypatch.setenv("COMFY_CLOUD_API_KEY", KEY)
        monkeypatch.setenv("COMFY_CLOUD_URL", cloud.url)
        done = comfy("run", "sleep.json", "--server", "cloud", "--json")
        assert done.code == 0, done.err
        assert (folder / "out" / "cat_00001_.png").read_bytes() == PICTURE
        assert KEY not in done.out + done.err
        assert_asked_once(cloud)


def assert_asked_once(cloud: FakeCloud) -> None:
    assert len(cloud.posts("/api/prompt")) == 1
    assert not cloud.key_leaked_to_the_bucket()


def test_ctrl_c_stops_it_on_the_server_too(engine: Server, folder: Path) -> None:
    long = ["--set", "1.seconds=60", "--set", "1.steps=600", "--server", engine.url]
    process = subprocess.Popen(
        [sys.executable, "-m", "comfyfleet", "comfy", "run", "sleep.json", *long],
        cwd=folder,
        env={**environment(folder), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that starts the tests in the background ignores it for all that come after.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        until = time.monotonic() + 40
        while not engine.queue()["queue_running"]:
            assert time.monotonic() < until, "it did not start"
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=40)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert engine.queue() == {"queue_running": [], "queue_pending": []}


def test_a_server_that_dies_is_told_and_not_waited_for_for_ever(comfy: Comfy, folder: Path) -> None:
    with an_engine_process(folder / "engine") as process:
        Server(process.url).order(prompts={"die_at_node": "1"})
        done = comfy("run", "sleep.json", "--server", process.url, "--wait-s", "1")
    assert done.code == 6
    assert "no_server_left: No server has been there for 1 s" in done.err
    assert process.url.removeprefix("http://") in done.err
