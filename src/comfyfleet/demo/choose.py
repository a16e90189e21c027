"""Which of the demo's effects a server can run, by what it says of its nodes. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from comfyfleet.comfy.graph import ObjectInfo, find_definition
from comfyfleet.demo.catalogue import CATALOGUE, DREAM, PIXEL_FILM, STOCK_PICTURES, DemoEffect
from comfyfleet.workflows.properties import Property, PropertyType

EFFECTS = 5
LOADER = "CheckpointLoaderSimple"
CHECKPOINT = ("model", "ckpt_name")
CHECKPOINTS_MAX = 50
SMALL: dict[str, int] = {"width": 256, "height": 256, "steps": 4}
# Checkpoints that make no picture of words by themselves.
NO_CHECKPOINT = "needs a checkpoint: this ComfyUI has none in models/checkpoints"
NO_FILMS = "films are shown on the built-in engine only: versions of ComfyUI save them in different ways"
# The built-in engine's own nodes are called so.
OWN = "Fleet"
OTHER_KINDS = ("refiner", "inpaint", "svd", "video", "audio", "upscale", "vae", "unclip")


@dataclass(frozen=True, slots=True)
class LeftOut:
    effect: str
    reason: str


@dataclass(frozen=True, slots=True)
class Choice:
    effects: tuple[DemoEffect, ...]
    left_out: tuple[LeftOut, ...] = ()


def choose_effects(object_info: ObjectInfo, *, has_gpu: bool = True) -> Choice:
    """The built-in engine's own five where it has their nodes; else five of stock nodes: one from words where there is
    a checkpoint, the others from pictures. Without a GPU that one is small by default: it takes minutes otherwise."""
    missing = {each.slug: missing_classes(each, object_info) for each in (*CATALOGUE, DREAM, *STOCK_PICTURES)}
    if not any(missing[each.slug] for each in CATALOGUE):
        return Choice(CATALOGUE)
    dream, no_dream = _dream(object_info, missing[DREAM.slug], has_gpu=has_gpu)
    able = [*dream, *(each for each in STOCK_PICTURES if not missing[each.slug])]
    chosen = tuple(able[:EFFECTS])
    slugs = {each.slug for each in chosen}
    left_out = [
        *(LeftOut(each.slug, _why(missing[each.slug])) for each in CATALOGUE if each.slug not in slugs),
        *no_dream,
        *(LeftOut(each.slug, _why(missing[each.slug])) for each in STOCK_PICTURES if missing[each.slug]),
    ]
    return Choice(chosen, tuple({each.effect: each for each in left_out}.values()))


def why_not_offered(effect: DemoEffect) -> str:
    """For one who sees the gallery alone."""
    if effect.slug == DREAM.slug:
        return NO_CHECKPOINT
    if effect.slug == PIXEL_FILM.slug:
        return NO_FILMS
    own = [each for each in missing_classes(effect, {}) if each.startswith(OWN)]
    return _why(own) if own else "not offered here"


def missing_classes(effect: DemoEffect, object_info: ObjectInfo) -> list[str]:
    return sorted({node["class_type"] for node in json.loads(effect.graph()).values()} - object_info.keys())


def _why(missing: Sequence[str]) -> str:
    if not missing:
        return NO_FILMS
    own = [each for each in missing if each.startswith(OWN)]
    if own:
        return f"needs nodes of the built-in engine: {', '.join(own)}"
    return f"this ComfyUI lacks the nodes {', '.join(missing)}"


def _dream(object_info: ObjectInfo, missing: Sequence[str], *, has_gpu: bool) -> tuple[list[DemoEffect], list[LeftOut]]:
    if missing:
        return [], [LeftOut(DREAM.slug, _why(missing))]
    checkpoints = checkpoints_of(object_info)
    if not checkpoints:
        return [], [LeftOut(DREAM.slug, NO_CHECKPOINT)]
    choice = Property(
        "checkpoint",
        PropertyType.CHOICE,
        label="Checkpoint",
        default=checkpoints[0],
        choices=tuple(checkpoints[:CHECKPOINTS_MAX]),
        node=CHECKPOINT[0],
        input_name=CHECKPOINT[1],
    )
    properties = DREAM.properties if has_gpu else tuple(_small(each) for each in DREAM.properties)
    if len(checkpoints) > 1:
        properties = (*properties, choice)
    return [replace(DREAM, properties=properties, set={CHECKPOINT: checkpoints[0]})], []


def _small(prop: Property) -> Property:
    return replace(prop, default=SMALL[prop.name]) if prop.name in SMALL else prop


def checkpoints_of(object_info: ObjectInfo) -> list[str]:
    """Those that are likely to make a picture of words."""
    definition = find_definition(object_info, LOADER)
    offered = [each.choices or () for each in definition.inputs if each.name == CHECKPOINT[1]] if definition else []
    names = [str(name) for choices in offered for name in choices]
    return [name for name in names if not any(kind in name.lower() for kind in OTHER_KINDS)]
