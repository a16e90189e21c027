"""What a server must have to run a graph: model files and node classes."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from comfyfleet.comfy.graph.definitions import ObjectInfo, find_definition
from comfyfleet.comfy.graph.files import MODEL_INPUTS, has_model_suffix, names_model_file
from comfyfleet.comfy.model import Graph

# Names in a list of model files that are no file.
BUILT_IN = frozenset(["pixel_space", "None", "none", ""])


@dataclass(frozen=True, slots=True)
class ModelFile:
    """`folder` is that of ComfyUI's models folder where the input tells it."""

    name: str
    folder: str | None
    node: str
    class_type: str
    input_name: str


def list_models(graph: Graph) -> tuple[ModelFile, ...]:
    """Each file once, where the graph names it first."""
    found: dict[tuple[str | None, str], ModelFile] = {}
    for node_id, node in graph.items():
        for name, value in node["inputs"].items():
            for file in _files(name, value):
                model = ModelFile(file, _folder(name, node["class_type"]), node_id, node["class_type"], name)
                found.setdefault((model.folder, model.name), model)
    return tuple(found.values())


def missing_models(graph: Graph, object_info: ObjectInfo) -> tuple[ModelFile, ...]:
    """Those that the server's own lists of choices do not have. Where it has no list, nothing can be said."""
    missing = []
    for model in list_models(graph):
        definition = find_definition(object_info, model.class_type)
        inputs = definition.inputs if definition else ()
        choices = next((each.choices for each in inputs if each.name == model.input_name), None)
        if choices is not None and model.name not in choices:
            missing.append(model)
    return tuple(missing)


def list_classes(graph: Graph) -> dict[str, int]:
    """Class and how many nodes are of it, by name."""
    counted = Counter(str(node["class_type"]) for node in graph.values())
    return dict(sorted(counted.items()))


def missing_classes(graph: Graph, object_info: ObjectInfo) -> tuple[str, ...]:
    return tuple(each for each in list_classes(graph) if each not in object_info)


def _files(name: str, value: Any) -> Iterator[str]:
    match value:
        case str():
            if names_model_file(name, value) and value not in BUILT_IN and "{{" not in value:
                yield value
        case dict():
            for key, each in value.items():
                yield from _files(key, each)
        case list():
            yield from (each for each in value if isinstance(each, str) and has_model_suffix(each))


def _folder(name: str, class_type: str) -> str | None:
    if class_type == "CLIPVisionLoader":
        return "clip_vision"
    if class_type == "UpscaleModelLoader":
        return "upscale_models"
    return MODEL_INPUTS.get(name)
