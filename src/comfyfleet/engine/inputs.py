"""What a node is given: constants, what the nodes above it made, hidden values; and the run over lists."""

from collections.abc import Callable, Mapping
from typing import Any

from comfyfleet.engine.cache import Cache
from comfyfleet.engine.folders import Folders
from comfyfleet.engine.graphs import is_link
from comfyfleet.engine.node import Context, Node
from comfyfleet.engine.queue import Queued
from comfyfleet.engine.registry import Registry

SHOWN_CHARS_MAX = 2000


def gather_inputs(
    node_id: str, queued: Queued, registry: Registry, folders: Folders, cache: Cache
) -> dict[str, list[Any]]:
    """Each input as a list: most have one value; what a list output made has many."""
    node = registry[queued.graph[node_id]["class_type"]]
    specs = node.input_specs(folders)
    declared = {**specs.get("required", {}), **specs.get("optional", {})}
    given: dict[str, list[Any]] = {}
    for name, value in queued.graph[node_id]["inputs"].items():
        if is_link(value):
            kept = cache.get(value[0])
            if kept is not None:
                given[name] = kept.slots[int(value[1])]
        elif name in declared or _part_of_dynamic(name, declared):
            given[name] = [value]
    return given | _hidden(node_id, node, queued)


def _part_of_dynamic(name: str, declared: Mapping[str, Any]) -> bool:
    """`format.codec` belongs to the declared `format`, whose choice brings inputs of its own."""
    return name.partition(".")[0] in declared


def _hidden(node_id: str, node: Node, queued: Queued) -> dict[str, list[Any]]:
    values = {
        "PROMPT": queued.graph,
        "EXTRA_PNGINFO": queued.extra_data.get("extra_pnginfo"),
        "UNIQUE_ID": node_id,
    }
    if node.newer_schema:  # there they are no arguments
        return {}
    return {name: [values.get(str(kind))] for name, kind in node.hidden.items()}


def run_over_lists(
    node: Node, given: dict[str, list[Any]], context: Context, *, before_each: Callable[[], None]
) -> tuple[tuple[list[Any], ...], dict[str, list[Any]] | None]:
    """One run for each value of the longest list (shorter ones repeat their last), or one for all."""
    if node.is_input_list:
        rounds: list[Mapping[str, Any]] = [given]
    else:
        longest = max((len(values) for values in given.values()), default=1)
        rounds = [
            {name: values[min(place, len(values) - 1)] for name, values in given.items()} for place in range(longest)
        ]
    slots: tuple[list[Any], ...] = tuple([] for _ in node.outputs)
    ui: dict[str, list[Any]] = {}
    for inputs in rounds:
        before_each()
        made = node.run(inputs, context)
        for slot, output, value in zip(slots, node.outputs, made.values, strict=True):
            slot.extend(value) if output.is_list else slot.append(value)
        for key, values in (made.ui or {}).items():
            ui.setdefault(key, []).extend(values)
    return slots, ui or None


def shown(value: Any) -> Any:
    """A value as an error report shows it."""
    if value is None or isinstance(value, int | float | bool | str):
        return value
    return str(value)[:SHOWN_CHARS_MAX]
