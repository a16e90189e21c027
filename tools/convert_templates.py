"""Converts every workflow of ComfyUI's template package, and says what stops those that do not convert.

The templates are a moving target and a server has the nodes that it has: no rate is expected. What is expected is that
each ends in a graph that holds together, or in a refusal that names the node class or the value at fault.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from comfyfleet.comfy.errors import InvalidGraph, MissingNodeClass
from comfyfleet.comfy.graph import (
    ObjectInfo,
    check_graph,
    convert_workflow,
    is_interface_format,
    load_object_info,
    read_workflow,
)

ROOT = Path(__file__).parent.parent
OBJECT_INFO = ROOT / "tests" / "recordings" / "v0.33.0" / "object_info_core_nodes.json"


@dataclass(frozen=True, slots=True)
class Conversion:
    """`missing` and `problem` are both empty where it converts."""

    workflow: str
    nodes: int
    missing: tuple[str, ...] = ()
    problem: str | None = None

    @property
    def converts(self) -> bool:
        return not self.missing and self.problem is None


def templates() -> list[Path]:
    """The workflows; the package's lists of them are no workflows."""
    folder = Path(str(files("comfyui_workflow_templates_json"))) / "templates"
    return [path for path in sorted(folder.glob("*.json")) if not path.name.startswith(("index", "fuse_options"))]


def convert_all(paths: Sequence[Path], object_info: ObjectInfo) -> Iterator[Conversion]:
    for path in paths:
        workflow = read_workflow(path)
        if is_interface_format(workflow):
            yield _convert(path.stem, workflow, object_info)


def _convert(name: str, workflow: dict[str, Any], object_info: ObjectInfo) -> Conversion:
    try:
        graph = convert_workflow(workflow, object_info)
        check_graph(graph)
    except MissingNodeClass as problem:
        return Conversion(name, len(workflow["nodes"]), missing=tuple(sorted(problem.classes)))
    except InvalidGraph as problem:
        return Conversion(name, len(workflow["nodes"]), problem=problem.message)
    return Conversion(name, len(graph))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--object-info", type=Path, default=OBJECT_INFO, help="a server's GET /object_info")
    parser.add_argument("--all", action="store_true", help="a line a workflow")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    given = parser.parse_args()
    found = list(convert_all(templates(), load_object_info(given.object_info)))
    if given.json:
        print(json.dumps({**summary(found), "conversions": [asdict(each) for each in found]}, indent=1))
    else:
        show(found, every=given.all)


def summary(found: Sequence[Conversion]) -> dict[str, Any]:
    stopped = Counter(name for each in found for name in each.missing)
    return {
        "workflows": len(found),
        "convert": sum(each.converts for each in found),
        "stopped_by_missing_classes": sum(bool(each.missing) for each in found),
        "refused": sum(each.problem is not None for each in found),
        "missing_classes": dict(stopped.most_common()),
    }


def show(found: Sequence[Conversion], *, every: bool) -> None:
    console = Console(highlight=False)
    facts = summary(found)
    console.print(f"{facts['convert']} of {facts['workflows']} workflows convert", end=", ")
    console.print(f"{facts['stopped_by_missing_classes']} lack a node class, {facts['refused']} cannot be exact.")
    classes = Table("missing class", "stops", "alone", title_justify="left", show_edge=False)
    alone = Counter(each.missing[0] for each in found if len(each.missing) == 1)
    for name, count in list(facts["missing_classes"].items())[: None if every else 25]:
        classes.add_row(name, str(count), str(alone[name]))
    console.print(classes)
    lines = Table("workflow", "nodes", "result", title_justify="left", show_edge=False)
    for each in found:
        if every or not each.missing:
            lines.add_row(each.workflow, str(each.nodes), _result(each))
    console.print(lines)


def _result(conversion: Conversion) -> str:
    if conversion.missing:
        return f"lacks {', '.join(conversion.missing)}"
    return conversion.problem or "converts"


if __name__ == "__main__":
    main()
