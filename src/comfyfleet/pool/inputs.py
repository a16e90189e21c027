"""Input files: named by their content, put on a server once, bound into the graph by what the server calls them."""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Protocol, TypeAlias

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.model import Graph, UploadedFile, UploadKind
from comfyfleet.pool.model import InputFile, NodeInput

GivenInput: TypeAlias = InputFile | Path | str | bytes

SUBFOLDER = "comfyfleet"
REMEMBERED_MAX = 10_000  # uploads of one server; one that is forgotten is sent again


async def name_by_content(given: Mapping[NodeInput, GivenInput]) -> dict[NodeInput, InputFile]:
    return {key: await _named(value) for key, value in given.items()}


async def _named(given: GivenInput) -> InputFile:
    file = given if isinstance(given, InputFile) else InputFile(Path(given) if isinstance(given, str) else given)
    ending = PurePath(file.name or (file.source.name if isinstance(file.source, Path) else "")).suffix.lower()
    digest = await asyncio.to_thread(_sha256, file.source)
    return replace(file, name=f"{digest[:32]}{ending}")


def _sha256(source: Path | bytes) -> str:
    if isinstance(source, bytes):
        return hashlib.sha256(source).hexdigest()
    with source.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def bind(graph: Graph, values: Mapping[NodeInput, str]) -> Graph:
    """The graph with these values in it; the one given is left as it is."""
    bound = dict(graph)
    for (node, name), value in values.items():
        if node not in bound:
            raise InvalidGraph(f"An input is given for node {node!r}, which the graph does not have.", node=node)
        bound[node] = {**bound[node], "inputs": {**bound[node].get("inputs", {}), name: value}}
    return bound


class TakesFiles(Protocol):
    async def upload(
        self, source: Path | bytes, *, name: str, kind: UploadKind = "image", subfolder: str = ""
    ) -> UploadedFile: ...


class Uploads:
    """What one server has of us. Two jobs that need the same file at once send it once."""

    def __init__(self, server: TakesFiles) -> None:
        self._server = server
        self._sent: OrderedDict[str, asyncio.Task[UploadedFile]] = OrderedDict()

    async def bind_inputs(self, graph: Graph, inputs: Mapping[NodeInput, InputFile]) -> Graph:
        placed = {key: (await self.put(file)).as_input() for key, file in inputs.items()}
        return bind(graph, placed)

    def forget(self) -> None:
        """It may have come back with an empty disk. What is on its way goes on, for those who wait for it."""
        self._sent.clear()

    def forget_some(self, names: Collection[str]) -> None:
        """By the names we gave, or by those that the server chose."""
        gone = [name for name, task in self._sent.items() if name in names or _stored_name(task) in names]
        for name in gone:
            del self._sent[name]

    async def close(self) -> None:
        tasks = [task for task in self._sent.values() if not task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def put(self, file: InputFile, *, subfolder: str = SUBFOLDER) -> UploadedFile:
        """`file.name` says what is in it: what was sent under that name is not sent again."""
        task = self._sent.get(file.name)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = asyncio.create_task(self._send(file, subfolder))
            self._sent[file.name] = task
            while len(self._sent) > REMEMBERED_MAX:
                self._sent.popitem(last=False)
        self._sent.move_to_end(file.name)
        # A job that is cancelled must not take the file away from another one that waits for it.
        return await asyncio.shield(task)

    async def _send(self, file: InputFile, subfolder: str) -> UploadedFile:
        return await self._server.upload(file.source, name=file.name, kind=file.kind, subfolder=subfolder)


def _stored_name(task: asyncio.Task[UploadedFile]) -> str | None:
    is_there = task.done() and not task.cancelled() and task.exception() is None
    return task.result().name if is_there else None
