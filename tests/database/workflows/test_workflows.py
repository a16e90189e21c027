"""Workflows by slug, on both engines."""

import pytest

from comfyfleet import workflows
from comfyfleet.house import House
from comfyfleet.kernel.errors import AlreadyExists, InvalidInput, NotFound
from comfyfleet.kernel.page import PageRequest

GRAPH = b'{"1": {"class_type": "KSampler", "inputs": {}}}'


async def add(house: House, slug: str) -> workflows.Workflow:
    async with house.control_tx() as tx:
        return await workflows.add_workflow(tx, slug=slug, name=slug, graph=GRAPH, structure_hash=f"hash of {slug}")


async def test_a_workflow_is_found_by_its_slug_and_taken_once(house: House) -> None:
    made = await add(house, "face-swap")
    async with house.control_tx() as tx:
        assert await workflows.find_workflow(tx, "face-swap") == made
        with pytest.raises(NotFound):
            await workflows.find_workflow(tx, "upscale")
    with pytest.raises(AlreadyExists):
        await add(house, "face-swap")


async def test_unknown_and_inactive_ones_are_named(house: House) -> None:
    for slug in ("a", "b"):
        await add(house, slug)
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


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("slug", "Face Swap"),
        ("slug", ""),
        ("graph", b"not json"),
        ("graph", b"[]"),
        ("graph", b"{}"),
        ("graph", b'{"last_node_id": 1, "nodes": [{"id": 1, "type": "KSampler"}], "links": []}'),
        ("graph", b"[" * 100_000),
        ("graph", b'{"a": "' + b"x" * 5_000_000 + b'"}'),
        ("structure_hash", ""),
        ("structure_hash", "*"),
        ("structure_hash", "a/b"),
        ("structure_hash", "x" * 129),
    ],
)
async def test_what_is_no_workflow_is_refused(house: House, field: str, value: object) -> None:
    given = {"slug": "ok", "name": "ok", "graph": GRAPH, "structure_hash": "h", field: value}
    with pytest.raises(InvalidInput, match=field):
        async with house.control_tx() as tx:
            await workflows.add_workflow(tx, **given)  # type: ignore[arg-type]


async def test_without_a_structure_hash_the_order_of_the_nodes_does_not_matter(house: House) -> None:
    one, other = b'{"1": {"a": 1, "b": 2}, "2": {}}', b'{ "2": {}, "1": {"b": 2, "a": 1} }'
    async with house.control_tx() as tx:
        made = [
            await workflows.add_workflow(tx, slug=f"w{number}", name="w", graph=graph)
            for number, graph in enumerate([one, other, GRAPH])
        ]
    assert made[0].structure_hash == made[1].structure_hash != made[2].structure_hash
