"""What a real engine made, on its way to a store: all of it, in order, byte for byte, in little memory."""

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from comfyfleet.comfy.errors import OutputGone
from comfyfleet.comfy.model import Completed, OutputFile, new_prompt
from comfyfleet.comfy.self_hosted import SelfHosted
from comfyfleet.kernel.errors import LeaseLost
from comfyfleet.wire.worker_v1 import OUTPUT_BYTES_MAX, OutputUrl, WantedOutput
from comfyfleet.worker.clean import ServerFiles
from comfyfleet.worker.outputs import OutputEmpty, OutputTooLarge, deliver_outputs
from comfyfleet.worker.prepare import Mark, mark_saves
from comfyfleet.worker.server_folders import ServerFolders
from comfyfleet.worker.transfer import Transfer
from tests.engines import RunningEngine, an_engine
from tests.worker.files.far_store import FarStore

MIB = 1024**2
SHADES = (0x112233, 0x445566)
GRAPH: dict[str, Any] = {
    "1": {"class_type": "EmptyImage", "inputs": {"width": 64, "height": 64, "batch_size": 2, "color": SHADES[0]}},
    "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "a/same"}},
    "3": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "b/same"}},
    "4": {"class_type": "PreviewAny", "inputs": {"source": 'words, "quoted" & äöü'}},
}


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[RunningEngine]:
    async with an_engine(tmp_path / "comfyui") as found:
        yield found


@pytest.fixture
async def server(engine: RunningEngine) -> AsyncIterator[SelfHosted]:
    async with SelfHosted(engine.url) as found:
        yield found


class Minting:
    """The control plane's part: a place for each wish, some of them already expired."""

    def __init__(self, store: FarStore) -> None:
        self._store = store
        self.wanted: list[WantedOutput] = []
        self.expires = 0

    async def __call__(self, wanted: Sequence[WantedOutput]) -> Sequence[OutputUrl]:
        self.wanted.extend(wanted)
        path = f"/out-{len(self.wanted)}"
        if self.expires:
            self.expires -= 1
            self._store.expired.add(path)
        headers = {"Content-Type": wanted[0].mime_type, "Content-Length": str(wanted[0].size), "If-None-Match": "*"}
        url = f"{self._store.url}{path}"
        return [OutputUrl(name=wanted[0].name, path=path, output_url=url, output_headers=headers, expires_seconds=9)]


async def made(server: SelfHosted, graph: dict[str, Any], output_node: str) -> tuple[OutputFile, ...]:
    prompt = new_prompt(graph, output_node=output_node)
    await server.submit(prompt)
    told = [each async for each in server.watch(prompt, deadline_s=60)]
    assert isinstance(told[-1], Completed), told[-1]
    return told[-1].outputs


def a_file(tmp_path: Path, name: str, content: bytes = b"") -> OutputFile:
    path = tmp_path / "comfyui" / "output" / name
    path.write_bytes(content)
    return OutputFile("9", "files", name, media_type="video/mp4")


async def test_every_output_arrives_the_effects_own_first(
    server: SelfHosted, store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    outputs = await made(server, GRAPH, "3")
    mint = Minting(store)
    mint.expires = 1
    work = tmp_path / "work"
    delivered = await deliver_outputs(outputs, connector=server, transfer=transfer, mint=mint, folder=work)
    # Two nodes gave their files the same names; here each has its own.
    names = ["same_00001_.png", "same_00002_.png", "same_00001_-2.png", "same_00002_-2.png", "4-text-0.txt"]
    assert [each.name for each in delivered] == names
    folders = tmp_path / "comfyui" / "output"
    for output, each in zip(outputs, delivered, strict=True):
        stored = store.puts[each.path]
        source = folders / output.subfolder / output.filename
        assert stored == (source.read_bytes() if output.text is None else output.text.encode())
        assert (each.size, each.sha256) == (len(stored), hashlib.sha256(stored).hexdigest())
    assert [each.mime_type for each in delivered] == ["image/png"] * 4 + ["text/plain"]
    assert outputs[0].node == "3"
    assert len(mint.wanted) == 6
    assert list(work.iterdir()) == []


async def test_a_server_that_cuts_is_asked_again_and_a_store_that_cuts_gets_it_again(
    store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    content = os.urandom(4 * MIB)
    async with FarStore(objects={"/view?filename=a.mp4&subfolder=&type=output": content}) as comfyui:
        comfyui.cuts.append(3 * MIB)
        store.cuts.extend([8 * MIB, MIB])  # the first PUT ends with what it is fed; the second is the store's fault
        async with SelfHosted(comfyui.url) as server:
            output, mint = OutputFile("9", "files", "a.mp4"), Minting(store)
            delivered = await deliver_outputs(
                [output], connector=server, transfer=transfer, mint=mint, folder=tmp_path / "work"
            )
        assert len(comfyui.asked) == 2
    assert store.puts == {delivered[0].path: content}
    assert len(store.asked) == 3
    assert 0 < store.asked[0].received_bytes < 4 * MIB


async def test_a_large_output_costs_no_memory(
    server: SelfHosted, store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    output = a_file(tmp_path, "big.mp4")
    size = 300 * MIB
    os.truncate(tmp_path / "comfyui" / "output" / "big.mp4", size)
    store.keeps_puts = False
    delivering = asyncio.create_task(
        deliver_outputs([output], connector=server, transfer=transfer, mint=Minting(store), folder=tmp_path / "work")
    )
    before, most = resident_bytes(), 0
    while not delivering.done():
        most = max(most, resident_bytes())
        await asyncio.sleep(0.02)
    assert (await delivering)[0].size == size
    assert store.asked[-1].received_bytes == size
    assert most - before < 40 * MIB


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_it_is_sent_on_while_it_still_arrives(
    server: SelfHosted, engine: RunningEngine, store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    output = a_file(tmp_path, "slow.mp4", os.urandom(8 * MIB))
    hold = asyncio.Event()

    class Held(SelfHosted):
        async def fetch(self, output: OutputFile, to: Path, *, tell: Any = None) -> Any:
            fetched = await super().fetch(output, to, tell=tell)
            await hold.wait()  # the server has not said that it is done
            return fetched

    async with Held(engine.url) as held:
        delivering = asyncio.create_task(
            deliver_outputs([output], connector=held, transfer=transfer, mint=Minting(store), folder=tmp_path / "work")
        )
        async with asyncio.timeout(60):
            while not store.puts:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        hold.set()
        assert len(store.puts[(await delivering)[0].path]) == 8 * MIB


async def test_what_lies_on_this_machine_is_not_fetched(
    server: SelfHosted, store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    mark = Mark("one", date(2026, 11, 16))
    graph = {node: each for node, each in GRAPH.items() if node in "12"}
    outputs = await made(server, mark_saves(graph, mark), "2")
    files = ServerFiles(ServerFolders.of(tmp_path / "comfyui"))
    await server.close()  # nobody answers there any more
    store.cuts.append(100)
    given = {"transfer": transfer, "mint": Minting(store), "folder": tmp_path / "work", "locate": files.locate}
    delivered = await deliver_outputs(outputs, connector=server, **given)
    folder = tmp_path / "comfyui" / "output" / mark.folder / "a"
    for each, output in zip(delivered, outputs, strict=True):
        content = (folder / output.filename).read_bytes()
        assert store.puts[each.path] == content
        assert each.sha256 == hashlib.sha256(content).hexdigest()
    stranger = OutputFile("1", "images", "passwd", subfolder="comfyfleet/../../..", type="output")
    foreign = OutputFile("1", "images", "x.png", subfolder="", type="output")
    (tmp_path / "comfyui" / "output" / "x.png").write_bytes(b"x")
    (tmp_path / "passwd").write_bytes(b"x")
    assert files.locate(stranger) is files.locate(foreign) is None


async def test_nothing_is_delivered_under_a_lost_lease_and_nothing_stays(
    server: SelfHosted, store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    outputs = await made(server, GRAPH, "2")

    async def mint(wanted: Sequence[WantedOutput]) -> Sequence[OutputUrl]:
        raise LeaseLost("d", "it ran out")

    work = tmp_path / "work"
    with pytest.raises(LeaseLost):
        await deliver_outputs(outputs, connector=server, transfer=transfer, mint=mint, folder=work)
    assert not store.puts
    assert list(work.iterdir()) == []


async def test_what_cannot_be_delivered_is_named(
    server: SelfHosted, store: FarStore, transfer: Transfer, tmp_path: Path
) -> None:
    given = {"connector": server, "transfer": transfer, "mint": Minting(store), "folder": tmp_path / "work"}
    with pytest.raises(OutputEmpty, match=r"'empty\.mp4' on the server 127.* is empty"):
        await deliver_outputs([a_file(tmp_path, "empty.mp4")], **given)
    with pytest.raises(OutputGone, match=r"gone\.png"):
        await deliver_outputs([OutputFile("9", "images", "gone.png")], **given)
    too_large = a_file(tmp_path, "endless.mp4")
    os.truncate(tmp_path / "comfyui" / "output" / "endless.mp4", OUTPUT_BYTES_MAX + 1)
    with pytest.raises(OutputTooLarge, match=r"endless\.mp4"):
        await deliver_outputs([too_large], **given)
    no_words = OutputFile("4", "text", "4-text-0.txt", type="text", text="")
    assert await deliver_outputs([no_words], **given) == []
