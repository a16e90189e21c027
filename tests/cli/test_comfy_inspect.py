"""`comfyfleet comfy inspect`: once as people run it, then in this process, which need not start anew each time."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from comfyfleet.cli.main import run
from tests.cli.conftest import Command
from tests.recordings import FOLDER
from tests.unit.comfy.graph.drawing import default_workflow
from tests.unit.comfy.graph.graphs import text_to_image

OBJECT_INFO = FOLDER / "object_info_core_nodes.json"


@dataclass
class Here:
    """The same command without a process of its own."""

    folder: Path
    patch: pytest.MonkeyPatch
    printed: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str, code: int = 0) -> str:
        self.patch.chdir(self.folder)
        self.patch.setattr(sys, "argv", ["comfyfleet", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        assert ended.value.code == code
        out, error = self.printed.readouterr()
        return out if code == 0 else error


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    return Here(tmp_path, monkeypatch, capsys)


def test_a_graph_is_shown_with_what_it_needs_and_takes(comfyfleet: Command, here: Here) -> None:
    file = saved(comfyfleet, text_to_image())
    shown = here("comfy", "inspect", file)
    for word in ("CLIPTextEncode", "sd15.safetensors", "checkpoints", "negative_prompt", "5.seed", "7 SaveImage"):
        assert word in shown
    told = comfyfleet.json("comfy", "inspect", file, "--object-info", str(OBJECT_INFO))
    assert told["format"] == "api"
    assert told["classes"]["CLIPTextEncode"] == 2
    assert [each["name"] for each in told["missing_models"]] == ["sd15.safetensors"]
    assert told["missing_classes"] == told["problems"] == []
    assert {"content", "structure"} == set(told["hashes"])
    steps = next(each for each in told["inputs"] if each["name"] == "steps")
    assert (steps["type"], steps["minimum"], steps["maximum"]) == ("integer", 1, 10000)


def test_the_interfaces_format_is_converted_with_a_servers_word(here: Here) -> None:
    file = saved(here, default_workflow().workflow())
    assert "Export (API)" in here("comfy", "inspect", file, code=2)
    with a_server(OBJECT_INFO.read_bytes()) as url:
        told = json.loads(here("comfy", "inspect", file, "--object-info", url, "--json"))
    assert told["format"] == "interface"
    assert told["nodes"] == 7


def test_trouble_has_its_exit_code(here: Here) -> None:
    file = saved(here, default_workflow().node(20, "FaceSwap", []).workflow())
    assert "FaceSwap (node 20)" in here("comfy", "inspect", file, "--object-info", str(OBJECT_INFO), code=2)
    assert "No such file" in here("comfy", "inspect", "none.json", code=2)
    assert "invalid_input" in here("comfy", "inspect", file, "--object-info", "none.json", code=2)
    with a_server(b"<html>") as url:
        assert "unexpected_answer" in here("comfy", "inspect", file, "--object-info", url, code=6)
    circle = saved(here, {"1": {"class_type": "A", "inputs": {"x": ["1", 0]}}})
    refused = json.loads(here("comfy", "inspect", circle, "--json", code=2))["error"]
    assert (refused["code"], refused["details"]) == ("invalid_graph", {"node": "1", "input_name": "x"})


def saved(command: Command | Here, workflow: object) -> str:
    path = command.folder / "workflow.json"
    path.write_text(json.dumps(workflow))
    return path.name


@contextmanager
def a_server(answer: bytes) -> Iterator[str]:
    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with HTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
