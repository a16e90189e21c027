"""Where the time of a finished job went, node by node. Pure."""

from dataclasses import dataclass

from comfyfleet.comfy.model import Completed, Graph


@dataclass(frozen=True, slots=True)
class NodeProfile:
    node: str
    class_type: str
    seconds: float
    cached: bool


@dataclass(frozen=True, slots=True)
class Profile:
    """`nodes`: the slowest first. `waited_s`: in our queue; `took_s`: from the server's acceptance to the outcome."""

    nodes: tuple[NodeProfile, ...]
    waited_s: float
    took_s: float

    @property
    def nodes_s(self) -> float:
        return sum(node.seconds for node in self.nodes)

    @property
    def cached_count(self) -> int:
        return sum(node.cached for node in self.nodes)


def profile_of(graph: Graph, done: Completed, *, waited_s: float, took_s: float) -> Profile:
    """Nodes the server neither timed nor found in its cache were not needed, and are left out."""
    seen = [node for node in graph if node in done.node_timings_s or node in done.cached_nodes]
    # A node may have been made by another one while it ran: it is timed and not in the graph.
    seen += [node for node in done.node_timings_s if node not in graph]
    nodes = (
        NodeProfile(
            node=node,
            class_type=str(graph.get(node, {}).get("class_type", "")),
            seconds=max(0.0, done.node_timings_s.get(node, 0.0)),
            cached=node in done.cached_nodes,
        )
        for node in seen
    )
    return Profile(tuple(sorted(nodes, key=lambda node: -node.seconds)), max(0.0, waited_s), max(0.0, took_s))
