"""`comfyfleet comfy doctor` on a real server process."""

import json
from pathlib import Path

from tests.cli.comfy_servers.calling import Comfy, Server
from tests.server import free_port


def test_a_good_server_is_told_so(comfy: Comfy, engine: Server) -> None:
    done = comfy("doctor", engine.url)
    assert done.code == 0, done.out + done.err
    assert "ComfyUI 0.33.0" in done.out
    assert "The WebSocket connects" in done.out
    assert "no route that deletes files" in done.out


def test_what_a_workflow_lacks_is_told_for_programs(comfy: Comfy, engine: Server, tmp_path: Path) -> None:
    graph = {
        "1": {"class_type": "CheckpointOfNobody", "inputs": {"ckpt_name": "sd15.safetensors"}},
        "2": {"class_type": "EmptyImage", "inputs": {"width": 8, "height": 8, "batch_size": 1, "color": 0}},
        "3": {"class_type": "SaveImage", "inputs": {"images": ["2", 0], "filename_prefix": "a"}},
    }
    (tmp_path / "wf.json").write_text(json.dumps(graph))
    done = comfy("doctor", engine.url, "--workflow", "wf.json", "--json")
    assert done.code == 8
    told = json.loads(done.out)
    assert told["verdict"] == "problem"
    assert told["facts"]["devices"]
    problems = [finding["text"] for finding in told["findings"] if finding["verdict"] == "problem"]
    assert problems == ["Node classes missing: CheckpointOfNobody"]


def test_a_server_that_is_not_there_is_unavailable(comfy: Comfy) -> None:
    done = comfy("doctor", f"http://127.0.0.1:{free_port()}")
    assert done.code == 6
    assert "server_unreachable" in done.err


def test_what_is_no_comfyui_is_told_so(comfy: Comfy, engine: Server) -> None:
    engine.order(routes=[{"path": "/system_stats", "kind": "html", "times": 1}])
    done = comfy("doctor", engine.url)
    assert done.code == 6
    assert "web page" in done.err
