"""After a job: nothing of it on our disk, in the server's history, or in its folders."""

import os
import time
from datetime import date
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from comfyfleet.comfy.model import Absent, Completed, OutputFile, Prompt, new_prompt_id
from comfyfleet.comfy.self_hosted import SelfHosted
from comfyfleet.worker.clean import ServerFiles, WorkFolders, forget_prompt
from comfyfleet.worker.prepare import Mark, mark_saves
from comfyfleet.worker.room import Room, RoomLimits, lacks, look_around
from comfyfleet.worker.server_folders import ServerFolders
from tests.engines import a_picture_graph, a_sleep_graph, an_engine

MARK = Mark("one", date(2026, 11, 16))


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


async def test_a_lease_has_a_folder_until_it_ends(tmp_path: Path) -> None:
    folders = WorkFolders(tmp_path / "work")
    assert await folders.sweep() == 0
    one, two = UUID(int=1), UUID(int=2)
    for dispatch_id, epoch in ((one, 1), (one, 2), (two, 1)):
        folder = await folders.open(dispatch_id, epoch)
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_bytes(b"x")
    await folders.discard(one, 1)
    await folders.discard(one, 7)  # nothing there is fine
    assert await folders.sweep(keep=[(two, 1)]) == 1
    assert files_in(tmp_path / "work") == {f"{two}-1/deep/file"}
    assert await folders.sweep() == 1


async def test_the_servers_files_of_a_job_go_and_others_stay(tmp_path: Path) -> None:
    root = tmp_path / "comfyui"
    async with an_engine(root) as engine, SelfHosted(engine.url) as server:
        outputs: dict[str, tuple[OutputFile, ...]] = {}
        for seed, nonce in enumerate((new_prompt_id(), new_prompt_id())):
            mark = Mark(nonce, MARK.day)
            graph = a_sleep_graph(seconds=0, seed=7)  # the same twice: only the nonce keeps it from the cache
            graph |= {f"p{each}": node for each, node in a_picture_graph(prefix="x", color=seed).items()}
            graph["p2"]["inputs"]["images"] = ["p1", 0]
            prompt = Prompt(mark_saves(graph, mark), nonce)
            await server.upload(b"a user's", name="0.png", subfolder=mark.folder)
            await server.submit(prompt)
            told = [each async for each in server.watch(prompt, deadline_s=60)]
            assert isinstance(told[-1], Completed)
            outputs[nonce] = told[-1].outputs
        first, second = (Mark(nonce, MARK.day) for nonce in outputs)
        cache = root / "input" / "comfyfleet" / "cache"
        cache.mkdir()
        (cache / "kept.png").write_bytes(b"x")
        assert len(files_in(root / "temp")) == 2
        files = ServerFiles(ServerFolders.of(root))
        await files.remove(first, outputs[first.nonce])
        assert files_in(root / "input") == {"comfyfleet/cache/kept.png", f"{second.folder}/0.png"}
        assert files_in(root / "output") == {f"{second.folder}/x_00001_.png"}
        assert len(files_in(root / "temp")) == 1
        await files.remove(second, outputs[second.nonce])
        assert files_in(root) == {"input/comfyfleet/cache/kept.png"}
        assert await forget_prompt(server, first.nonce)
        assert isinstance(await server.find(first.nonce), Absent)


async def test_a_server_out_of_reach_keeps_its_files_and_fails_nobody(tmp_path: Path) -> None:
    files = ServerFiles(None)
    await files.remove(MARK)
    assert await files.sweep() == 0
    async with SelfHosted("http://127.0.0.1:9") as server:
        assert not await forget_prompt(server, str(uuid4()))


async def test_an_output_that_points_elsewhere_takes_nothing_with_it(tmp_path: Path) -> None:
    (tmp_path / "comfyui" / "temp").mkdir(parents=True)
    treasure = tmp_path / "ComfyUI_temp_treasure.png"
    treasure.write_bytes(b"x")
    named = OutputFile("1", "images", treasure.name, subfolder="../..", type="temp")
    await ServerFiles(ServerFolders.of(tmp_path / "comfyui")).remove(MARK, [named])
    assert treasure.exists()


async def test_what_crashes_left_goes_when_it_is_old(tmp_path: Path) -> None:
    root = tmp_path / "comfyui"
    today = time.strftime("%Y-%m-%d")
    old = {"output/comfyfleet/2020-01-01/dead", "input/comfyfleet/2020-01-01/dead", f"output/comfyfleet/{today}/dead"}
    kept = {"output/comfyfleet/2020-01-02/running", "output/mine", "input/comfyfleet/cache"}
    young = {f"output/comfyfleet/{today}/young"}
    for name in old | kept | young:
        (root / name).mkdir(parents=True)
        (root / name / "file").write_bytes(b"x")
    for name in old | kept:
        os.utime(root / name, (0, 0))
    assert await ServerFiles(ServerFolders.of(root)).sweep(keep_nonces=["running"]) == 3
    assert files_in(root) == {f"{name}/file" for name in kept | young}
    assert not (root / "output" / "comfyfleet" / "2020-01-01").exists()


@pytest.mark.parametrize(
    ("argv", "output", "temp"),
    [
        ([], "/c/output", "/c/temp"),
        (["main.py", "--output-directory", "/out"], "/out", "/c/temp"),
        (["main.py", "--base-directory=/b", "--temp-directory", "/t"], "/b/output", "/t/temp"),
        (["main.py", "--output-directory", "relative"], "/c/output", "/c/temp"),
    ],
)
def test_a_servers_folders_are_where_it_was_told(argv: list[str], output: str, temp: str) -> None:
    found = ServerFolders.of(Path("/c"), argv)
    assert (str(found.output), str(found.temp)) == (output, temp)


def test_room_is_judged_by_disk_and_memory(tmp_path: Path) -> None:
    limits = RoomLimits(disk_free_bytes_min=100, memory_free_bytes_min=10)
    assert lacks(Room(100, 10), limits) is None
    assert lacks(Room(100, None), limits) is None
    assert "disk" in str(lacks(Room(99, 10), limits))
    assert "disk" in str(lacks(Room(149, 10), limits, wanted_bytes=50))
    assert "memory" in str(lacks(Room(100, 9), limits))


def test_a_containers_limit_counts(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 2000 kB\nMemAvailable:  1000 kB\n")
    seen = look_around(tmp_path, meminfo=meminfo, cgroup=tmp_path)
    assert seen.memory_free_bytes == 1000 * 1024
    (tmp_path / "memory.max").write_text("500000\n")
    (tmp_path / "memory.current").write_text("400000\n")
    (tmp_path / "memory.stat").write_text("inactive_file 1000\nactive_file 2000\nanon 7\n")
    assert look_around(tmp_path, meminfo=meminfo, cgroup=tmp_path).memory_free_bytes == 103_000
    (tmp_path / "memory.max").write_text("max\n")
    assert look_around(tmp_path, meminfo=meminfo, cgroup=tmp_path).memory_free_bytes == 1000 * 1024
    assert look_around(tmp_path, meminfo=tmp_path / "no", cgroup=tmp_path / "no").memory_free_bytes is None
    assert seen.disk_free_bytes > 0
