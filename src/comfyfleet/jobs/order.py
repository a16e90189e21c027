"""What a user asks of an effect, checked and in its place in the graph. Nothing here needs a database."""

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from comfyfleet import webhooks, workflows
from comfyfleet.jobs.model import JobRules
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import FileId, RunId, UserId, VideoId
from comfyfleet.workflows import NOTHING_REPORTED, Chosen, FileInputs, Property, Version
from comfyfleet.workflows.effects import Offer

SEED_BITS = 53  # whole numbers that every JSON reader keeps
EARLIEST = -100


@dataclass(frozen=True, slots=True)
class Wish:
    """`digest` tells this request from another one that comes with the same key.

    A step of a run (`run_id`) names the file it works on: that is nobody's upload, and has no video.
    """

    user_id: UserId
    digest: str
    properties: Mapping[str, Any] = field(default_factory=dict)
    video_id: VideoId | None = None
    idempotency_key: str | None = None
    priority: int = 0
    webhook_url: str | None = None
    input_file_id: FileId | None = None
    run_id: RunId | None = None
    traceparent: str | None = None  # the span of this order

    @property
    def input_id(self) -> VideoId | FileId | None:
        return self.video_id if self.video_id is not None else self.input_file_id


@dataclass(frozen=True, slots=True)
class Order:
    """A wish that can be fulfilled: `graph` is the one in the store with every value in its place."""

    wish: Wish
    offer: Offer
    version: Version
    chosen: Chosen
    graph: dict[str, Any]
    stored_graph: Mapping[str, Any]


def prepare_order(
    wish: Wish,
    offer: Offer,
    version: Version,
    graph: Mapping[str, Any],
    *,
    rules: JobRules,
    reported: FileInputs = NOTHING_REPORTED,
) -> Order:
    """Raises InvalidInput, which names the field. `reported`: by which inputs workers' nodes open files."""
    _check_priority(wish.priority, rules)
    if wish.webhook_url is not None:
        webhooks.check_url(wish.webhook_url, field="webhook_url")
    given = {**wish.properties, **_input_of(wish, open_input(offer, version))}
    workflows.check_given(graph, version.properties, wish.properties, reported)
    chosen = workflows.choose(
        version.properties,
        offer.effect.overrides,
        given,
        fixed=offer.effect.fixed,
        random_seed=secrets.randbits(SEED_BITS),
    )
    filled = workflows.fill_graph(graph, version.properties, chosen)
    return Order(wish, offer, version, chosen, graph=filled, stored_graph=graph)


def open_input(offer: Offer, version: Version) -> Property | None:
    """What the user has to bring; None if nothing, or if the effect brings it."""
    primary = version.primary_input
    return None if primary is None or primary.name in offer.effect.overrides else primary


def digest_request(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _check_priority(priority: int, rules: JobRules) -> None:
    if not EARLIEST <= priority <= rules.priority_max:
        raise InvalidInput("priority", f"must be from {EARLIEST} to {rules.priority_max}")


def _input_of(wish: Wish, primary: Property | None) -> dict[str, Any]:
    """The video under the name of the property that takes it."""
    if primary is None:
        if wish.input_id is not None:
            raise InvalidInput("video_id", "this effect takes none")
        return {}
    if primary.name in wish.properties:
        raise InvalidInput(f"properties.{primary.name}", "is what this effect works on: name it as video_id")
    if wish.input_id is None:
        raise InvalidInput("video_id", f"is needed: this effect works on {_called(primary)}")
    # Any id will do here: the video's own file is known only inside the transaction.
    return {primary.name: wish.input_id}


def _called(prop: Property) -> str:
    return "an image" if prop.type == "image" else "a video"
