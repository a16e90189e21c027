"""`comfyfleet comfy inspect`"""

import asyncio
import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from comfyfleet.cli.output import AsJson, console, print_json
from comfyfleet.cli.tables import print_facts, print_table
from comfyfleet.comfy.graph import (
    GraphHashes,
    GraphInput,
    ModelFile,
    ObjectInfo,
    OutputNode,
    find_problems,
    hash_graph,
    is_interface_format,
    list_classes,
    list_inputs,
    list_models,
    list_outputs,
    load_graph,
    load_object_info,
    missing_classes,
    missing_models,
    read_workflow,
)

SHOWN_CHARS = 60


@dataclass(frozen=True, slots=True)
class Inspection:
    """`missing_*` and `problems` are None where no server was asked."""

    format: str
    nodes: int
    classes: dict[str, int]
    models: tuple[ModelFile, ...]
    inputs: tuple[GraphInput, ...]
    outputs: tuple[OutputNode, ...]
    hashes: GraphHashes
    missing_classes: tuple[str, ...] | None = None
    missing_models: tuple[ModelFile, ...] | None = None
    problems: tuple[str, ...] | None = None


def inspect(
    workflow: Annotated[Path, typer.Argument(help="Workflow of either format, as ComfyUI saves or exports it.")],
    object_info: Annotated[
        str | None,
        typer.Option(help="A server's address, or a file with its GET /object_info: for ranges, and to convert."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a workflow holds: nodes, model files, inputs, outputs, hashes."""
    known = read_object_info(object_info) if object_info is not None else None
    found = inspect_file(workflow, known)
    if as_json:
        print_json(dataclasses.asdict(found))
    else:
        _show(workflow, found)


def read_object_info(source: str) -> dict[str, Any]:
    """From a server, or from a file that holds its answer."""
    if source.startswith(("http://", "https://")):
        return asyncio.run(_ask_server(source))
    return load_object_info(Path(source))


async def _ask_server(url: str) -> dict[str, Any]:
    from comfyfleet.comfy.client import ComfyClient  # an HTTP client loads only where one is used

    async with ComfyClient(url) as client:
        return await client.object_info()


def inspect_file(path: Path, object_info: ObjectInfo | None) -> Inspection:
    workflow = read_workflow(path)
    graph = load_graph(workflow, object_info=object_info)
    found = Inspection(
        format="interface" if is_interface_format(workflow) else "api",
        nodes=len(graph),
        classes=list_classes(graph),
        models=list_models(graph),
        inputs=list_inputs(graph, object_info),
        outputs=list_outputs(graph, object_info),
        hashes=hash_graph(graph),
    )
    if object_info is None:
        return found
    return dataclasses.replace(
        found,
        missing_classes=missing_classes(graph, object_info),
        missing_models=missing_models(graph, object_info),
        problems=tuple(each.message for each in find_problems(graph, object_info=object_info)),
    )


def _show(path: Path, found: Inspection) -> None:
    how = "interface's format, converted" if found.format == "interface" else "API format"
    print_facts(
        {
            "workflow": f"{path.name} ({how})",
            "nodes": found.nodes,
            "content": found.hashes.content,
            "structure": found.hashes.structure,
        }
    )
    lacking = set(found.missing_classes or ())
    _table(
        "Nodes", list(found.classes.items()), {"class": _first, "count": _second, "": _missing_mark(lacking, _first)}
    )
    models = {each.name for each in found.missing_models or ()}
    _table(
        "Model files",
        list(found.models),
        {"file": _file, "folder": _folder, "node": _node_of, "": _missing_mark(models, _file)},
    )
    _table(
        "Inputs",
        list(found.inputs),
        {"name": _name, "type": _type, "where": _where, "default": _default, "range": _range, "label": _label},
    )
    _table("Outputs", list(found.outputs), {"node": _node_of, "title": _title, "": _preview_mark})
    for problem in found.problems or ():
        console.print(f"[yellow]problem[/] {problem}", soft_wrap=True)


def _table(title: str, rows: list[Any], columns: dict[str, Any]) -> None:
    console.print()
    print_table(title, rows, columns)


def _first(row: tuple[str, int]) -> str:
    return row[0]


def _second(row: tuple[str, int]) -> int:
    return row[1]


def _missing_mark(missing: set[str], name_of: Any) -> Any:
    return lambda row: "missing on the server" if name_of(row) in missing else " "


def _file(model: ModelFile) -> str:
    return model.name


def _folder(model: ModelFile) -> str | None:
    return model.folder


def _node_of(each: ModelFile | OutputNode) -> str:
    return f"{each.node} {each.class_type}"


def _title(output: OutputNode) -> str:
    return output.title


def _preview_mark(output: OutputNode) -> str:
    return "preview" if output.is_preview else " "


def _name(each: GraphInput) -> str:
    return each.name


def _type(each: GraphInput) -> str:
    return each.type


def _label(each: GraphInput) -> str:
    return each.label


def _where(each: GraphInput) -> str:
    return f"{{{{{each.placeholder}}}}}" if each.placeholder else f"{each.node}.{each.input_name}"


def _default(each: GraphInput) -> str | None:
    return None if each.default is None else _short(str(each.default))


def _range(each: GraphInput) -> str | None:
    if each.choices is not None:
        return _short(", ".join(map(str, each.choices)))
    return None if each.minimum is None and each.maximum is None else f"{each.minimum} … {each.maximum}"


def _short(text: str) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= SHOWN_CHARS else f"{one_line[: SHOWN_CHARS - 1]}…"
