"""docs/reference/engine-nodes.md, from the registry."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from comfyfleet.engine.folders import Folders
from comfyfleet.engine.nodes import FAMILIES, nodes_of
from comfyfleet.engine.registry import describe

INTRODUCTION = """# Nodes of the engine

`comfyfleet engine` executes these nodes on the CPU, by ComfyUI's names, with ComfyUI's inputs: a graph made of them
runs on both. Pictures are computed as ComfyUI computes them (the same resampling, blur and blend formulas, the same
numbering of files, the same metadata inside them). Nodes that need a model's weights are not here; `FleetPaint` and
`FleetVary` are our own and make pictures from words without one:

![Twelve pictures by FleetPaint](../pictures/fleet-paint.webp)

The words choose the scene (mountains, lake, sea, dunes, forest, city, aurora, nebula) and the mood (dawn, sunset, noon,
dusk, night, ice, forest, autumn, desert, neon, blossom, storm); the seed decides what they leave open. The same words,
seed, size and steps give the same picture.

Limits: a picture has at most 8192 × 8192 pixels, a batch at most 1 GiB of floats, a side at most 16384 pixels; more is
an execution error. Files are read from and written to the engine's own folders only. An interrupt takes effect between
frames, and batches of nine frames and more report progress frame by frame."""


def page() -> str:
    return "\n".join([INTRODUCTION, *_tables()])


def _tables() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        folders = Folders(Path(folder))
        folders.make()
        for family in FAMILIES:
            yield from ["", f"## {_title(family)}", "", "| node | takes | makes |", "|---|---|---|"]
            for node in nodes_of(family):
                yield _row(describe(node, folders))


def _title(family: ModuleType) -> str:
    return (family.__doc__ or "").strip().splitlines()[0].rstrip(".")


def _row(about: dict[str, Any]) -> str:
    parts = about["input"]
    takes = [f"`{name}`" for name in parts["required"]] + [f"`{name}`?" for name in parts.get("optional", {})]
    makes = [f"`{name}`" for name in about["output_name"]]
    if about["output_node"]:
        makes.append("output")
    return f"| `{about['name']}` | {', '.join(takes)} | {', '.join(makes)} |"
