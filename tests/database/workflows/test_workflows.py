"""Workflows by slug, in versions, on both engines; their graphs in the store."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from comfyfleet import workflows
from comfyfleet.db import ControlTx
from comfyfleet.house import House
from comfyfleet.kernel.errors import AlreadyExists, GraphUnreadable, InvalidInput, NotFound
from comfyfleet.kernel.page import PageRequest
from comfyfleet.storage import ObjectKey
from comfyfleet.workflows import Version, Workflow, read_properties
from comfyfleet.workflows.graphs import Shelf
from tests.builders import GRAPH, a_version, a_workflow

OTHER = {"1": {"class_type": "KSampler", "inputs": {"seed": 1}}}
SEED = read_properties([{"name": "seed", "type": "seed", "node": "1", "input_name": "seed"}])


async def read(house: House, version: Version) -> Mapping[str, Any]:
    """From the store, not from another test's reading."""
    return await workflows.read_graph(house.store, version, shelf=Shelf())


async def find(house: House, slug: str) -> tuple[Workflow, list[Version]]:
    async with house.control_tx(read_only=True) as tx:
        found = await workflows.find_workflow(tx, slug)
        return found, await workflows.list_versions(tx, found.id)


async def add_version(house: House, slug: str, graph: Any, **given: Any) -> Workflow:
    recorded: list[Workflow] = []

    async def record(_tx: ControlTx, made: Workflow) -> None:
        recorded.append(made)

    new = a_version(graph, **given)
    made = await workflows.publish_version(house.store, house.control_tx, new, slug=slug, record=record)
    assert recorded in ([], [made])
    return made


async def test_a_workflow_is_found_by_its_slug_and_taken_once(house: House) -> None:
    made = await a_workflow(house, "face-swap")
    async with house.control_tx() as tx:
        assert await workflows.find_workflow(tx, "face-swap") == made
        with pytest.raises(NotFound):
            await workflows.find_workflow(tx, "upscale")
    with pytest.raises(AlreadyExists):
        await a_workflow(house, "face-swap")


async def test_unknown_and_inactive_ones_are_named(house: House) -> None:
    for slug in ("a", "b"):
        await a_workflow(house, slug)
    async with house.control_tx() as tx:
        await workflows.set_workflow_active(tx, "b", is_active=False)
        with pytest.raises(InvalidInput, match="unknown: x, y; inactive: b"):
            await workflows.require_active(tx, ["y", "b", "a", "x"])
        assert [each.slug for each in await workflows.require_active(tx, ["a", "a"])] == ["a"]
        await workflows.set_workflow_active(tx, "b", is_active=True)
        assert [each.slug for each in await workflows.require_active(tx, ["b", "a"])] == ["b", "a"]
        page = await workflows.list_workflows(tx, PageRequest(rows=1))
    assert [each.slug for each in page.rows] == ["b"]
    assert page.next_cursor is not None


async def test_what_is_no_slug_is_refused_before_anything_is_written(house: House) -> None:
    async def record(_tx: ControlTx, _made: Workflow) -> None:
        raise AssertionError("nothing was made")

    store, new = house.store, a_version()
    for slug in ("Face Swap", "", "-a", "a/b", "x" * 101):
        with pytest.raises(InvalidInput, match="slug"):
            await workflows.publish_workflow(store, house.control_tx, new, slug=slug, name="x", record=record)
    assert await store.head(ObjectKey(new.path)) is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("graph", b"not json"),
        ("graph", b"[]"),
        ("graph", b"{}"),
        ("graph", b'{"1": {}}'),
        ("graph", b'{"last_node_id": 1, "nodes": [{"id": 1, "type": "KSampler"}], "links": []}'),
        ("graph", b"[" * 100_000),
        ("graph", b'{"1": {"class_type": "A\\u0000", "inputs": {}}}'),
        ("graph", b'{"1": {"class_type": "A", "inputs": {"text": ["\\u0000"]}}}'),
        ("graph", b'{"a": "' + b"x" * 5_000_000 + b'"}'),
        ("structure_hash", ""),
        ("structure_hash", "*"),
        ("structure_hash", "a/b"),
        ("structure_hash", "x" * 129),
        ("output_node", "9"),
    ],
)
def test_what_is_no_workflow_is_refused(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput, match=field):
        a_version(**{"graph": GRAPH, field: value})


async def test_a_version_is_kept_as_it_was_and_its_graph_comes_from_the_store(house: House) -> None:
    made = await a_workflow(
        house, "w", graph=OTHER, properties=SEED, vram_gb=12, output_node="1", expected_s=9, run_deadline_s=60, note="n"
    )
    found, (version,) = await find(house, "w")
    assert (found, found.version, found.expected_s, found.run_deadline_s) == (made, 1, 9, 60)
    assert (version.properties, version.output_node, version.note) == (SEED, "1", "n")
    assert version.requirements == workflows.Requirements(("KSampler",), (), 12)
    assert version.graph_bytes == len(json.dumps(OTHER))
    assert version.is_made_from(
        a_version(OTHER, properties=SEED, vram_gb=12, output_node="1", expected_s=9, run_deadline_s=60)
    )
    shelf = Shelf()
    assert await workflows.read_graph(house.store, version, shelf=shelf) == OTHER
    await house.store.delete(ObjectKey(version.path))
    assert await workflows.read_graph(house.store, version, shelf=shelf) == OTHER, "it need not be read twice"


async def test_a_graph_that_is_missing_or_changed_is_not_used(house: House) -> None:
    await a_workflow(house, "w")
    _, (version,) = await find(house, "w")
    await house.store.delete(ObjectKey(version.path))
    with pytest.raises(GraphUnreadable):
        await read(house, version)
    for text in (b'{"1": {"class_type": "Evil", "inputs": {}}}', b"{", b"x" * 5_000_000):
        await house.store.write(ObjectKey(version.path), text, media_type="application/json")
        with pytest.raises(GraphUnreadable) as told:
            await read(house, version)
        assert version.path in told.value.message
        await house.store.delete(ObjectKey(version.path))


async def test_a_new_version_is_in_force_and_the_old_one_can_be_used_again(house: House) -> None:
    first = await a_workflow(house, "w")
    second = await add_version(house, "w", OTHER, properties=SEED, provider="cloud", expected_s=5)
    assert (second.version, second.provider, second.expected_s) == (2, "cloud", 5)
    assert second.structure_hash == first.structure_hash, "a seed is no structure"
    async with house.control_tx() as tx:
        back = await workflows.use_version(tx, "w", 1)
    assert back == first
    async with house.control_tx() as tx:
        assert await workflows.use_version(tx, "w", 2) == second
        for unknown in (0, 3):
            with pytest.raises(NotFound):
                await workflows.use_version(tx, "w", unknown)
    found, versions = await find(house, "w")
    assert (found, [each.version for each in versions]) == (second, [2, 1])
    assert [await read(house, each) for each in versions] == [OTHER, json.loads(GRAPH)]
    async with house.control_tx() as tx:
        await workflows.use_version(tx, "w", 1)
    third = await add_version(house, "w", OTHER)
    assert third.version == 3, "numbers are not used twice"


async def test_what_is_in_force_already_is_no_new_version(house: House) -> None:
    await a_workflow(house, "w", graph=OTHER, properties=SEED)
    spelled_otherwise = json.dumps(OTHER, indent=4).encode()
    for _ in range(2):
        assert (await add_version(house, "w", spelled_otherwise, properties=SEED)).version == 1
    assert (await add_version(house, "w", OTHER)).version == 2, "other properties are another version"
    with pytest.raises(NotFound):
        await add_version(house, "unknown", OTHER)


async def test_versions_added_at_once_get_numbers_of_their_own(house: House) -> None:
    await a_workflow(house, "w")
    news = [{"1": {"class_type": "KSampler", "inputs": {"seed": number}}} for number in range(8)]
    made = await asyncio.gather(*(add_version(house, "w", graph) for graph in news))
    assert sorted(each.version for each in made) == list(range(2, 10))
    found, versions = await find(house, "w")
    assert found.version == 9
    assert len({each.content_hash for each in versions}) == 9


async def test_the_order_of_the_nodes_does_not_matter(house: House) -> None:
    one = b'{"1": {"class_type": "A", "inputs": {"a": 1, "b": 2}}, "2": {"class_type": "B", "inputs": {}}}'
    other = b'{ "2": {"inputs": {}, "class_type": "B"}, "1": {"class_type": "A", "inputs": {"b": 2, "a": 1}} }'
    made = [await a_workflow(house, graph=graph) for graph in (one, other, GRAPH)]
    assert made[0].structure_hash == made[1].structure_hash != made[2].structure_hash
