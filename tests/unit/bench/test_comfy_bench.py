"""What the bench of the ComfyUI side says, and that its frames are a real server's."""

import json

from bench.comfy.frames import NODES, as_text_frame, prompt_frames
from bench.comfy.targets import TARGETS
from bench.report import Report
from comfyfleet.comfy.frames import parse_frame
from comfyfleet.comfy.messages import ExecutionSuccess, ProgressState


def test_the_json_names_every_figure_measured_or_not() -> None:
    report = Report("comfy", "quick", TARGETS)
    report.add({"ws_mb_s": 49.0, "pool_cpu_ms": 5.0, "ws_mb_a_prompt": 17.9})
    said = json.loads(report.as_json())
    assert set(TARGETS) <= set(said)
    assert (said["ws_mb_s"], said["targets"]["ws_mb_s"]["met"]) == (49.0, False)
    assert (said["pool_cpu_ms"], said["targets"]["pool_cpu_ms"]["met"]) == (5.0, True)
    assert (said["hash_vs_sha256"], said["targets"]["hash_vs_sha256"]["met"]) == (None, None)
    assert said["absolute"]["ws_mb_a_prompt"] == 17.9


def test_the_frames_weigh_what_a_real_prompt_of_300_nodes_weighs() -> None:
    *states, last = prompt_frames()
    assert 17e6 < sum(map(len, states)) < 19e6
    final = parse_frame(states[-1])
    assert isinstance(final, ProgressState)
    assert len(final.nodes) == NODES
    assert isinstance(parse_frame(last), ExecutionSuccess)


def test_text_frames_have_the_three_lengths_of_the_protocol() -> None:
    assert as_text_frame(b"a" * 125)[:2] == b"\x81\x7d"
    assert as_text_frame(b"a" * 126)[:4] == b"\x81\x7e\x00\x7e"
    assert as_text_frame(b"a" * 65536)[:10] == b"\x81\x7f" + (65536).to_bytes(8, "big")
