"""What a worker has learned of its nodes' times outlives it, within bounds; a broken file costs nothing."""

import os
from pathlib import Path

from comfyfleet.comfy.model import Completed
from comfyfleet.comfy.node_times import WORKFLOWS_MAX
from comfyfleet.worker.kept_node_times import KeptNodeTimes

GRAPH = {"1": {"class_type": "A", "inputs": {}}, "2": {"class_type": "B", "inputs": {}}}
DONE = Completed((), node_timings_s={"1": 1.0, "2": 9.0})
NAME = "ab" * 32


async def test_it_is_there_after_a_restart(tmp_path: Path) -> None:
    await KeptNodeTimes(tmp_path / "times").learn(NAME, GRAPH, DONE)
    again = KeptNodeTimes(tmp_path / "times")
    await again.open()
    assert again.weights(NAME, GRAPH) == {"1": 1.0, "2": 9.0}


async def test_the_oldest_file_goes(tmp_path: Path) -> None:
    times = KeptNodeTimes(tmp_path)
    for number in range(WORKFLOWS_MAX):
        path = tmp_path / f"{number:016x}.json"
        path.write_bytes(b'{"1":{"seconds":1.0,"runs":1}}')
        os.utime(path, (number, number))
    await times.learn(NAME, GRAPH, DONE)
    left = {name.removesuffix(".json") for name in os.listdir(tmp_path)}
    assert len(left) == WORKFLOWS_MAX
    assert NAME in left
    assert f"{0:016x}" not in left


async def test_what_cannot_be_read_or_written_is_left_out(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.json").write_bytes(b'{"1": {"seconds": -1, "runs": 0}}')
    (tmp_path / f"{'cd' * 32}.json").write_bytes(b"{")
    times = KeptNodeTimes(tmp_path)
    await times.open()
    assert times.weights(NAME, GRAPH) == KeptNodeTimes(tmp_path / "none").weights(NAME, GRAPH)
    (tmp_path / "file").write_text("in the way")
    blocked = KeptNodeTimes(tmp_path / "file")
    await blocked.learn(NAME, GRAPH, DONE)
    assert blocked.weights(NAME, GRAPH) == {"1": 1.0, "2": 9.0}


async def test_a_name_that_is_no_hash_is_no_file(tmp_path: Path) -> None:
    await KeptNodeTimes(tmp_path / "times").learn("../../evil", GRAPH, DONE)
    assert not (tmp_path / "times").exists()
