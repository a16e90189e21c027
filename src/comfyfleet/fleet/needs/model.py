"""What a workflow needs of a server, what a worker has, and what it lacks. Pure."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

import msgspec

NAMED_MAX = 3
LISTS = ("node_classes", "weights", "unlisted_loaders")
NAME_CHARS_MAX = 1024


@dataclass(frozen=True, slots=True)
class Needs:
    """Of the version in force."""

    slug: str
    provider: str
    node_classes: frozenset[str] = frozenset()
    weights: frozenset[str] = frozenset()
    vram_gb: float | None = None

    @classmethod
    def from_row(cls, row: Any) -> Self:
        said = row.requirements
        return cls(
            slug=row.slug,
            provider=row.provider,
            node_classes=frozenset(said.get("node_classes", ())),
            weights=frozenset(said.get("weights", ())),
            vram_gb=said.get("vram_gb"),
        )


class LackOf(StrEnum):
    """What is missing, in the words that users read."""

    NODES = "nodes"
    WEIGHTS = "model files"
    MEMORY = "GPU memory"


@dataclass(frozen=True, slots=True)
class Lack:
    """`text`: with names and numbers, for operators."""

    of: LackOf
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Capabilities:
    """None: the worker did not say, and is believed able. `unlisted_loaders`: node classes that load weights of which
    their server gives no list; where a workflow uses one, nothing can be said about its weights."""

    node_classes: frozenset[str] | None = None
    weights: frozenset[str] | None = None
    vram_gb: float | None = None
    unlisted_loaders: frozenset[str] = frozenset()

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Self:
        return cls(
            node_classes=_names(said.get("node_classes")),
            weights=_names(said.get("weights")),
            vram_gb=_number(said.get("vram_gb")),
            unlisted_loaders=_names(said.get("unlisted_loaders")) or frozenset(),
        )


@dataclass(frozen=True, slots=True)
class Said:
    """What a worker says of itself, in two parts: a few facts for people, and the long lists, kept once for all
    workers that are alike, by their digest. No lists: no digest, and nothing is checked."""

    facts: dict[str, Any]
    lists: dict[str, Any] | None
    digest: str | None


def take_apart(capabilities: Mapping[str, Any]) -> Said:
    lists = {name: sorted(names) for name in LISTS if (names := _names(capabilities.get(name))) is not None}
    facts = {name: len(lists[name]) if name in lists else value for name, value in capabilities.items()}
    vram_gb = _number(capabilities.get("vram_gb"))
    if not lists and vram_gb is None:
        return Said(facts, None, None)
    content = {**lists, "vram_gb": vram_gb}
    return Said(facts, content, hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest())


def lacks(needs: Needs, has: Capabilities | None) -> tuple[str, ...]:
    """In words for operators; nothing: it can run it."""
    return tuple(each.text for each in find_lacks(needs, has))


def find_lacks(needs: Needs, has: Capabilities | None) -> tuple[Lack, ...]:
    """Empty: it can run it. What a cloud has is the cloud's affair."""
    if has is None or needs.provider != "self_hosted":
        return ()
    found = []
    if has.node_classes is not None and (missing := needs.node_classes - has.node_classes):
        found.append(Lack(LackOf.NODES, f"node classes: {_listed(missing)}"))
    told = has.weights is not None and not needs.node_classes & has.unlisted_loaders
    if told and (missing := needs.weights - (has.weights or frozenset())):
        found.append(Lack(LackOf.WEIGHTS, f"weights: {_listed(missing)}"))
    if needs.vram_gb is not None and has.vram_gb is not None and has.vram_gb < needs.vram_gb:
        found.append(Lack(LackOf.MEMORY, f"{needs.vram_gb:g} GB of GPU memory (it has {has.vram_gb:g})"))
    return tuple(found)


def _listed(names: Iterable[str]) -> str:
    first, *rest = sorted(names)
    shown = [first, *rest[: NAMED_MAX - 1]]
    more = len(rest) + 1 - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _names(value: Any) -> frozenset[str] | None:
    """What is no list of names says nothing."""
    if not isinstance(value, list) or not all(isinstance(each, str) and len(each) <= NAME_CHARS_MAX for each in value):
        return None
    return frozenset(value)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
