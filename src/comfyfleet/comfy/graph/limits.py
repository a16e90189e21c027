"""How much a graph may be. Far above anything that people draw, far below what would hurt."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GraphLimits:
    bytes: int = 16 * 1024**2
    nodes: int = 10_000
    inputs_per_node: int = 1_000
    depth: int = 64
    nested_subgraphs: int = 20
    side_pixels: int = 65_536
    pixels: int = 2**32  # of one node: width × height × batch
    integer: int = 2**64 - 1  # ComfyUI's seeds go that far


LIMITS = GraphLimits()
