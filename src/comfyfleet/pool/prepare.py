"""A graph and its wishes become a job for the queue: frozen, hashed, its input files named by content."""

from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.graph.hashes import content_hash, structure_hash
from comfyfleet.comfy.model import Graph
from comfyfleet.kernel.ids import new_id
from comfyfleet.pool.inputs import GivenInput, bind, name_by_content
from comfyfleet.pool.model import NodeInput, QueuedJob


async def prepare_job(
    graph: Graph,
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
) -> QueuedJob:
    job_id = str(new_id())
    frozen = _copied(graph)
    files = await name_by_content(inputs or {})
    named = bind(frozen, {key: file.name for key, file in files.items()})
    return QueuedJob(
        id=job_id,
        graph=named,
        structure_hash=structure_hash(named),
        content_hash=content_hash(named),
        priority=priority,
        metadata=MappingProxyType(dict(metadata or {})),
        inputs=files,
        output_node=output_node,
        save_to=save_to,
        servers=None if servers is None else frozenset(servers),
        deadline_s=deadline_s,
        attempts_max=attempts_max,
        queued_at=now,
    )


def _copied(graph: Graph) -> dict[str, Any]:
    """The caller may go on changing its own: with the next seed, say."""
    try:
        copied = msgspec.json.decode(msgspec.json.encode(graph))
    except (TypeError, ValueError, msgspec.MsgspecError):
        raise InvalidGraph("The graph is no JSON.") from None
    if not isinstance(copied, dict) or not copied:
        raise InvalidGraph("A graph is a JSON object of nodes, and not an empty one.")
    for node, body in copied.items():
        if not isinstance(body, dict) or not isinstance(body.get("class_type"), str):
            raise InvalidGraph(
                f"Node {node!r} has no class_type. Save the workflow in API format.",
                node=node,
            )
    return copied
