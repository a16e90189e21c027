"""The interface's format, read into values: levels of nodes and links, the root one and one for each subgraph."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.graph.unique_ids import with_unique_ids

LinkId: TypeAlias = int | str
MUTED = 2
BYPASSED = 4
INPUT_NODE = "-10"
OUTPUT_NODE = "-20"


@dataclass(frozen=True, slots=True)
class Slot:
    name: str
    type: str
    link: LinkId | None = None
    is_widget: bool = False
    links: tuple[LinkId, ...] = ()  # of an output, or of an input of a subgraph: what it feeds, in order


@dataclass(frozen=True, slots=True)
class DrawnNode:
    id: str
    type: str
    mode: int
    title: str | None
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    widgets_values: Any
    properties: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_off(self) -> bool:
        return self.mode in (MUTED, BYPASSED)


@dataclass(frozen=True, slots=True)
class DrawnLink:
    id: LinkId
    origin: str
    origin_slot: int
    target: str
    target_slot: int


@dataclass(frozen=True, slots=True)
class Level:
    """The root graph, or the definition of a subgraph with what goes in and comes out. The root's id is empty."""

    id: str
    nodes: Mapping[str, DrawnNode]
    links: Mapping[LinkId, DrawnLink]
    inputs: tuple[Slot, ...] = ()
    output_links: Mapping[int, DrawnLink] = field(default_factory=dict)  # by the place of the output


@dataclass(frozen=True, slots=True)
class DrawnWorkflow:
    root: Level
    subgraphs: Mapping[str, Level]
    group_nodes: frozenset[str]
    links_by_magic: bool  # of "Use Everywhere": made when the prompt is queued, by code that only a browser runs


def read_interface(workflow: Mapping[str, Any]) -> DrawnWorkflow:
    try:
        return _read_workflow(workflow)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
        raise InvalidGraph(f"The workflow has a shape that the interface does not write ({problem!r}).") from None


def _read_workflow(workflow: Mapping[str, Any]) -> DrawnWorkflow:
    workflow = with_unique_ids(workflow)
    definitions = (workflow.get("definitions") or {}).get("subgraphs") or []
    extra = workflow.get("extra") or {}
    return DrawnWorkflow(
        root=_read_level(workflow, ""),
        subgraphs={str(each["id"]): _read_level(each, str(each["id"])) for each in definitions},
        group_nodes=frozenset(extra.get("groupNodes") or ()),
        links_by_magic=bool(extra.get("ue_links")),
    )


def _read_level(level: Mapping[str, Any], level_id: str) -> Level:
    nodes = [_read_node(each) for each in level["nodes"]]
    links = [_read_link(each) for each in level.get("links") or [] if each is not None]
    found = {node.id: node for node in nodes}
    if len(found) != len(nodes):
        raise InvalidGraph("Two nodes have the same id.")
    return Level(
        id=level_id,
        nodes=found,
        links={link.id: link for link in links},
        inputs=tuple(_read_input(each, place, links) for place, each in enumerate(level.get("inputs") or ())),
        # The first link counts, as it does in the interface: hence backwards.
        output_links={link.target_slot: link for link in reversed(links) if link.target == OUTPUT_NODE},
    )


def _read_input(given: Mapping[str, Any], place: int, links: Sequence[DrawnLink]) -> Slot:
    """Of a subgraph. Files of the first versions do not say which links it feeds."""
    found = _read_slot(given)
    feeds = tuple(link.id for link in links if link.origin == INPUT_NODE and link.origin_slot == place)
    named = [_link_id(each) for each in given.get("linkIds") or ()]
    ordered = [each for each in named if each in feeds]
    return replace(found, links=tuple(dict.fromkeys([*ordered, *feeds])))


def _read_node(node: Mapping[str, Any]) -> DrawnNode:
    properties = node.get("properties")
    title = node.get("title")
    return DrawnNode(
        id=str(node["id"]),
        type=str(node["type"]),
        mode=int(node.get("mode") or 0),
        title=title if isinstance(title, str) and title else None,
        inputs=tuple(_read_slot(each) for each in node.get("inputs") or ()),
        outputs=tuple(_read_slot(each) for each in node.get("outputs") or ()),
        widgets_values=node.get("widgets_values"),
        properties=properties if isinstance(properties, Mapping) else {},
    )


def _read_slot(slot: Mapping[str, Any]) -> Slot:
    return Slot(
        name=str(slot.get("name", "")),
        type=str(slot.get("type", "*")),
        link=_link_id(slot.get("link")),
        is_widget=bool(slot.get("widget")),
        links=_link_ids(slot.get("links")),
    )


def _link_ids(given: Any) -> tuple[LinkId, ...]:
    found = (_link_id(each) for each in given) if isinstance(given, list) else ()
    return tuple(each for each in found if each is not None)


def _link_id(given: Any) -> LinkId | None:
    if given is not None and not isinstance(given, (int, str)):
        raise TypeError(f"the link {given!r}")
    return given


def _read_link(link: Any) -> DrawnLink:
    """A row in the root graph, an object in a subgraph."""
    if isinstance(link, Mapping):
        parts = [link[name] for name in ("id", "origin_id", "origin_slot", "target_id", "target_slot")]
    else:
        parts = list(link[:5])
    link_id, origin, origin_slot, target, target_slot = parts
    if (checked := _link_id(link_id)) is None:
        raise TypeError("a link without an id")
    return DrawnLink(checked, str(origin), int(origin_slot), str(target), int(target_slot))
