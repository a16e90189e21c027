"""Files in the input folder of a real engine: sent once, found again, evicted where we reach the folder."""

import hashlib
from collections.abc import AsyncIterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from comfyfleet.comfy.errors import PromptRefused
from comfyfleet.comfy.model import Completed, Prompt, new_prompt_id
from comfyfleet.comfy.self_hosted import SelfHosted
from comfyfleet.worker.inputs import CACHE, ServerInputs
from comfyfleet.worker.prepare import Asset, Mark, Target, Work, prepare_graph
from comfyfleet.worker.server_folders import ServerFolders
from tests.engines import RunningEngine, an_engine

GRAPH: dict[str, Any] = {
    "1": {"class_type": "LoadImage", "inputs": {"image": ""}},
    "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "x"}},
}


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[RunningEngine]:
    async with an_engine(tmp_path / "comfyui") as found:
        yield found


@pytest.fixture
async def server(engine: RunningEngine) -> AsyncIterator[SelfHosted]:
    async with SelfHosted(engine.url) as found:
        yield found


@pytest.fixture
def cached(tmp_path: Path) -> Path:
    return tmp_path / "comfyui" / "input" / CACHE


def a_mark() -> Mark:
    return Mark(new_prompt_id(), date(2026, 11, 16))


def a_picture(folder: Path, shade: int, *, kept: bool = True) -> tuple[Asset, Path]:
    path = folder / f"{shade}"
    Image.new("L", (8, 8), shade).save(path, "PNG")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    told = {"content_hash": digest, "is_users_own": not kept, "targets": (Target(node="1", input_name="image"),)}
    return Asset(name="picture", url="", media_type="image/png", **told), path


async def run(server: SelfHosted, graph: dict[str, Any], mark: Mark) -> Completed:
    prompt = Prompt(graph, mark.nonce)
    await server.submit(prompt)
    told = [each async for each in server.watch(prompt, deadline_s=60)]
    assert isinstance(told[-1], Completed), told[-1]
    return told[-1]


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


def empty(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


async def test_an_asset_is_sent_once_and_a_users_file_for_its_job(
    server: SelfHosted, cached: Path, tmp_path: Path
) -> None:
    inputs = ServerInputs(server, cache_bytes_max=0)
    (asset, path), (own, own_path) = a_picture(tmp_path, 10), a_picture(tmp_path, 20, kept=False)
    for _ in range(2):
        mark = a_mark()
        names = await inputs.place([asset], {"picture": path}, mark)
        assert names == {"picture": f"{CACHE}/{str(asset.content_hash)[:32]}.png"}
        made = await run(server, prepare_graph(Work(graph=GRAPH, assets=(asset,)), names, mark), mark)
        assert made.outputs[0].subfolder == mark.folder
        path.write_bytes(b"it is not read again")
    assert len(names_in(cached)) == 1
    mark = a_mark()
    names = await inputs.place([own], {"picture": own_path}, mark)
    assert names == {"picture": f"{mark.folder}/0.png"}
    await run(server, prepare_graph(Work(graph=GRAPH, assets=(own,)), names, mark), mark)
    await inputs.close()


async def test_what_a_server_says_it_lacks_is_sent_again(server: SelfHosted, cached: Path, tmp_path: Path) -> None:
    inputs = ServerInputs(server, cache_bytes_max=0)
    asset, path = a_picture(tmp_path, 10)
    work, mark = Work(graph=GRAPH, assets=(asset,)), a_mark()
    names = await inputs.place([asset], {"picture": path}, mark)
    empty(cached)
    assert await inputs.place([asset], {"picture": path}, mark) == names  # from here nobody can see that it is gone
    with pytest.raises(PromptRefused) as refused:
        await run(server, prepare_graph(work, names, mark), mark)
    assert inputs.forget_missing(refused.value.node_errors, names)
    names = await inputs.place([asset], {"picture": path}, mark)
    await run(server, prepare_graph(work, names, mark), mark)
    bad = {**GRAPH, "2": {"class_type": "SaveImage", "inputs": {"filename_prefix": "x"}}}
    with pytest.raises(PromptRefused) as refused:
        await run(server, prepare_graph(Work(graph=bad, assets=(asset,)), names, a_mark()), a_mark())
    assert not inputs.forget_missing(refused.value.node_errors, names)
    await inputs.close()


async def test_on_the_same_machine_what_is_gone_is_seen_and_what_is_too_much_goes(
    server: SelfHosted, cached: Path, tmp_path: Path
) -> None:
    (first, first_path), (second, second_path), (third, third_path) = (a_picture(tmp_path, s) for s in (1, 2, 3))
    size = first_path.stat().st_size
    folders = ServerFolders.of(tmp_path / "comfyui")
    inputs = ServerInputs(server, folders=folders, cache_bytes_max=2 * size)
    marks = [a_mark() for _ in range(3)]
    await inputs.place([first], {"picture": first_path}, marks[0])
    empty(cached)
    await inputs.place([first], {"picture": first_path}, marks[0])
    assert len(names_in(cached)) == 1
    await inputs.place([second], {"picture": second_path}, marks[1])
    await inputs.release(marks[1])
    await inputs.place([third], {"picture": third_path}, marks[2])
    # The first was used longest ago, but a job still needs it.
    names = {str(each.content_hash)[:32] + ".png" for each in (first, third)}
    assert names_in(cached) == names
    await inputs.place([second], {"picture": second_path}, marks[1])
    assert len(names_in(cached)) == 3
    for mark in marks:
        await inputs.release(mark)
    assert len(names_in(cached)) == 2
    await inputs.close()


async def test_a_half_written_file_of_our_name_is_not_taken_for_it(
    server: SelfHosted, cached: Path, tmp_path: Path
) -> None:
    asset, path = a_picture(tmp_path, 10)
    half = cached / f"{str(asset.content_hash)[:32]}.png"
    half.parent.mkdir(parents=True)
    half.write_bytes(path.read_bytes()[:20])
    inputs = ServerInputs(server, cache_bytes_max=0)
    names = await inputs.place([asset], {"picture": path}, a_mark())
    assert (tmp_path / "comfyui" / "input" / names["picture"]).read_bytes() == path.read_bytes()
    await inputs.close()


async def test_where_the_folder_is_the_servers_files_are_copied_there(
    server: SelfHosted, cached: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    upload = server.upload

    async def count(source: Path | bytes, *, name: str, **rest: Any) -> Any:
        sent.append(name)
        return await upload(source, name=name, **rest)

    monkeypatch.setattr(server, "upload", count)
    for comfyui_dir, sent_expected in ((tmp_path / "comfyui", 1), (tmp_path / "another", 3)):
        sent.clear()
        inputs = ServerInputs(server, folders=ServerFolders.of(comfyui_dir), cache_bytes_max=10**6)
        for shade, kept in ((31, False), (32, True), (33, False)):
            (asset, path), mark = a_picture(tmp_path, shade, kept=kept), a_mark()
            names = await inputs.place([asset], {"picture": path}, mark)
            await run(server, prepare_graph(Work(graph=GRAPH, assets=(asset,)), names, mark), mark)
            assert (tmp_path / "comfyui" / "input" / names["picture"]).read_bytes() == path.read_bytes()
        assert len(sent) == sent_expected
        await inputs.close()
    assert not [name for name in names_in(cached) if name.endswith(".part")]
