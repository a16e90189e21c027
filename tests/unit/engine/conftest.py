from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from comfyfleet.engine.folders import Folders
from comfyfleet.engine.node import Context, Made
from comfyfleet.engine.nodes import NODES
from comfyfleet.engine.registry import Registry

RunNode = Callable[..., Made]


@pytest.fixture(scope="session")
def registry() -> Registry:
    return Registry(NODES)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    made = Folders(tmp_path)
    made.make()
    return made


@pytest.fixture
def context(folders: Folders) -> Context:
    return Context(
        folders, node_id="7", graph={"7": {"class_type": "SaveImage"}}, extra_pnginfo={"workflow": {"id": "w"}}
    )


@pytest.fixture
def run_node(registry: Registry, context: Context) -> RunNode:
    """A node by its name, with the defaults of its inputs where none is given."""

    def run(name: str, *, within: Context = context, **inputs: Any) -> Made:
        node = registry[name]
        specs = node.input_specs(within.folders)
        defaults = {
            key: spec[1]["default"]
            for part in ("required", "optional")
            for key, spec in specs.get(part, {}).items()
            if len(spec) > 1 and "default" in spec[1]
        }
        made = node.run(defaults | inputs, within)
        assert len(made.values) == len(node.outputs), "a node makes one value for each output"
        return made

    return run
