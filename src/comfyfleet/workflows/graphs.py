"""Graphs in the object store: written once before any row names them, read through a small shelf."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.graph import hash_graph, load_graph
from comfyfleet.kernel.errors import AlreadyExists, GraphUnreadable, InvalidInput, NotFound
from comfyfleet.storage import ObjectKey, ObjectStore
from comfyfleet.workflows.model import NewVersion, Version
from comfyfleet.workflows.register import GRAPH_BYTES_MAX

MEDIA_TYPE = "application/json"
SHELF_BYTES_MAX = 8 * 1024**2
SHELF_GRAPHS_MAX = 64


class Shelf:
    """The graphs used last, by content hash. A graph never changes, so nothing here can be out of date."""

    def __init__(self, *, bytes_max: int = SHELF_BYTES_MAX, graphs_max: int = SHELF_GRAPHS_MAX) -> None:
        self._bytes_max, self._graphs_max = bytes_max, graphs_max
        self._held: OrderedDict[str, tuple[Mapping[str, Any], int]] = OrderedDict()
        self.size_bytes = 0

    def take(self, content_hash: str) -> Mapping[str, Any] | None:
        if content_hash not in self._held:
            return None
        self._held.move_to_end(content_hash)
        return self._held[content_hash][0]

    def put(self, content_hash: str, graph: Mapping[str, Any], size_bytes: int) -> None:
        if content_hash in self._held:
            return
        self._held[content_hash] = (graph, size_bytes)
        self.size_bytes += size_bytes
        while self.size_bytes > self._bytes_max or len(self._held) > self._graphs_max:
            _, (_, dropped_bytes) = self._held.popitem(last=False)
            self.size_bytes -= dropped_bytes

    def __len__(self) -> int:
        return len(self._held)


SHELF = Shelf()


async def keep_graph(store: ObjectStore, new: NewVersion) -> None:
    """Before the row, and outside its transaction. A crash in between leaves an object that nobody names."""
    try:
        await store.write(ObjectKey(new.path), new.graph, media_type=MEDIA_TYPE)
    except AlreadyExists:
        return  # the same graph was registered before: its key is made from what it holds


async def read_graph(store: ObjectStore, version: Version, *, shelf: Shelf = SHELF) -> Mapping[str, Any]:
    """Shared by all who ask: not to be changed. Raises GraphUnreadable unless it is the very graph registered."""
    if (held := shelf.take(version.content_hash)) is not None:
        return held
    try:
        text = await store.read(ObjectKey(version.path), bytes_max=GRAPH_BYTES_MAX)
        is_intact = hash_graph(text).content == version.content_hash
        graph = load_graph(text)
    except (NotFound, InvalidInput, InvalidGraph) as problem:
        raise GraphUnreadable(version.path, problem.message) from problem
    if not is_intact:
        raise GraphUnreadable(version.path, "its content hash is another one")
    shelf.put(version.content_hash, graph, len(text))
    return graph
