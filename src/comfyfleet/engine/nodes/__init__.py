"""The nodes of the engine, by ComfyUI's names."""

from comfyfleet.engine.node import Node
from comfyfleet.engine.nodes.pictures import EmptyImage, SaveImage
from comfyfleet.engine.nodes.sleep import FleetSleep

NODES: tuple[Node, ...] = (EmptyImage(), SaveImage(), FleetSleep())
