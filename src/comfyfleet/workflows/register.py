"""A graph becomes a workflow that jobs can name; a changed graph becomes its next version."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.graph import ObjectInfo, hash_graph, load_graph, read_workflow
from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import AlreadyExists, InvalidInput, NotFound
from comfyfleet.workflows import sql
from comfyfleet.workflows.check_files import check_files, list_file_inputs
from comfyfleet.workflows.check_places import check_places
from comfyfleet.workflows.model import Added, NewVersion, ProviderName, Requirements, Version, Workflow
from comfyfleet.workflows.properties import Property
from comfyfleet.workflows.propose import find_requirements, require_output_node
from comfyfleet.workflows.read import find_version, find_workflow

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?")
GRAPH_BYTES_MAX = 4 * 1024**2
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
HASH_CHARS_MAX = 128
# It stands in addresses; and '*' is every structure, in blocks.
HASH = re.compile(rf"[^/*\x00-\x1f\x7f]{{1,{HASH_CHARS_MAX}}}")


def prepare_version(
    graph: bytes,
    *,
    properties: Sequence[Property] = (),
    output_node: str | None = None,
    structure_hash: str | None = None,
    node_classes: Sequence[str] | None = None,
    weights: Sequence[str] | None = None,
    vram_gb: float | None = None,
    provider: ProviderName = "self_hosted",
    expected_s: float = 1.0,
    run_deadline_s: float | None = None,
    note: str = "",
    definitions: Sequence[ObjectInfo] = (),
) -> NewVersion:
    """Everything that can be wrong with a graph and its properties is found here, before anything is written. Pure.

    The object's key is made from what the graph holds: the same graph, however it is spelled, is one object, and no
    version can change another's. What is not said of requirements is read from the graph. `definitions`: what is known
    of its node classes, by which a text that would name a file is found.
    """
    if structure_hash is not None and not HASH.fullmatch(structure_hash):
        raise InvalidInput("structure_hash", f"must have 1 to {HASH_CHARS_MAX} characters, none of them / or *")
    kept, parsed = read_graph_text(graph)
    check_places(parsed, properties)
    check_files(parsed, properties, list_file_inputs(definitions))
    require_output_node(parsed, output_node)
    hashes = hash_graph(kept)
    return NewVersion(
        path=f"workflows/graphs/{hashes.content}.json",
        graph=kept,
        content_hash=hashes.content,
        structure_hash=structure_hash or hashes.structure,
        properties=tuple(properties),
        output_node=output_node,
        requirements=_requirements(parsed, node_classes, weights, vram_gb),
        provider=provider,
        expected_s=expected_s,
        run_deadline_s=run_deadline_s,
        note=note,
    )


def _requirements(
    graph: Mapping[str, Any], node_classes: Sequence[str] | None, weights: Sequence[str] | None, vram_gb: float | None
) -> Requirements:
    found = find_requirements(graph)
    return Requirements(
        found.node_classes if node_classes is None else tuple(node_classes),
        found.weights if weights is None else tuple(weights),
        vram_gb,
    )


def read_graph_text(text: bytes) -> tuple[bytes, dict[str, Any]]:
    """The graph as it is kept, and parsed. Raises InvalidInput, which says what to do about it."""
    if len(text) > GRAPH_BYTES_MAX:
        raise InvalidInput("graph", f"has more than {GRAPH_BYTES_MAX} bytes")
    try:
        whole = read_workflow(text)
        parsed = load_graph(whole)
    except InvalidGraph as problem:
        raise InvalidInput("graph", problem.message) from None
    if _holds_nul(parsed):
        raise InvalidInput("graph", "must not hold NUL characters")
    # The body of a POST /prompt holds the graph one level down; the rest of it is nobody's.
    kept = text.removeprefix(BYTE_ORDER_MARK) if parsed.keys() == whole.keys() else json.dumps(parsed).encode()
    return kept, parsed


def _holds_nul(value: Any) -> bool:
    """PostgreSQL keeps none; its depth has been measured."""
    match value:
        case str():
            return "\x00" in value
        case dict():
            return any(_holds_nul(key) or _holds_nul(each) for key, each in value.items())
        case list():
            return any(map(_holds_nul, value))
        case _:
            return False


def check_slug(slug: str) -> None:
    if not SLUG.fullmatch(slug):
        raise InvalidInput("slug", "use 1 to 100 lower-case letters, digits and inner hyphens, such as 'face-swap'")


async def add_workflow(tx: ControlTx, new: NewVersion, *, slug: str, name: str) -> Workflow:
    """Active at once, in its first version. The graph's object must be in the store already."""
    check_slug(slug)
    row = await tx.maybe(sql.insert_workflow(new, slug=slug, name=name))
    if row is None:
        raise AlreadyExists("workflow", slug)
    await tx.run(sql.insert_version(row.id, 1, new))
    return Workflow.from_row(row)


async def add_version(tx: ControlTx, slug: str, new: NewVersion) -> Added:
    """In force at once; jobs that were made before keep the graph they were made with.

    The same graph with the same properties as the version in force is no new version.
    """
    workflow = await find_workflow(tx, slug)
    row = await tx.one(sql.hold_workflow(workflow.id))
    latest = (await tx.one(sql.latest_version(workflow.id))).version or 0
    if latest and (await find_version(tx, workflow.id, row.version)).is_made_from(new):
        return Added(Workflow.from_row(row), is_new=False)
    await tx.run(sql.insert_version(workflow.id, latest + 1, new))
    return Added(await use_version(tx, slug, latest + 1), is_new=True)


async def use_version(tx: ControlTx, slug: str, version: int) -> Workflow:
    """Back to an earlier version, or forth again."""
    workflow = await find_workflow(tx, slug)
    row = await tx.maybe(sql.version(workflow.id, version))
    if row is None:
        raise NotFound("version", f"{slug} {version}")
    return Workflow.from_row(await tx.one(sql.use_version(Version.from_row(row))))


async def set_workflow_active(tx: ControlTx, slug: str, *, is_active: bool) -> Workflow:
    """An inactive workflow is handed to no worker; what waits for it waits on."""
    workflow = await find_workflow(tx, slug)
    return Workflow.from_row(await tx.one(sql.set_active(workflow.id, is_active=is_active)))
