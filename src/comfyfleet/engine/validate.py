"""What is wrong with a prompt, before anything runs: ComfyUI's own errors, word for word.

The outputs that are valid are kept: a prompt is refused only when none is.
"""

import contextlib
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from comfyfleet.engine.folders import Folders
from comfyfleet.engine.graphs import Graph, upstream_first
from comfyfleet.engine.node import Node
from comfyfleet.engine.registry import Registry

Problem: TypeAlias = dict[str, Any]

CHOICES_SHOWN_MAX = 20
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {"INT": int, "FLOAT": float, "STRING": str, "BOOLEAN": bool}


@dataclass(frozen=True, slots=True)
class Validated:
    """`error` is None where at least one output can run."""

    error: Problem | None
    outputs: tuple[str, ...] = ()
    node_errors: dict[str, Any] = field(default_factory=dict)


def validate(
    graph: Graph, registry: Registry, folders: Folders, *, targets: Collection[str] | None = None
) -> Validated:
    unknown = _unknown_class(graph, registry)
    if unknown is not None:
        return Validated(unknown)
    wanted = [
        node_id
        for node_id, node in graph.items()
        if registry[node["class_type"]].output_node and (targets is None or node_id in targets)
    ]
    if not wanted:
        return Validated(problem("prompt_no_outputs", "Prompt has no outputs", ""))
    return _Validation(graph, registry, folders).judge(wanted)


def problem(kind: str, message: str, details: str, **extra: Any) -> Problem:
    return {"type": kind, "message": message, "details": details, "extra_info": extra}


def type_name(error: BaseException) -> str:
    module, name = type(error).__module__, type(error).__qualname__
    return name if module == "builtins" else f"{module}.{name}"


def _unknown_class(graph: Graph, registry: Registry) -> Problem | None:
    for node_id, node in graph.items():
        class_type = node.get("class_type")  # a node that is no object is trouble, on the real server too
        if class_type is None:
            title = None
            message = (
                f"Node 'ID #{node_id}' has no class_type. The workflow may be corrupted or a custom node is missing."
            )
        elif class_type not in registry:
            title = node.get("_meta", {}).get("title", class_type)
            message = f"Node '{title}' not found. The custom node may not be installed."
        else:
            continue
        facts = {"node_id": node_id, "class_type": class_type, "node_title": title}
        return problem("missing_node_type", message, f"Node ID '#{node_id}'", **facts)
    return None


class _Validation:
    def __init__(self, graph: Graph, registry: Registry, folders: Folders) -> None:
        self._graph = graph
        self._registry = registry
        self._folders = folders
        # Node id → its own problems, None where it and all above it are fine. A node that only suffers from one
        # above it has an empty list.
        self._judged: dict[str, list[Problem] | None] = {}
        self._path: list[str] = []

    def judge(self, wanted: list[str]) -> Validated:
        good: list[str] = []
        said: list[str] = []
        node_errors: dict[str, Any] = {}
        for output in wanted:
            problems = self._judge_output(output)
            if problems is None:
                good.append(output)
                continue
            said += [f"{each['message']}: {each['details']}" for each in problems]
            self._blame(node_errors, output)
        if good:
            return Validated(None, tuple(good), node_errors)
        words = ("prompt_outputs_failed_validation", "Prompt outputs failed validation")
        return Validated(problem(*words, "\n".join(said)), (), node_errors)

    def _blame(self, node_errors: dict[str, Any], output: str) -> None:
        for node_id, problems in self._judged.items():
            if problems:
                class_type = self._graph[node_id]["class_type"]
                fresh = {"errors": problems, "dependent_outputs": [], "class_type": class_type}
                node_errors.setdefault(node_id, fresh)["dependent_outputs"].append(output)

    def _judge_output(self, output: str) -> list[Problem] | None:
        self._judge_upstream(output)
        try:
            return self._judge_node(output)
        except Exception as error:
            facts: dict[str, Any] = {
                "exception_type": type_name(error),
                "traceback": traceback.format_tb(error.__traceback__),
            }
            words = ("exception_during_validation", "Exception when validating node")
            self._judged[output] = [problem(*words, str(error), **facts)]
            return self._judged[output]
        finally:
            self._path.clear()

    def _judge_upstream(self, output: str) -> None:
        """From the top down, so that deep graphs need no deep recursion. What fails here is judged again from below,
        where the link that leads to it is known."""
        for node_id in upstream_first(self._graph, output, set(self._judged))[:-1]:
            with contextlib.suppress(Exception):
                self._judge_node(node_id)
            self._path.clear()

    def _judge_node(self, node_id: str) -> list[Problem] | None:
        if node_id in self._judged:
            return self._judged[node_id]
        if node_id in self._path:
            return self._judge_cycle(self._path[self._path.index(node_id) :])
        self._path.append(node_id)
        given = self._graph[node_id]["inputs"]
        node = self._registry[self._graph[node_id]["class_type"]]
        checks = _Inputs(self, node, given)
        problems = checks.problems(node.input_specs(self._folders)) + self._custom(node, given)
        if node_id not in self._judged:
            self._judged[node_id] = problems if problems or checks.suffers else None
        self._path.pop()
        return self._judged[node_id]

    def _judge_cycle(self, cycle: list[str]) -> list[Problem]:
        start = cycle.index(min(cycle, key=list(self._graph).index))
        cycle = cycle[start:] + cycle[:start]
        named = [f"{node_id} ({self._graph[node_id]['class_type']})" for node_id in (*cycle, cycle[0])]
        for node_id in cycle:
            facts: dict[str, Any] = {"node_id": node_id, "cycle_nodes": cycle}
            words = ("dependency_cycle", "Dependency cycle detected")
            self._judged[node_id] = [problem(*words, " -> ".join(named), **facts)]
        return []

    def _custom(self, node: Node, given: dict[str, Any]) -> list[Problem]:
        judged = {name: value for name, value in given.items() if name in node.judged and not isinstance(value, list)}
        if not judged:
            return []
        why = node.problem(judged, self._folders)
        words = ("custom_validation_failed", "Custom validation failed for node")
        return [] if why is None else [problem(*words, f"{name} - {why}", input_name=name) for name in judged]

    def output_types(self, node_id: str) -> tuple[str, ...]:
        node = self._registry[self._graph[node_id]["class_type"]]
        return tuple(output.type for output in node.outputs)

    def judge_source(self, link: list[Any], name: str, config: list[Any]) -> bool:
        """Whether the node that a link leads to is fine."""
        depth = len(self._path)
        try:
            return self._judge_node(link[0]) is None
        except Exception as error:
            del self._path[depth:]
            facts: dict[str, Any] = {
                "input_name": name,
                "input_config": config,
                "exception_message": str(error),
                "exception_type": type_name(error),
                "traceback": traceback.format_tb(error.__traceback__),
                "linked_node": link,
            }
            words = ("exception_during_inner_validation", "Exception when validating inner node")
            self._judged[link[0]] = [problem(*words, str(error), **facts)]
            return False


class _Inputs:
    """The inputs of one node, one after the other. Values are converted in place, as ComfyUI does."""

    def __init__(self, validation: _Validation, node: Node, given: dict[str, Any]) -> None:
        self._validation = validation
        self._node = node
        self._given = given
        self.suffers = False

    def problems(self, specs: dict[str, dict[str, Any]]) -> list[Problem]:
        found = []
        for part in ("required", "optional"):
            for name, spec in specs.get(part, {}).items():
                if name in self._given:
                    found.append(self._check(name, spec))
                elif part == "required":
                    words = ("required_input_missing", "Required input is missing")
                    found.append(problem(*words, name, input_name=name))
        return [each for each in found if each is not None]

    def _check(self, name: str, spec: Any) -> Problem | None:
        config = [spec[0], spec[1] if len(spec) > 1 else {}]
        value = self._given[name]
        return self._check_link(name, config, value) if isinstance(value, list) else self._check_value(name, config)

    def _check_link(self, name: str, config: list[Any], link: list[Any]) -> Problem | None:
        facts: dict[str, Any] = {"input_name": name, "input_config": config}
        if len(link) != 2:
            words = ("bad_linked_input", "Bad linked input, must be a length-2 list of [node_id, slot_index]")
            return problem(*words, name, **facts, received_value=link)
        received = self._validation.output_types(link[0])[link[1]]
        if not _fits(received, config[0]):
            details = f"{name}, received_type({received}) mismatch input_type({config[0]})"
            words = ("return_type_mismatch", "Return type mismatch between linked nodes")
            return problem(*words, details, **facts, received_type=received, linked_node=link)
        if not self._validation.judge_source(link, name, config):
            self.suffers = True
        return None

    def _check_value(self, name: str, config: list[Any]) -> Problem | None:
        value = self._given[name]
        if isinstance(value, dict) and "__value__" in value:
            value = self._given[name] = value["__value__"]
        convert = _CONVERSIONS.get(config[0]) if isinstance(config[0], str) else None
        if convert is not None:
            try:
                value = self._given[name] = convert(value)
            except Exception as error:
                facts = {"input_name": name, "input_config": config, "received_value": value}
                message = f"Failed to convert an input value to a {config[0]} value"
                details = f"{name}, {value}, {error}"
                return problem("invalid_input_type", message, details, **facts, exception_message=str(error))
        return None if name in self._node.judged else _out_of_bounds(name, config, value)


def _out_of_bounds(name: str, config: list[Any], value: Any) -> Problem | None:
    kind, extra = config
    facts = {"input_name": name, "input_config": config, "received_value": value}
    if "min" in extra and value < extra["min"]:
        return problem("value_smaller_than_min", f"Value {value} smaller than min of {extra['min']}", name, **facts)
    if "max" in extra and value > extra["max"]:
        return problem("value_bigger_than_max", f"Value {value} bigger than max of {extra['max']}", name, **facts)
    choices = extra.get("options", []) if kind == "COMBO" else kind
    if not isinstance(choices, list) or value in choices:
        return None
    shown = str(choices)
    if len(choices) > CHOICES_SHOWN_MAX:
        shown = f"(list of length {len(choices)})"
        facts["input_config"] = None
    return problem("value_not_in_list", "Value not in list", f"{name}: {value!r} not in {shown}", **facts)


def _fits(received: Any, wanted: Any) -> bool:
    if isinstance(wanted, list) or wanted == "COMBO":
        return received in ("COMBO", "*", "STRING") or received == wanted
    if "*" in (received, wanted):
        return True
    return bool(set(str(received).split(",")) & set(str(wanted).split(",")))
