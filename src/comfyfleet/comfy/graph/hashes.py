"""Two names for a graph: SHA-256 of its canonical JSON, and of what makes it this workflow and no other.

Content is everything. Structure is node ids, classes, links and model files: prompts, seeds, sizes and the names of
input files change between two jobs of one workflow. See docs/decisions/0014-two-hashes.md.

Canonical JSON: keys sorted by code point, no spaces, UTF-8 unescaped, a number without a fraction as an integer, any
other in the shortest form that reads back as the same double.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec

from comfyfleet.comfy.errors import InvalidGraph
from comfyfleet.comfy.graph.files import TAILS, VERDICTS, has_model_suffix, names_model_file


@dataclass(frozen=True, slots=True)
class GraphHashes:
    content: str
    structure: str


class _Meta(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    title: str


class _Link(msgspec.Struct, gc=False, forbid_unknown_fields=True, array_like=True):
    node: str
    slot: int


class _Node(msgspec.Struct, gc=False, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A node as ComfyUI writes it; others are hashed by the longer way. The encoder keeps fields in this order."""

    meta: _Meta | msgspec.UnsetType = msgspec.field(name="_meta", default=msgspec.UNSET)
    class_type: str
    inputs: dict[str, _Link | str | int | float | bool | dict[str, Any] | None]


# Where the class stands among the inputs kept: every input has a name (`check_graph`).
CLASS = ""

_usual = msgspec.json.Decoder(dict[str, _Node])
_any = msgspec.json.Decoder(dict[str, dict[str, Any]])
_canonical = msgspec.json.Encoder(order="deterministic")


def hash_graph(source: bytes | Mapping[str, Any]) -> GraphHashes:
    """Of the bytes of a graph, or of a loaded one: both give the same."""
    try:
        text = source if isinstance(source, bytes) else msgspec.json.encode(source)
        try:
            return _hash_usual(_usual.decode(text))
        except msgspec.ValidationError:
            return _hash_any(_any.decode(text))
    except RecursionError:
        raise InvalidGraph("The graph is nested too deep.") from None
    except (ValueError, TypeError) as problem:
        raise InvalidGraph(f"The graph cannot be hashed: {problem}.") from None


def content_hash(source: bytes | Mapping[str, Any]) -> str:
    return hash_graph(source).content


def structure_hash(source: bytes | Mapping[str, Any]) -> str:
    return hash_graph(source).structure


def _hash_usual(graph: dict[str, _Node]) -> GraphHashes:
    """One walk that gathers the structure and settles the numbers. It runs for every job: hence no calls inside."""
    structure: dict[str, Any] = {}
    link, verdict_of = _Link, VERDICTS.get
    for node_id, node in graph.items():
        inputs: dict[str, Any] = node.inputs
        structure[node_id] = kept = {CLASS: node.class_type}
        for name, value in inputs.items():
            kind = value.__class__
            if kind is link:
                kept[name] = value
            elif kind is str:
                verdict = verdict_of(name)
                if verdict or (verdict is None and value[-3:] in TAILS and has_model_suffix(value)):
                    kept[name] = value
            elif kind is float:
                if value.is_integer():
                    inputs[name] = int(value)
            elif kind is dict:
                inputs[name] = _keep(kept, name, value)
    return _hashes(graph, structure)


def _hash_any(graph: dict[str, dict[str, Any]]) -> GraphHashes:
    settled = _settled(graph)
    structure: dict[str, Any] = {}
    for node_id, node in settled.items():
        structure[node_id] = kept = {CLASS: node.get("class_type")}
        inputs = node.get("inputs")
        for name, value in inputs.items() if isinstance(inputs, dict) else ():
            _keep(kept, name, value)
    return _hashes(settled, structure)


def _hashes(content: Any, structure: Any) -> GraphHashes:
    return GraphHashes(sha256(_canonical.encode(content)).hexdigest(), sha256(_canonical.encode(structure)).hexdigest())


def _keep(kept: dict[str, Any], name: str, value: Any) -> Any:
    """Put into `kept` what of the value is structure; return the value with its numbers settled."""
    value = _settled(value)
    is_link = isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and type(value[1]) is int
    found = value if is_link else _model_files(name, value)
    if found:
        kept[name] = found
    return value


def _model_files(name: str, value: Any) -> Any:
    """The same value with only its model files left; None if there are none."""
    match value:
        case str():
            return value if names_model_file(name, value) else None
        case dict():
            inner = {key: _model_files(key, each) for key, each in value.items()}
            return {key: each for key, each in inner.items() if each} or None
        case list():
            return [found for each in value if (found := _model_files("", each))] or None
        case _:
            return None


def _settled(value: Any) -> Any:
    match value:
        case float():
            return int(value) if value.is_integer() else value
        case dict():
            return {key: _settled(each) for key, each in value.items()}
        case list():
            return [_settled(each) for each in value]
        case _:
            return value
