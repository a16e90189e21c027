"""A graph and its wishes become a job for the queue: frozen, hashed, its input files named by content."""

import asyncio
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.graph.hashes import hash_graph
from comfyfleet.comfy.graph.load import Source, load_graph
from comfyfleet.kernel.ids import new_id
from comfyfleet.pool.inputs import GivenInput, bind, name_by_content
from comfyfleet.pool.model import NodeInput, QueuedJob

SCOPE_CHARS_MAX = 200


async def prepare_job(
    source: Source,
    *,
    priority: int,
    metadata: Mapping[str, Any] | None,
    inputs: Mapping[NodeInput, GivenInput] | None,
    output_node: str | None,
    save_to: Path | None,
    servers: Collection[str] | None,
    deadline_s: float,
    attempts_max: int,
    now: float,
    blocks_by: str | None = None,
) -> QueuedJob:
    """`blocks_by`: the key of the metadata that scopes its blocks. Raises ValueError for a value that cannot."""
    graph = await _loaded(source)
    files = await name_by_content(inputs or {})
    named = bind(graph, {key: file.name for key, file in files.items()})
    hashes = hash_graph(named)
    return QueuedJob(
        id=str(new_id()),
        graph=named,
        structure_hash=hashes.structure,
        content_hash=hashes.content,
        priority=priority,
        metadata=dict(metadata or {}),
        inputs=files,
        output_node=output_node,
        save_to=save_to,
        servers=None if servers is None else frozenset(servers),
        deadline_s=deadline_s,
        attempts_max=attempts_max,
        queued_at=now,
        scope=None if blocks_by is None else _scope(metadata or {}, blocks_by),
    )


def _scope(metadata: Mapping[str, Any], key: str) -> str | None:
    match metadata.get(key):
        case None | "":
            return None
        case str() | int() as value if not isinstance(value, bool) and len(str(value)) <= SCOPE_CHARS_MAX:
            return str(value)
        case UUID() as value:
            return str(value)
        case value:
            allowed = f"a text of at most {SCOPE_CHARS_MAX} characters, a whole number or a UUID"
            raise ValueError(f"metadata[{key!r}] scopes the pool's blocks and must be {allowed}, got {value!r:.80}")


async def _loaded(source: Source) -> dict[str, Any]:
    """Checked, and our own: the caller may go on changing its graph, with the next seed, say."""
    if isinstance(source, str) and not source.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        source = Path(source)  # no graph begins otherwise
    if isinstance(source, Path):
        return await asyncio.to_thread(load_graph, source)
    if isinstance(source, Mapping):
        try:
            source = msgspec.json.encode(source)
        except (TypeError, ValueError, RecursionError):
            raise InvalidGraph("The graph holds something that is no JSON.") from None
    return load_graph(source)
