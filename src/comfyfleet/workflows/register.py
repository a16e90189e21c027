"""A graph becomes a workflow that jobs can name."""

import json
import re

from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import AlreadyExists, InvalidInput
from comfyfleet.workflows import sql
from comfyfleet.workflows.model import Workflow
from comfyfleet.workflows.read import find_workflow

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?")
GRAPH_BYTES_MAX = 4 * 1024**2
HASH_CHARS_MAX = 128


async def add_workflow(
    tx: ControlTx,
    *,
    slug: str,
    name: str,
    graph: bytes,
    structure_hash: str,
    run_deadline_s: float | None = None,
) -> Workflow:
    """The graph is kept as the bytes it came in: nobody here reads it, and nothing is lost by writing it anew."""
    if not SLUG.fullmatch(slug):
        raise InvalidInput("slug", "use 1 to 100 lower-case letters, digits and inner hyphens, such as 'face-swap'")
    if not 0 < len(structure_hash) <= HASH_CHARS_MAX:
        raise InvalidInput("structure_hash", f"must have 1 to {HASH_CHARS_MAX} characters")
    _check_graph(graph)
    row = await tx.maybe(
        sql.insert_workflow(
            slug=slug, name=name, graph=graph, structure_hash=structure_hash, run_deadline_s=run_deadline_s
        )
    )
    if row is None:
        raise AlreadyExists("workflow", slug)
    return Workflow.from_row(row)


async def set_workflow_active(tx: ControlTx, slug: str, *, is_active: bool) -> Workflow:
    """An inactive workflow is handed to no worker; what waits for it waits on."""
    workflow = await find_workflow(tx, slug)
    return Workflow.from_row(await tx.one(sql.set_active(workflow.id, is_active=is_active)))


def _check_graph(graph: bytes) -> None:
    if len(graph) > GRAPH_BYTES_MAX:
        raise InvalidInput("graph", f"has more than {GRAPH_BYTES_MAX} bytes")
    try:
        parsed = json.loads(graph)
    except (ValueError, RecursionError):
        raise InvalidInput("graph", "is not JSON") from None
    if not isinstance(parsed, dict) or not parsed:
        raise InvalidInput("graph", "must be an object of nodes, as ComfyUI's 'Save (API format)' writes it")
