"""What the servers of this worker are and have, looked over before it registers: its capabilities.

The control plane compares them with what workflows need. What several servers do not have in common is not promised:
a job goes to any of them. What a cloud has is the cloud's affair.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec
import structlog

from comfyfleet.comfy import Connector, ServerFacts
from comfyfleet.comfy.graph import Definitions, pack_definitions
from comfyfleet.comfy.graph.definitions import InputDefinition, ObjectInfo, find_definition
from comfyfleet.comfy.graph.files import MODEL_INPUTS, has_model_suffix
from comfyfleet.kernel.errors import FleetError

GB = 1000**3
# Listing all nodes stalls a server for a moment.
EVERY_S = 1800.0
# The control plane reads a megabyte of one registration, and there is more in it than this.
LISTS_BYTES_MAX = 768 * 1024

log = structlog.get_logger()


class Preflight:
    """Looks when it is told to, when a server comes back, and now and then: weights are added while a worker runs."""

    def __init__(self, connectors: Sequence[Connector], *, every_s: float = EVERY_S) -> None:
        self._connectors = [each for each in connectors if each.provider == "self_hosted"]
        self._every_s = every_s
        self._came = asyncio.Event()
        self._said: dict[str, Any] = {"servers": []}
        self._definitions: Definitions | None = None

    def capabilities(self) -> dict[str, Any]:
        """As they were seen last."""
        return self._said

    def definitions(self) -> Definitions | None:
        """Of the node classes, as they were seen last."""
        return self._definitions

    async def look(self) -> None:
        looks = [look for each in self._connectors if (look := await _look(each))]
        if looks:  # servers that are away have not lost their weights
            self._said = describe(looks)
            # Some megabytes: not on the loop.
            self._definitions = await asyncio.to_thread(pack_definitions, [look.object_info for look in looks])

    async def run(self) -> None:
        """Until it is cancelled."""
        unfollow = [each.follow(self._heard) for each in self._connectors]
        try:
            while True:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._came.wait(), self._every_s)
                self._came.clear()
                await self.look()
        finally:
            for stop in unfollow:
                stop()

    def _heard(self, online: bool) -> None:
        if online:
            self._came.set()


@dataclass(frozen=True, slots=True)
class ServerLook:
    """`unlisted_loaders`: classes that load weights without a list of those there are."""

    name: str
    facts: ServerFacts
    node_classes: frozenset[str]
    weights: frozenset[str]
    unlisted_loaders: frozenset[str]
    object_info: ObjectInfo = field(default_factory=dict, repr=False)

    @property
    def vram_gb(self) -> float | None:
        """Of the card on which prompts run."""
        return self.facts.vram_total_bytes / GB if self.facts.devices else None


async def _look(connector: Connector) -> ServerLook | None:
    try:
        return read_look(connector.name, await connector.describe(), await connector.object_info())
    except FleetError as problem:
        log.warning("preflight.server_not_seen", server=connector.name, problem=problem.message)
        return None


def read_look(name: str, facts: ServerFacts, object_info: ObjectInfo) -> ServerLook:
    weights: set[str] = set()
    unlisted: set[str] = set()
    for class_type in object_info:
        for each in _inputs(object_info, class_type):
            if each.choices is not None:
                weights |= {choice for choice in each.choices if _names_weights(each.name, choice)}
            elif each.name in MODEL_INPUTS and each.is_widget:
                unlisted.add(class_type)
    return ServerLook(name, facts, frozenset(object_info), frozenset(weights), frozenset(unlisted), object_info)


def _inputs(object_info: ObjectInfo, class_type: str) -> Iterator[InputDefinition]:
    definition = find_definition(object_info, class_type)
    for each in definition.inputs if definition else ():
        yield each
        for _, inputs in each.branches():
            yield from inputs


def _names_weights(input_name: str, choice: Any) -> bool:
    return isinstance(choice, str) and (input_name in MODEL_INPUTS or has_model_suffix(choice))


def describe(looks: Sequence[ServerLook]) -> dict[str, Any]:
    """As it is sent. A list that is left out is not compared, an empty one is."""
    said: dict[str, Any] = {"servers": [_facts(look) for look in looks]}
    if not looks:
        return said
    said["node_classes"] = sorted(frozenset.intersection(*(look.node_classes for look in looks)))
    said["weights"] = sorted(frozenset.intersection(*(look.weights for look in looks)))
    said["unlisted_loaders"] = sorted(frozenset.union(*(look.unlisted_loaders for look in looks)))
    cards = [look.vram_gb for look in looks]
    smallest = min((each for each in cards if each is not None), default=None)
    if smallest is not None and None not in cards:
        said["vram_gb"] = round(smallest, 1)
    return _bounded(said)


def _facts(look: ServerLook) -> dict[str, Any]:
    return {
        "name": look.name,
        "comfyui": look.facts.version,
        "devices": [
            {"name": each.name, "type": each.type, "vram_gb": round(each.gpu_bytes / GB, 1)}
            for each in look.facts.devices
        ],
    }


def _bounded(said: Mapping[str, Any]) -> dict[str, Any]:
    """The longest list first: a folder of fifty thousand LoRAs must not keep the worker away."""
    bounded = dict(said)
    while len(msgspec.json.encode(bounded)) > LISTS_BYTES_MAX:
        longest = max(
            (name for name in ("node_classes", "weights") if name in bounded),
            key=lambda name: len(msgspec.json.encode(bounded[name])),
            default=None,
        )
        if longest is None:
            return {name: value for name, value in bounded.items() if name == "vram_gb"}
        log.warning("preflight.list_too_long", list=longest, names=len(bounded[longest]))
        del bounded[longest]
    return bounded
