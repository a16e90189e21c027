"""What a user picks: a workflow, some of its properties set, assets of its own, a price, a shop window."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from comfyfleet.fleet.able.model import Availability, Presence
from comfyfleet.kernel.ids import EffectId, WorkflowId
from comfyfleet.workflows.effects.fit import find_misfit, open_properties
from comfyfleet.workflows.model import Version, Workflow
from comfyfleet.workflows.payload import MediaObject
from comfyfleet.workflows.properties import Property, Scalar

# The asset that the gallery shows.
PREVIEW = "preview"


@dataclass(frozen=True, slots=True)
class NewEffect:
    slug: str
    name: str
    description: str = ""
    overrides: dict[str, Scalar] = field(default_factory=dict)
    credits_cost: int = 0
    waits_for_worker: bool = False
    fixed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Effect:
    """`waits_for_worker`: orders are taken while no worker can run it.

    `fixed`: the overrides that users neither see nor may send. The others are defaults that users may change.
    """

    id: EffectId
    slug: str
    name: str
    description: str
    workflow_id: WorkflowId
    overrides: dict[str, Scalar]
    assets: dict[str, MediaObject]
    credits_cost: int
    is_published: bool
    last_processing_time_seconds: float | None
    updated_at: datetime | None
    created_at: datetime
    waits_for_worker: bool = False
    fixed: frozenset[str] = frozenset()

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            slug=row.slug,
            name=row.name,
            description=row.description,
            workflow_id=row.workflow_id,
            overrides=dict(row.overrides),
            assets={name: _asset_from_json(said) for name, said in row.assets.items()},
            credits_cost=row.credits_cost,
            is_published=row.is_published,
            last_processing_time_seconds=row.last_processing_time_seconds,
            updated_at=row.updated_at,
            created_at=row.created_at,
            waits_for_worker=row.waits_for_worker,
            fixed=frozenset(row.overrides if row.fixed_overrides is None else row.fixed_overrides),
        )


@dataclass(frozen=True, slots=True)
class Offer:
    """An effect with what it runs: its workflow and the version in force. `version` is None: nothing to run."""

    effect: Effect
    workflow: Workflow
    version: Version | None

    @property
    def properties(self) -> tuple[Property, ...]:
        """What a user may set: all that the effect does not fix, with the effect's own defaults."""
        properties = self.version.properties if self.version else ()
        return open_properties(properties, self.effect.overrides, self.effect.fixed)

    @property
    def estimate_s(self) -> float:
        """The last time it took; before the first, what its workflow is expected to take."""
        return self.effect.last_processing_time_seconds or self.workflow.expected_s

    @property
    def problem(self) -> str | None:
        """Why it can make no jobs now, in words for its users; None if it can."""
        if not self.workflow.is_active:
            return "its workflow is switched off"
        if self.version is None:
            return "its workflow has no version to run"
        return None if self.misfit is None else "it no longer fits its workflow"

    @property
    def misfit(self) -> str | None:
        """What of it does not fit the version in force, in words for operators."""
        if self.version is None:
            return None
        return find_misfit(self.version.properties, self.effect.overrides, self.effect.assets)


@dataclass(frozen=True, slots=True)
class ListedOffer:
    """An offer, and whether a worker can run it."""

    offer: Offer
    availability: Availability

    @property
    def unavailable_because(self) -> str | None:
        """Why no order of it is taken, in words for its users."""
        if self.offer.problem is not None or self.offer.effect.waits_for_worker:
            return self.offer.problem
        return self.availability.problem

    @property
    def waits_because(self) -> str | None:
        """Why a job of it would not start soon, in words for its users; None where no order is taken."""
        if self.unavailable_because is not None:
            return None
        return self.availability.waits or self.availability.problem

    @property
    def starts_worker(self) -> bool:
        """An order is taken, and a machine is started for its job: none that could run it is there."""
        return self.unavailable_because is None and self.availability.best is Presence.STARTABLE

    @property
    def lacks(self) -> str | None:
        """Which machine lacks what, in words for operators."""
        return self.availability.detail


def asset_as_json(asset: MediaObject) -> dict[str, Any]:
    return {
        "path": asset.path,
        "mime_type": asset.media_type,
        "size": asset.size_bytes,
        "content_hash": asset.content_hash,
    }


def _asset_from_json(said: Any) -> MediaObject:
    return MediaObject(said["path"], said["mime_type"], said["size"], said["content_hash"])
