"""Which of the demo's effects a server gets, and what is said of the others."""

import json
from typing import Any

import pytest

from comfyfleet.client.model import Effect
from comfyfleet.comfy.graph import bind_values
from comfyfleet.demo.catalogue import CATALOGUE, EVERY_EFFECT, STOCK_PICTURES
from comfyfleet.demo.choose import choose_effects, missing_classes
from comfyfleet.demo.plan import NO_SAMPLES, plan_of

OWN_NODES = ("FleetPaint", "FleetVary")
CLASSES = {name for each in EVERY_EFFECT for name in missing_classes(each, {})}


def a_server(*, checkpoints: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> dict[str, Any]:
    loader = {"required": {"ckpt_name": [list(checkpoints), {}]}}
    return {
        name: {"input": loader if name == "CheckpointLoaderSimple" else {"required": {}}}
        for name in CLASSES
        if name not in without
    }


def slugs(found: Any) -> list[str]:
    return [each.slug for each in found.effects]


def test_the_built_in_engine_gets_its_own_five() -> None:
    found = choose_effects(a_server())
    assert (found.effects, found.left_out) == (CATALOGUE, ())


def test_a_stock_server_gets_five_and_says_why_not_the_others() -> None:
    found = choose_effects(a_server(checkpoints=("sd.safetensors",), without=OWN_NODES))
    assert slugs(found) == ["dream", "glow", "poster", "pencil", "mosaic"]
    assert json.loads(found.effects[0].graph())["model"]["inputs"]["ckpt_name"] == "sd.safetensors"
    reasons = {each.effect: each.reason for each in found.left_out}
    assert reasons["paint"] == "needs nodes of the built-in engine: FleetPaint"
    assert list(reasons) == ["paint", "repaint", "painted-film", "pixel-film"]


def test_without_a_checkpoint_all_five_work_on_pictures() -> None:
    found = choose_effects(a_server(without=OWN_NODES))
    assert found.effects == STOCK_PICTURES
    assert "needs a checkpoint" in next(each.reason for each in found.left_out if each.effect == "dream")


def test_a_refiner_is_no_checkpoint_for_words_and_several_are_a_choice() -> None:
    one = choose_effects(a_server(checkpoints=("sd_xl_refiner.safetensors",), without=OWN_NODES))
    assert "dream" not in slugs(one)
    two = choose_effects(a_server(checkpoints=("a.safetensors", "b.safetensors"), without=OWN_NODES))
    choice = next(each for each in two.effects[0].properties if each.name == "checkpoint")
    assert (choice.default, choice.choices) == ("a.safetensors", ("a.safetensors", "b.safetensors"))


def test_without_a_gpu_the_picture_of_words_is_small() -> None:
    found = choose_effects(a_server(checkpoints=("a.safetensors",), without=OWN_NODES), has_gpu=False)
    defaults = {each.name: each.default for each in found.effects[0].properties}
    assert (defaults["width"], defaults["height"], defaults["steps"]) == (256, 256, 4)


def test_a_server_that_lacks_stock_nodes_gets_fewer_and_is_told_which() -> None:
    found = choose_effects(a_server(without=(*OWN_NODES, "ImageQuantize")))
    assert slugs(found) == ["glow", "pencil", "mosaic", "negative"]
    reasons = {each.effect: each.reason for each in found.left_out}
    assert reasons["poster"] == "this ComfyUI lacks the nodes ImageQuantize"


@pytest.mark.parametrize("effect", EVERY_EFFECT, ids=lambda each: each.slug)
def test_every_property_has_its_place_in_the_graph(effect: Any) -> None:
    graph = json.loads(effect.graph())
    places = {(str(each.node), str(each.input_name)) for each in effect.properties}
    assert all(name in graph[node]["inputs"] for node, name in places)
    bind_values(graph, {}, effect.shown)


def offered(*names: str, because: str | None = None) -> dict[str, Effect]:
    return {name: Effect(name, name, name, unavailable_because=because) for name in names}


def test_the_demo_plays_what_is_offered_and_says_what_it_leaves_out() -> None:
    plan = plan_of(EVERY_EFFECT, offered("glow", "poster", "pencil", "mosaic", "negative"), can_draw=True)
    assert {each.slug for each in plan.effects} == {"glow", "poster", "pencil", "mosaic", "negative"}
    left_out = {each.effect: each.reason for each in plan.left_out}
    assert set(left_out) == {"paint", "repaint", "painted-film", "pixel-film", "dream"}
    assert left_out["dream"].startswith("needs a checkpoint")
    whole = plan_of(EVERY_EFFECT, offered(*(each.slug for each in CATALOGUE)), can_draw=True)
    assert (whole.effects, whole.left_out) == (CATALOGUE, ())


def test_what_cannot_run_now_and_what_has_no_sample_is_left_out_with_its_reason() -> None:
    away = plan_of(EVERY_EFFECT, offered("glow", because="no worker that can run it is connected"), can_draw=True)
    assert {each.effect: each.reason for each in away.left_out}["glow"] == "no worker that can run it is connected"
    plain = plan_of(EVERY_EFFECT, offered("dream", "glow"), can_draw=False)
    assert [each.slug for each in plain.effects] == ["dream"]
    assert {each.effect: each.reason for each in plain.left_out}["glow"] == NO_SAMPLES


def test_where_nothing_is_offered_the_demo_says_what_to_install() -> None:
    plan = plan_of(EVERY_EFFECT, {}, can_draw=False)
    assert plan.effects == ()
    assert "pip install 'comfyfleet[engine]'" in plan.reasons
    assert "--comfyui URL" in plan.reasons


def test_an_effect_that_was_asked_for_by_name_is_always_answered() -> None:
    negative = [each for each in EVERY_EFFECT if each.slug == "negative"]
    plan = plan_of(negative, offered("glow"), can_draw=True)
    assert [(each.effect, each.reason) for each in plan.left_out] == [("negative", "not offered here")]
