"""A graph becomes a workflow that jobs can name."""

import hashlib
import json
import re
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import AlreadyExists, InvalidInput
from comfyfleet.workflows import sql
from comfyfleet.workflows.model import Workflow
from comfyfleet.workflows.read import find_workflow

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?")
GRAPH_BYTES_MAX = 4 * 1024**2
HASH_CHARS_MAX = 128
# It stands in addresses; and '*' is every structure, in blocks.
HASH = re.compile(rf"[^/*\x00-\x1f\x7f]{{1,{HASH_CHARS_MAX}}}")


async def add_workflow(
    tx: ControlTx,
    *,
    slug: str,
    name: str,
    graph: bytes,
    structure_hash: str | None = None,
    run_deadline_s: float | None = None,
) -> Workflow:
    """The graph is kept as the bytes it came in: nobody here reads it, and nothing is lost by writing it anew.

    Without a structure hash the whole graph is its own structure.
    """
    if not SLUG.fullmatch(slug):
        raise InvalidInput("slug", "use 1 to 100 lower-case letters, digits and inner hyphens, such as 'face-swap'")
    if structure_hash is not None and not HASH.fullmatch(structure_hash):
        raise InvalidInput("structure_hash", f"must have 1 to {HASH_CHARS_MAX} characters, none of them / or *")
    parsed = _parse_graph(graph)
    row = await tx.maybe(
        sql.insert_workflow(
            slug=slug,
            name=name,
            graph=graph,
            structure_hash=structure_hash or content_hash(parsed),
            run_deadline_s=run_deadline_s,
        )
    )
    if row is None:
        raise AlreadyExists("workflow", slug)
    return Workflow.from_row(row)


async def set_workflow_active(tx: ControlTx, slug: str, *, is_active: bool) -> Workflow:
    """An inactive workflow is handed to no worker; what waits for it waits on."""
    workflow = await find_workflow(tx, slug)
    return Workflow.from_row(await tx.one(sql.set_active(workflow.id, is_active=is_active)))


def content_hash(graph: dict[str, Any]) -> str:
    """Of the canonical text: the same nodes in another order are the same graph."""
    return hashlib.sha256(json.dumps(graph, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _parse_graph(graph: bytes) -> dict[str, Any]:
    if len(graph) > GRAPH_BYTES_MAX:
        raise InvalidInput("graph", f"has more than {GRAPH_BYTES_MAX} bytes")
    try:
        parsed = json.loads(graph)
    except (ValueError, RecursionError):
        raise InvalidInput("graph", "is not JSON") from None
    # ComfyUI's plain *Save* writes another format, with its nodes in a list: no server would run it.
    if not isinstance(parsed, dict) or not parsed or not all(isinstance(node, dict) for node in parsed.values()):
        raise InvalidInput("graph", "must be an object of nodes, as ComfyUI's 'Save (API format)' writes it")
    return parsed
