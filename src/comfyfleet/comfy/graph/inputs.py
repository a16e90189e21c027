"""What of a graph its users could set: candidates for the properties of a workflow, with types, names and ranges."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from comfyfleet.comfy.graph.bind import PLACEHOLDER
from comfyfleet.comfy.graph.check import is_link, links_of
from comfyfleet.comfy.graph.definitions import InputDefinition, NodeDefinition, ObjectInfo, find_definition
from comfyfleet.comfy.graph.files import names_model_file
from comfyfleet.comfy.graph.outputs import title_of
from comfyfleet.comfy.model import Graph


class InputType(StrEnum):
    TEXT = "text"
    IMAGE = "image"
    VIDEO = "video"
    SEED = "seed"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"


@dataclass(frozen=True, slots=True)
class GraphInput:
    """`default` is what the graph holds now; None at a placeholder that is the whole value."""

    name: str
    label: str
    type: InputType
    node: str
    input_name: str
    class_type: str
    default: str | int | float | bool | None
    minimum: int | float | None = None
    maximum: int | float | None = None
    step: int | float | None = None
    choices: tuple[str | int | float | bool, ...] | None = None
    multiline: bool = False
    placeholder: str | None = None  # bind by this name; without one by (node, input_name)


TEXT_NAMES = frozenset(
    ["text", "prompt", "positive_prompt", "negative_prompt", "text_g", "text_l", "string", "caption"]
)
NOT_FOR_USERS = frozenset(["filename_prefix"])
PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".avif")
FILMS = (".mp4", ".webm", ".mov", ".mkv", ".avi", ".m4v")
MEDIA_NAMES = frozenset(["image", "images", "mask", "video", "file"])
TYPES = {"INT": InputType.INTEGER, "FLOAT": InputType.NUMBER, "BOOLEAN": InputType.BOOLEAN, "STRING": InputType.TEXT}
ORDER = list(InputType)


def list_inputs(graph: Graph, object_info: ObjectInfo | None = None) -> tuple[GraphInput, ...]:
    """Prompts, pictures, films and seeds first. Names are unique and stay the same for the same graph.

    With `object_info` every input that is not linked has its type, range and choices. Without, what its name and its
    value tell; a text that might be a sampler's name is then left out.
    """
    found = [candidate for node_id in graph for candidate in _of_node(graph, node_id, object_info)]
    ordered = sorted(found, key=lambda each: (each.placeholder is None, ORDER.index(each.type)))
    return tuple(_uniquely_named(_named(graph, ordered)))


def _of_node(graph: Graph, node_id: str, object_info: ObjectInfo | None) -> Iterator[GraphInput]:
    node = graph[node_id]
    definition = find_definition(object_info, node["class_type"]) if object_info is not None else None
    for name, value in node["inputs"].items():
        if is_link(value) or isinstance(value, (list, dict)) or value is None or name in NOT_FOR_USERS:
            continue
        if isinstance(value, str) and names_model_file(name, value) and not PLACEHOLDER.search(value):
            continue
        candidate = _candidate(node_id, node, name, value, definition)
        if candidate is not None:
            yield candidate


def _candidate(node_id: str, node: Any, name: str, value: Any, definition: NodeDefinition | None) -> GraphInput | None:
    known = _definition_of(name, definition)
    whole = PLACEHOLDER.fullmatch(value) if isinstance(value, str) else None
    kind = _known_type(known) if known else _guessed_type(node["class_type"], name, value)
    inside = PLACEHOLDER.search(value) if isinstance(value, str) else None
    if kind is None and inside:
        kind = InputType.TEXT
    if kind is None:
        return None
    bare = GraphInput(
        name=whole[1] if whole else name,
        label=title_of(node),
        type=kind,
        node=node_id,
        input_name=name,
        class_type=str(node["class_type"]),
        default=None if whole else value,
        multiline=kind is InputType.TEXT and (name in TEXT_NAMES if known is None else _is_on(known, "multiline")),
        placeholder=inside[1] if inside else None,
    )
    return _with_range(bare, known) if known else bare


def _definition_of(name: str, definition: NodeDefinition | None) -> InputDefinition | None:
    return next((each for each in definition.inputs if each.name == name), None) if definition else None


def _known_type(known: InputDefinition) -> InputType | None:
    if known.type == "COMBO":
        if _is_on(known, "image_upload"):
            return InputType.IMAGE
        if _is_on(known, "video_upload"):
            return InputType.VIDEO
        return None if _is_on(known, "audio_upload") else InputType.CHOICE
    return InputType.SEED if known.is_seed and "seed" in known.name else TYPES.get(known.type)


def _guessed_type(class_type: str, name: str, value: Any) -> InputType | None:
    match value:
        case bool():
            return InputType.BOOLEAN
        case int():
            return InputType.SEED if "seed" in name else InputType.INTEGER
        case float():
            return InputType.NUMBER
        case str():
            return _guessed_text(class_type, name, value)
        case _:
            return None


def _guessed_text(class_type: str, name: str, value: str) -> InputType | None:
    if name in MEDIA_NAMES:
        plain = value.lower().removesuffix(" [output]").removesuffix(" [temp]").removesuffix(" [input]")
        if class_type.startswith("LoadImage") or plain.endswith(PICTURES):
            return InputType.IMAGE
        return InputType.VIDEO if "Video" in class_type or plain.endswith(FILMS) else None
    is_prose = "\n" in value or value.count(" ") > 2
    return InputType.TEXT if name in TEXT_NAMES or class_type.startswith("PrimitiveString") or is_prose else None


def _is_on(known: InputDefinition, option: str) -> bool:
    return known.options.get(option) is True


def _with_range(bare: GraphInput, known: InputDefinition) -> GraphInput:
    if bare.type is InputType.CHOICE:
        choices = tuple(each for each in known.choices or () if isinstance(each, (str, int, float)))
        return replace(bare, choices=choices)
    if bare.type in (InputType.INTEGER, InputType.NUMBER, InputType.SEED):
        low, high, step = (_number(known.options.get(option)) for option in ("min", "max", "step"))
        return replace(bare, minimum=low, maximum=high, step=step)
    return bare


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


# ── names ───────────────────────────────────────────────────────────────────────────────────


def _named(graph: Graph, candidates: list[GraphInput]) -> Iterator[GraphInput]:
    roles = _prompt_roles(graph)
    siblings: dict[str, int] = {}
    for each in candidates:
        siblings[each.node] = siblings.get(each.node, 0) + 1
    for each in candidates:
        words = each.input_name.replace("_", " ").replace(".", " ")
        is_titled = each.label not in (each.class_type, "") and _slug(each.label) != _slug(each.class_type)
        label = each.label if siblings[each.node] == 1 and is_titled else f"{each.label}: {words}"
        if each.placeholder is not None:
            yield replace(each, name=each.placeholder, label=each.placeholder.replace("_", " "))
        elif each.type is InputType.TEXT and each.node in roles:
            yield replace(each, name=roles[each.node], label=label)
        else:
            yield replace(each, name=_slug(each.input_name) or "value", label=label)


def _uniquely_named(candidates: Iterator[GraphInput]) -> Iterator[GraphInput]:
    seen: dict[str, int] = {}
    for each in candidates:
        seen[each.name] = seen.get(each.name, 0) + 1
        # A placeholder may stand in several places: one value, one name.
        if each.placeholder is not None:
            if seen[each.name] == 1:
                yield each
        else:
            yield each if seen[each.name] == 1 else replace(each, name=f"{each.name}_{seen[each.name]}")


def _prompt_roles(graph: Graph) -> dict[str, str]:
    """Texts that lead to the positive or the negative side of a sampler."""
    roles: dict[str, str] = {}
    for side, role in (("negative", "negative_prompt"), ("positive", "prompt")):
        starts = [origin for node in graph.values() for name, origin, _ in links_of(node) if name == side]
        waiting, seen = list(starts), set(starts)
        while waiting:
            node_id = waiting.pop()
            roles[node_id] = role
            # Through a node that has both sides the way is no longer clear.
            inward = [(name, origin) for name, origin, _ in links_of(graph.get(node_id, {"inputs": {}}))]
            both = {"positive", "negative"} <= {name for name, _ in inward}
            fresh = {origin for name, origin in inward if not both and origin not in seen}
            waiting += fresh
            seen |= fresh
    return roles


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")
