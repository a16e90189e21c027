"""Node classes as workers report them, for a graph that is being registered: to convert it, and for ranges."""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from comfyfleet import fleet
from comfyfleet.comfy.errors import InvalidGraph, MissingNodeClass
from comfyfleet.comfy.graph import (
    ObjectInfo,
    is_interface_format,
    list_classes,
    load_graph,
    read_workflow,
    unpack_definitions,
)
from comfyfleet.db import ControlTx
from comfyfleet.fleet import KnownDefinitions
from comfyfleet.kernel.errors import InvalidInput, NotFound
from comfyfleet.storage import ObjectKey, ObjectStore
from comfyfleet.workflows.register import GRAPH_BYTES_MAX

PACKED_BYTES_MAX = 8 * 1024**2
TRIED_MAX = 20
HELD_MAX = 3  # some megabytes each


class ControlTxs(Protocol):
    """Opens transactions on the central database."""

    def __call__(self, *, read_only: bool = False) -> AbstractAsyncContextManager[ControlTx]: ...


@dataclass(frozen=True, slots=True)
class ReadyGraph:
    """In API format. `object_info` and `used` are None where no definitions that fit are known. `reported`: all that is
    said of the graph's classes, each set of definitions cut down to them."""

    graph: bytes
    is_converted: bool
    object_info: ObjectInfo | None = None
    used: KnownDefinitions | None = None
    reported: tuple[ObjectInfo, ...] = ()


_held: OrderedDict[str, Mapping[str, Any]] = OrderedDict()


async def ready_graph(
    store: ObjectStore, control_tx: ControlTxs, text: bytes, *, object_info: ObjectInfo | None = None
) -> ReadyGraph:
    """Of either format. Raises InvalidInput, which names the class that no worker has, or node and input."""
    if len(text) > GRAPH_BYTES_MAX:
        raise InvalidInput("graph", f"has more than {GRAPH_BYTES_MAX} bytes")
    try:
        workflow = read_workflow(text)
        drawn = is_interface_format(workflow)
        if object_info is None and drawn:
            graph, ready = await _convert(store, control_tx, workflow)
        else:
            graph = load_graph(workflow, object_info=object_info)
            ready = ReadyGraph(json.dumps(graph).encode() if drawn else text, drawn, object_info)
    except InvalidGraph as problem:
        raise InvalidInput("graph", problem.message) from None
    return await _with_definitions(store, control_tx, ready, graph)


async def _convert(
    store: ObjectStore, control_tx: ControlTxs, workflow: Mapping[str, Any]
) -> tuple[Mapping[str, Any], ReadyGraph]:
    nearest: MissingNodeClass | None = None
    for known in await list_known(control_tx):
        if (object_info := await read_definitions(store, control_tx, known)) is None:
            continue
        try:
            graph = load_graph(workflow, object_info=object_info)
        except MissingNodeClass as missing:
            nearest = missing if nearest is None or len(missing.classes) < len(nearest.classes) else nearest
            continue
        return graph, ReadyGraph(json.dumps(graph).encode(), True, object_info, known)
    raise InvalidInput("graph", _unknown(nearest))


def _unknown(nearest: MissingNodeClass | None) -> str:
    how = (
        "Export it with 'Export (API)', or name a server that has them: `comfyfleet workflows create --object-info URL`"
    )
    if nearest is None:
        return (
            "is a workflow as ComfyUI's interface saves it. Node classes are needed to convert it, and no worker has "
            f"reported any yet. Start a worker, or: {how}"
        )
    named = ", ".join(f"{name} (node {node})" for name, node in nearest.classes.items())
    return f"no worker has reported all its node classes; missing: {named}. {how}"


async def _with_definitions(
    store: ObjectStore, control_tx: ControlTxs, ready: ReadyGraph, graph: Mapping[str, Any]
) -> ReadyGraph:
    found = await list_reported(store, control_tx, graph)
    if ready.object_info is not None:
        return replace(ready, reported=(ready.object_info, *(said for _, said in found)))
    ready = replace(ready, reported=tuple(said for _, said in found))
    needed = set(list_classes(dict(graph)))
    whole = next(((known, said) for known, said in found if needed <= said.keys()), None)
    return replace(ready, used=whole[0], object_info=whole[1]) if whole else ready


async def list_reported(
    store: ObjectStore, control_tx: ControlTxs, graph: Mapping[str, Any]
) -> list[tuple[KnownDefinitions, ObjectInfo]]:
    """What workers have said of a graph's classes, each cut down to them, those seen last first."""
    needed = set(list_classes(dict(graph)))
    found: list[tuple[KnownDefinitions, ObjectInfo]] = []
    for known in await list_known(control_tx):
        object_info = await read_definitions(store, control_tx, known)
        if object_info is not None and (said := needed & object_info.keys()):
            found.append((known, {name: object_info[name] for name in said}))
    return found


async def list_known(control_tx: ControlTxs) -> list[KnownDefinitions]:
    """Those seen last, first."""
    async with control_tx(read_only=True) as tx:
        return (await fleet.list_definitions(tx))[:TRIED_MAX]


async def read_definitions(store: ObjectStore, control_tx: ControlTxs, known: KnownDefinitions) -> ObjectInfo | None:
    """None: the object is gone or broken. Then its row goes too, and the next worker that has them is asked again."""
    if known.digest in _held:
        _held.move_to_end(known.digest)
        return _held[known.digest]
    try:
        packed = await store.read(ObjectKey(known.path), bytes_max=PACKED_BYTES_MAX)
        found = await asyncio.to_thread(unpack_definitions, packed, digest=known.digest)
    except (NotFound, InvalidInput):
        async with control_tx() as tx:
            await fleet.forget_definitions(tx, known.digest)
        return None
    _held[known.digest] = found
    while len(_held) > HELD_MAX:
        _held.popitem(last=False)
    return found
