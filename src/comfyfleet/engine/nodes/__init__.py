"""The nodes of the engine, by ComfyUI's names: one file a family, FAMILIES in the order of the reference page."""

from collections.abc import Iterator
from inspect import isabstract
from types import ModuleType

from comfyfleet.engine.node import Node
from comfyfleet.engine.nodes import (
    audio,
    batches,
    effects,
    filters,
    images,
    latents,
    loading,
    masks,
    primitives,
    save_video,
    saving,
    sleep,
    text,
    video,
)

FAMILIES: tuple[ModuleType, ...] = (
    *(
        loading,
        images,
        filters,
        batches,
        masks,
        saving,
        video,
        save_video,
        audio,
        latents,
        primitives,
        text,
        effects,
        sleep,
    ),
)


def nodes_of(family: ModuleType) -> Iterator[Node]:
    """The node classes written in a module, in order; those without a name for people only share code."""
    for kind in vars(family).values():
        written_here = isinstance(kind, type) and issubclass(kind, Node) and kind.__module__ == family.__name__
        if written_here and kind.display_name and not isabstract(kind):
            yield kind()


NODES: tuple[Node, ...] = tuple(node for family in FAMILIES for node in nodes_of(family))
