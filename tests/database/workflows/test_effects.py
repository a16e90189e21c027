"""Effects, on both engines: made, given assets, shown, used, and why they cannot be."""

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from comfyfleet import workflows
from comfyfleet.db import tables
from comfyfleet.house import House
from comfyfleet.kernel.errors import AlreadyExists, EffectPublished, EffectUnavailable, InvalidInput, NotFound
from comfyfleet.kernel.ids import EffectId, new_id
from comfyfleet.kernel.page import PageRequest
from comfyfleet.storage import ObjectKey
from comfyfleet.workflows import effects, read_properties
from comfyfleet.workflows.effects import Effect, EffectChange, NewEffect, Offer
from tests.builders import a_version, a_workflow

GRAPH: dict[str, Any] = {
    "1": {"class_type": "LoadImage", "inputs": {"image": "a.png"}},
    "2": {"class_type": "LoadImage", "inputs": {"image": "b.png"}},
    "3": {"class_type": "CLIPTextEncode", "inputs": {"text": "{{prompt}}"}},
    "4": {"class_type": "KSampler", "inputs": {"seed": 1, "steps": 20}},
}
PROPERTIES = read_properties(
    [
        {"name": "picture", "type": "image", "node": "1", "input_name": "image", "is_primary_input": True},
        {"name": "mask", "type": "image", "node": "2", "input_name": "image"},
        {"name": "prompt", "type": "text", "placeholder": "prompt", "required": True},
        {"name": "seed", "type": "seed", "node": "4", "input_name": "seed"},
        {"name": "steps", "type": "integer", "maximum": 50, "node": "4", "input_name": "steps", "default": 20},
    ]
)
PNG = b"\x89PNG\r\n\x1a\n and the rest"


@pytest.fixture
async def swap(house: House) -> str:
    return (await a_workflow(house, "swap", graph=GRAPH, properties=PROPERTIES, expected_s=40)).slug


async def add(house: House, slug: str = "old-film", **given: Any) -> Effect:
    async with house.control_tx() as tx:
        return await effects.add_effect(tx, NewEffect(slug, slug.title(), **given), workflow="swap")


async def change(house: House, verb: Any, *arguments: Any) -> Effect:
    async with house.control_tx() as tx:
        changed: Effect = await verb(tx, *arguments)
        return changed


async def put(house: House, effect: Effect, name: str, content: bytes = PNG, kind: str = "image/png") -> Effect:
    asset = effects.describe_asset(effect.id, content, kind)
    await effects.keep_asset(house.store, asset, content)
    return await change(house, effects.put_asset, effect.slug, name, asset)


async def offer(house: House, slug: str = "old-film") -> Offer:
    async with house.control_tx(read_only=True) as tx:
        return await effects.find_offer(tx, slug)


async def take(house: House, name: str | EffectId = "old-film") -> Offer:
    async with house.control_tx(read_only=True) as tx:
        taken, version = await effects.take_offer(tx, name)
    assert version == taken.version
    return taken


async def test_an_effect_is_made_shown_and_taken_by_slug_or_id(house: House, swap: str) -> None:
    made = await add(
        house,
        overrides={"steps": 30, "seed": "random"},
        fixed=frozenset({"steps", "seed"}),
        credits_cost=7,
        description="As in 1920.",
    )
    assert (made.is_published, made.credits_cost, made.assets) == (False, 7, {})
    for name in (made.slug, made.id, "unknown", EffectId(new_id())):
        with pytest.raises(NotFound):
            await take(house, name)
    await change(house, effects.publish_effect, made.slug)
    for name in (made.slug, made.id):
        found = await take(house, name)
        assert found.effect.overrides == {"steps": 30, "seed": "random"}
        assert [each.name for each in found.properties] == ["picture", "mask", "prompt"]
        assert (found.workflow.slug, found.estimate_s) == (swap, 40)
    with pytest.raises(AlreadyExists):
        await add(house)


async def test_an_override_is_a_default_that_users_see_or_fixed_and_hidden(house: House, swap: str) -> None:
    made = await add(house, overrides={"steps": 30, "prompt": "a sea", "picture": "own"}, fixed=frozenset({"prompt"}))
    assert made.fixed == {"prompt", "picture"}, "what the effect works on is its own or the user's, not both"
    opened = {each.name: each for each in (await offer(house)).properties}
    assert opened.keys() == {"mask", "seed", "steps"}
    assert (opened["steps"].default, opened["steps"].required, opened["steps"].maximum) == (30, False, 50)

    kept = await change(house, effects.change_effect, made.slug, EffectChange(overrides={"prompt": "x", "steps": 1}))
    assert kept.fixed == {"prompt"}, "what was fixed stays so while it is set"
    opened_again = await change(house, effects.change_effect, made.slug, EffectChange(fixed=frozenset()))
    assert (opened_again.fixed, opened_again.overrides) == (frozenset(), {"prompt": "x", "steps": 1})
    with pytest.raises(InvalidInput, match="'seed' is not among the overrides"):
        await change(house, effects.change_effect, made.slug, EffectChange(fixed=frozenset({"seed"})))
    assert swap


@pytest.mark.usefixtures("swap")
async def test_overrides_of_earlier_releases_stay_fixed(house: House) -> None:
    made = await add(house, overrides={"steps": 30, "seed": "random"})
    async with house.control_tx() as tx:
        await tx.run(sa.update(tables.effects).where(tables.effects.c.id == made.id).values(fixed_overrides=sa.null()))
    assert (await offer(house)).effect.fixed == {"steps", "seed"}
    changed = await change(house, effects.change_effect, made.slug, EffectChange(credits_cost=3))
    assert changed.fixed == {"steps", "seed"}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"slug": "Old Film"}, "slug"),
    ({"credits_cost": -1}, "credits_cost"),
    ({"credits_cost": 10**12 + 1}, "credits_cost"),
    ({"overrides": {"stepz": 1}}, "overrides.stepz"),
    ({"overrides": {"steps": 51}}, "overrides.steps"),
    ({"overrides": {"steps": None}}, "overrides.steps"),
    ({"overrides": {"prompt": 5}}, "overrides.prompt"),
    ({"overrides": {"mask": 5}}, "overrides.mask"),
    ({"overrides": {"mask": "../etc"}}, "overrides.mask"),
]


@pytest.mark.usefixtures("swap")
async def test_what_is_no_effect_is_refused_with_its_field(house: House) -> None:
    for given, field in REFUSED:
        with pytest.raises(InvalidInput) as refused:
            await add(house, **given)
        assert refused.value.facts["field"] == field
    async with house.control_tx(read_only=True) as tx:
        assert (await effects.list_offers(tx, PageRequest(), published_only=False)).rows == []


async def test_an_effect_needs_a_workflow(house: House) -> None:
    with pytest.raises(NotFound, match="workflow"):
        await add(house)


@pytest.mark.usefixtures("swap")
async def test_without_an_active_workflow_it_says_why(house: House) -> None:
    made = await add(house)
    await change(house, effects.publish_effect, made.slug)
    async with house.control_tx() as tx:
        await workflows.set_workflow_active(tx, "swap", is_active=False)
    with pytest.raises(EffectUnavailable, match="its workflow is switched off") as refused:
        await take(house)
    assert refused.value.facts == {"effect": "old-film", "reason": "its workflow is switched off"}
    assert (await offer(house)).problem == "its workflow is switched off"
    async with house.control_tx() as tx:
        await workflows.set_workflow_active(tx, "swap", is_active=True)
    assert (await take(house)).problem is None


@pytest.mark.usefixtures("swap")
async def test_a_later_version_may_leave_an_effect_behind(house: House) -> None:
    made = await add(house, overrides={"steps": 30})
    await change(house, effects.publish_effect, made.slug)
    fewer = a_version(GRAPH, properties=[each for each in PROPERTIES if each.name != "steps"])
    await workflows.keep_graph(house.store, fewer)
    async with house.control_tx() as tx:
        await workflows.add_version(tx, "swap", fewer)
    with pytest.raises(EffectUnavailable, match="no longer fits"):
        await take(house)
    assert "overrides.steps" in str((await offer(house)).misfit)
    with pytest.raises(InvalidInput, match=r"overrides\.steps"):
        await change(house, effects.publish_effect, made.slug)
    await change(house, effects.change_effect, made.slug, EffectChange(overrides={}))
    assert (await take(house)).problem is None


@pytest.mark.usefixtures("swap")
async def test_an_asset_is_kept_once_by_what_it_holds(house: House) -> None:
    made = await add(house, overrides={"mask": "frame"})
    with pytest.raises(InvalidInput, match="has no asset 'frame'"):
        await change(house, effects.publish_effect, made.slug)
    for _ in range(2):
        changed = await put(house, made, "frame")
    asset = changed.assets["frame"]
    assert asset.path == f"effects/{made.id}/{asset.content_hash}"
    assert (asset.media_type, asset.size_bytes) == ("image/png", len(PNG))
    assert await house.store.read(ObjectKey(asset.path), bytes_max=100) == PNG
    published = await change(house, effects.publish_effect, made.slug)
    assert published.assets == changed.assets
    with pytest.raises(InvalidInput, match="has no asset"):
        await change(house, effects.drop_asset, made.slug, "frame")
    with pytest.raises(InvalidInput, match="takes an image"):
        await put(house, made, "frame", b"\x1a\x45\xdf\xa3....webm", "video/webm")
    with pytest.raises(NotFound, match="asset"):
        await change(house, effects.drop_asset, made.slug, "nothing")
    again = await put(house, made, "frame", PNG + b"!")
    assert again.assets["frame"] != asset
    assert await house.store.head(ObjectKey(asset.path)) is not None, "jobs that were made still need it"


@pytest.mark.usefixtures("swap")
async def test_assets_put_at_once_are_all_there(house: House) -> None:
    made = await add(house)
    names = [f"a{number}" for number in range(8)]
    await asyncio.gather(*(put(house, made, name, PNG + name.encode()) for name in names))
    found = (await offer(house)).effect
    assert sorted(found.assets) == names
    assert len({each.path for each in found.assets.values()}) == 8
    left = await change(house, effects.drop_asset, made.slug, "a0")
    assert sorted(left.assets) == names[1:]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PNG, "image/jpeg"),
        (b"", "image/png"),
        (b"<html>", "image/png"),
        (PNG, "text/html"),
        (PNG, ""),
        (PNG, "image/svg+xml"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "video/mp4"),
    ],
)
def test_what_is_not_what_it_says_is_refused(content: bytes, kind: str) -> None:
    with pytest.raises(InvalidInput):
        effects.describe_asset(EffectId(new_id()), content, kind)


@pytest.mark.usefixtures("swap")
async def test_an_asset_has_a_plain_name_and_there_are_not_too_many(house: House) -> None:
    made = await add(house)
    for name in ("", "a/b", "1st", "x" * 101):
        with pytest.raises(InvalidInput, match="name"):
            await put(house, made, name)
    asset = effects.describe_asset(made.id, PNG, "image/png")
    async with house.control_tx() as tx:
        for number in range(50):
            await effects.put_asset(tx, made.slug, f"a{number}", asset)
    await put(house, made, "a0")
    with pytest.raises(InvalidInput, match="at most 50"):
        await put(house, made, "one-more")


@pytest.mark.usefixtures("swap")
async def test_what_is_left_out_of_a_change_stays(house: House) -> None:
    made = await add(house, overrides={"steps": 30}, credits_cost=7, description="d")
    await a_workflow(house, "plain")
    renamed = await change(house, effects.change_effect, made.slug, EffectChange(name="New"))
    assert (renamed.name, renamed.description, renamed.credits_cost, renamed.overrides) == (
        "New",
        "d",
        7,
        {"steps": 30},
    )
    assert renamed.updated_at is not None
    with pytest.raises(InvalidInput, match="no such property"):
        await change(house, effects.change_effect, made.slug, EffectChange(workflow="plain"))
    moved = await change(house, effects.change_effect, made.slug, EffectChange(workflow="plain", overrides={}))
    assert moved.workflow_id != made.workflow_id
    with pytest.raises(InvalidInput, match="credits_cost"):
        await change(house, effects.change_effect, made.slug, EffectChange(credits_cost=-1))
    with pytest.raises(NotFound):
        await change(house, effects.change_effect, "unknown", EffectChange())


@pytest.mark.usefixtures("swap")
async def test_users_see_what_is_published_newest_first(house: House) -> None:
    for slug in ("a", "b", "c", "d"):
        await add(house, slug)
    for slug in ("a", "b", "d"):
        await change(house, effects.publish_effect, slug)
    await change(house, effects.unpublish_effect, "b")
    async with house.control_tx(read_only=True) as tx:
        first = await effects.list_offers(tx, PageRequest(rows=1), published_only=True)
        rest = await effects.list_offers(tx, PageRequest.parse(rows=5, cursor=first.next_cursor), published_only=True)
        every = await effects.list_offers(tx, PageRequest(), published_only=False)
    assert [each.effect.slug for each in first.rows + rest.rows] == ["d", "a"]
    assert rest.next_cursor is None
    assert [each.effect.slug for each in every.rows] == ["d", "c", "b", "a"]


@pytest.mark.usefixtures("swap")
async def test_only_an_unpublished_effect_can_be_deleted(house: House) -> None:
    made = await add(house)
    await change(house, effects.publish_effect, made.slug)
    with pytest.raises(EffectPublished):
        await change(house, effects.delete_effect, made.slug)
    await change(house, effects.unpublish_effect, made.slug)
    await change(house, effects.delete_effect, made.slug)
    for verb in (effects.delete_effect, effects.publish_effect, effects.unpublish_effect):
        with pytest.raises(NotFound):
            await change(house, verb, made.slug)


@pytest.mark.usefixtures("swap")
async def test_what_the_last_job_took_is_the_next_estimate(house: House) -> None:
    made = await add(house)
    async with house.control_tx() as tx:
        await effects.note_timing(tx, made.id, 12.5)
        await effects.note_timing(tx, EffectId(new_id()), 3.0)
        for wrong in (-1.0, float("nan"), float("inf")):
            with pytest.raises(InvalidInput):
                await effects.note_timing(tx, made.id, wrong)
    found = await offer(house)
    assert (found.estimate_s, found.effect.last_processing_time_seconds) == (12.5, 12.5)
