"""A leased payload becomes the graph that a server runs: files by the server's names, every save in a place of its own.

Everything goes in as data. Each attempt saves under `comfyfleet/<day>/<nonce>/`: it never gets an earlier run's cached
files, no folder grows for ever, and what is there can be deleted whole.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import msgspec

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.graph.check import is_link
from comfyfleet.comfy.graph.outputs import is_preview
from comfyfleet.comfy.model import Graph
from comfyfleet.kernel.errors import Refused

ROOT = "comfyfleet"
PREFIX = "filename_prefix"
# An input no node has: servers take it, pass it to nobody, and count it when they look for a cached result.
NONCE = "comfyfleet_nonce"
ASSETS_MAX = 1_000
PREFIX_CHARS_MAX = 120
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NONCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
_UNSAFE = re.compile(r'^[A-Za-z]:|[\x00-\x1f*?"<>|]+')


class PayloadUnreadable(Refused):
    """What was leased is nothing that this worker understands. Another one of this release would not either."""

    code = "payload_unreadable"
    text = "The job's payload cannot be read: {problem}."

    def __init__(self, problem: str) -> None:
        super().__init__(problem=problem.rstrip("."))


class Target(msgspec.Struct, frozen=True):
    node: str
    input_name: str


class Asset(msgspec.Struct, frozen=True, kw_only=True):
    """A file that the graph needs, and the inputs its name goes to."""

    name: str
    url: str
    path: str = ""
    media_type: str = "application/octet-stream"
    size_bytes: int | None = None
    content_hash: str | None = None
    is_users_own: bool = False
    is_primary_input: bool = False
    targets: tuple[Target, ...] = ()

    @property
    def sha256(self) -> str | None:
        """None: nobody has read its bytes, or by another hash than ours."""
        told = (self.content_hash or "").lower()
        return told if _SHA256.fullmatch(told) else None

    @property
    def kept_as(self) -> str | None:
        """An effect's own comes again with the next job; a user's must not outlive its job here."""
        return None if self.is_users_own else self.sha256

    def __repr__(self) -> str:
        """Without the URL: whoever reads it in a log could use it."""
        return f"Asset({self.name!r}, {self.path!r})"


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker needs of a payload; other fields may be there."""

    graph: dict[str, Any] = msgspec.field(name="workflow")
    assets: tuple[Asset, ...] = ()
    output_node: str | None = msgspec.field(name="output_node_id", default=None)


@dataclass(frozen=True, slots=True)
class Mark:
    """Whose files they are: in the server's input folder and in its output folder they stand under `folder`."""

    nonce: str
    day: date
    folder: str = field(init=False)

    def __post_init__(self) -> None:
        if not _NONCE.fullmatch(self.nonce):
            raise ValueError(f"{self.nonce!r} is no name for a folder")
        object.__setattr__(self, "folder", f"{ROOT}/{self.day.isoformat()}/{self.nonce}")


def read_payload(payload: bytes | msgspec.Raw) -> Work:
    """Raises PayloadUnreadable."""
    try:
        work = msgspec.json.decode(payload, type=Work)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise PayloadUnreadable(str(error)) from None
    if not work.graph:
        raise PayloadUnreadable("it holds no workflow")
    if len(work.assets) > ASSETS_MAX or len({asset.name for asset in work.assets}) < len(work.assets):
        raise PayloadUnreadable(f"it names an asset twice, or more than {ASSETS_MAX} of them")
    for node_id, node in work.graph.items():
        if not (isinstance(node, dict) and isinstance(node.get("class_type"), str) and _has_inputs(node)):
            raise PayloadUnreadable(f"node {node_id} of its workflow is no node")
    return work


def _has_inputs(node: Mapping[str, Any]) -> bool:
    return isinstance(node.get("inputs", {}), dict)


def prepare_graph(work: Work, names: Mapping[str, str], mark: Mark) -> dict[str, Any]:
    """`names`: what the server calls each asset. A new graph; the payload's stays as it is. Raises InvalidGraph."""
    return mark_saves(bind_assets(work, names), mark)


def bind_assets(work: Work, names: Mapping[str, str]) -> dict[str, Any]:
    bound = {node_id: {**node, "inputs": dict(node.get("inputs", {}))} for node_id, node in work.graph.items()}
    for asset in work.assets:
        for target in asset.targets:
            if target.node not in bound:
                problem = f"the asset {asset.name!r} goes there, and the graph has no such node"
                raise InvalidGraph(problem, node=target.node, input_name=target.input_name)
            bound[target.node]["inputs"][target.input_name] = names[asset.name]
    return bound


def mark_saves(graph: Graph, mark: Mark) -> dict[str, Any]:
    """Whatever writes a file writes it under the mark. Previews take no prefix: they only must not come from the
    cache, whose file another attempt may have deleted."""
    marked = {}
    for node_id, node in graph.items():
        inputs = node.get("inputs", {})
        if PREFIX in inputs:
            inputs = {**inputs, PREFIX: _place(inputs[PREFIX], mark, node["class_type"])}
        elif is_preview(node["class_type"]):
            inputs = {**inputs, NONCE: mark.nonce}
        marked[node_id] = {**node, "inputs": inputs}
    return marked


def _place(prefix: Any, mark: Mark, class_type: str) -> str:
    """A prefix that another node would make is known too late: a name of ours stands instead of it."""
    told = "" if is_link(prefix) or not isinstance(prefix, str) else prefix
    parts = (_UNSAFE.sub("_", part).strip() for part in told.replace("\\", "/").split("/"))
    kept = "/".join(part for part in parts if part and part.strip("."))[-PREFIX_CHARS_MAX:].strip("/. ")
    return f"{mark.folder}/{kept or class_type}"
