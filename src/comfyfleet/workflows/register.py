"""A graph becomes a workflow that jobs can name; a changed graph becomes its next version."""

import re
from collections.abc import Sequence
from typing import Any

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.graph import check_graph, find_placeholders, hash_graph, load_graph
from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import AlreadyExists, InvalidInput, NotFound
from comfyfleet.workflows import sql
from comfyfleet.workflows.model import NewVersion, ProviderName, Requirements, Version, Workflow
from comfyfleet.workflows.properties import Property
from comfyfleet.workflows.propose import find_requirements
from comfyfleet.workflows.read import find_version, find_workflow

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?")
GRAPH_BYTES_MAX = 4 * 1024**2
HASH_CHARS_MAX = 128
# It stands in addresses; and '*' is every structure, in blocks.
HASH = re.compile(rf"[^/*\x00-\x1f\x7f]{{1,{HASH_CHARS_MAX}}}")


def prepare_version(
    graph: bytes,
    *,
    properties: Sequence[Property] = (),
    output_node: str | None = None,
    structure_hash: str | None = None,
    requirements: Requirements | None = None,
    provider: ProviderName = "self_hosted",
    expected_s: float = 1.0,
    run_deadline_s: float | None = None,
    note: str = "",
) -> NewVersion:
    """Everything that can be wrong with a graph and its properties is found here, before anything is written. Pure.

    The graph is kept as the bytes it came in. Its object's key is made from what it holds, so the same graph is one
    object, and no version can change another's.
    """
    if len(graph) > GRAPH_BYTES_MAX:
        raise InvalidInput("graph", f"has more than {GRAPH_BYTES_MAX} bytes")
    if structure_hash is not None and not HASH.fullmatch(structure_hash):
        raise InvalidInput("structure_hash", f"must have 1 to {HASH_CHARS_MAX} characters, none of them / or *")
    try:
        parsed = load_graph(graph)
        check_graph(parsed)
    except InvalidGraph as problem:
        raise InvalidInput("graph", problem.message) from None
    _check_places(parsed, properties, output_node)
    hashes = hash_graph(graph)
    return NewVersion(
        path=f"workflows/graphs/{hashes.content}.json",
        graph=graph,
        content_hash=hashes.content,
        structure_hash=structure_hash or hashes.structure,
        properties=tuple(properties),
        output_node=output_node,
        requirements=requirements or find_requirements(parsed),
        provider=provider,
        expected_s=expected_s,
        run_deadline_s=run_deadline_s,
        note=note,
    )


def _check_places(graph: dict[str, Any], properties: Sequence[Property], output_node: str | None) -> None:
    placeholders = find_placeholders(graph)
    for at, prop in enumerate(properties):
        where = f"properties[{at}]"
        if prop.placeholder is not None and prop.placeholder not in placeholders:
            raise InvalidInput(where, f"the graph has no placeholder {{{{{prop.placeholder}}}}}")
        if prop.node is not None and prop.input_name not in graph.get(prop.node, {}).get("inputs", {}):
            raise InvalidInput(where, f"the graph has no input {prop.input_name!r} at node {prop.node!r}")
    if unbound := sorted(set(placeholders) - {prop.placeholder for prop in properties}):
        raise InvalidInput("properties", f"nothing fills the placeholder {{{{{unbound[0]}}}}}: add a property for it")
    if output_node is not None and output_node not in graph:
        raise InvalidInput("output_node", f"the graph has no node {output_node!r}")


async def add_workflow(tx: ControlTx, new: NewVersion, *, slug: str, name: str) -> Workflow:
    """Active at once, in its first version. The graph's object must be in the store already."""
    if not SLUG.fullmatch(slug):
        raise InvalidInput("slug", "use 1 to 100 lower-case letters, digits and inner hyphens, such as 'face-swap'")
    row = await tx.maybe(sql.insert_workflow(new, slug=slug, name=name))
    if row is None:
        raise AlreadyExists("workflow", slug)
    await tx.run(sql.insert_version(row.id, 1, new))
    return Workflow.from_row(row)


async def add_version(tx: ControlTx, slug: str, new: NewVersion) -> Workflow:
    """In force at once; jobs that were made before keep the graph they were made with.

    The same graph with the same properties as the version in force is no new version.
    """
    workflow = await find_workflow(tx, slug)
    row = await tx.one(sql.hold_workflow(workflow.id))
    latest = (await tx.one(sql.latest_version(workflow.id))).version or 0
    if latest and (await find_version(tx, workflow.id, row.version)).is_made_from(new):
        return Workflow.from_row(row)
    await tx.run(sql.insert_version(workflow.id, latest + 1, new))
    return await use_version(tx, slug, latest + 1)


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
