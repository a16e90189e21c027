"""The converter over ComfyUI's own templates: hundreds of workflows that nobody here has drawn."""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from comfyfleet.comfy.graph import list_classes, list_inputs, list_models, list_outputs, load_graph
from tests.unit.comfy.graph.graphs import object_info
from tools.convert_templates import OBJECT_INFO, convert_all, summary, templates

ROOT = Path(__file__).parents[4]


@cache
def drawn_widgets() -> Mapping[str, Mapping[str, Any]]:
    """By class, the inputs that templates draw as widgets; of a type that takes every value."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for path in templates():
        workflow = json.loads(path.read_bytes())
        levels = [workflow, *workflow.get("definitions", {}).get("subgraphs", [])]
        for node in (node for level in levels for node in level.get("nodes", [])):
            names = (each["name"] for each in node.get("inputs") or [] if each.get("widget"))
            found[node["type"]] |= {name: ["COLOR", {}] for name in names}
    return found


class Everything(Mapping[str, Any]):
    """A server that has every class, and knows of those not recorded what the templates draw."""

    def __getitem__(self, name: str) -> Any:
        drawn = {"input": {"required": drawn_widgets().get(name, {})}, "output": [], "display_name": name}
        return object_info().get(name) or drawn

    def __iter__(self) -> Any:
        return iter(object_info())

    def __len__(self) -> int:
        return len(object_info())


def test_every_template_converts_or_names_what_stops_it() -> None:
    found = list(convert_all(templates(), object_info()))
    facts = summary(found)
    assert facts["workflows"] >= 640
    assert facts["convert"] >= 6
    assert facts["convert"] + facts["stopped_by_missing_classes"] + facts["refused"] == facts["workflows"]
    assert not set(facts["missing_classes"]) & set(object_info())


def test_on_a_server_with_every_class_only_newer_nodes_are_refused() -> None:
    """300 subgraphs, nested ones, bypassed nodes, reroutes, primitives: all hold together once flattened."""
    refused = [each for each in convert_all(templates(), Everything()) if not each.converts]
    assert all("CreateVideo" in str(each.problem) or "bit_depth" in str(each.problem) for each in refused)
    assert len(refused) < 20


def test_a_converted_template_can_be_read_like_any_graph() -> None:
    path = next(path for path in templates() if path.stem == "sdxl_refiner_prompt_example")
    graph = load_graph(path, object_info=object_info())
    assert list_classes(graph)["KSamplerAdvanced"] == 2
    assert {each.folder for each in list_models(graph)} == {"checkpoints"}
    assert [each.class_type for each in list_outputs(graph, object_info())] == ["SaveImage"]
    assert {"prompt", "negative_prompt", "noise_seed"} <= {each.name for each in list_inputs(graph, object_info())}


def test_the_tool_reports_as_json() -> None:
    command = [
        sys.executable,
        "tools/convert_templates.py",
        "--json",
        "--first",
        "20",
        "--object-info",
        str(OBJECT_INFO),
    ]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    report = json.loads(ran.stdout)
    assert len(report["conversions"]) == report["workflows"] == 20
    stopped = next(each for each in report["conversions"] if each["missing"])
    assert stopped["problem"] is None
