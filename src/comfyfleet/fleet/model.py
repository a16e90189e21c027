"""Workers, and the fleets that say what they may run."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from msgspec import Struct

from comfyfleet.fleet.lifecycle import WorkerStatus
from comfyfleet.kernel.ids import FleetId, WorkerId, WorkflowId
from comfyfleet.kernel.secret import Secret


@dataclass(frozen=True, slots=True)
class FleetRules:
    max_fleet_workers: int = 50
    stale_worker_s: float = 7200.0
    approves_by_itself: bool = True
    registrations_per_minute: int = 10
    validates_asg_instance: bool = False
    # More take-overs than this in the window: two machines fight over one name.
    takeovers_max: int = 3
    takeover_window_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """A group of workers: a slug and a stage, such as ("video", "production").

    `scales_from_zero`: machines are started when there is work for it.
    """

    id: FleetId
    slug: str
    stage: str
    name: str
    created_at: datetime
    scales_from_zero: bool = False

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(row.id, row.slug, row.stage, row.name, row.created_at, row.scales_from_zero)


@dataclass(frozen=True, slots=True)
class FleetSecret:
    """As it is listed. The secret itself is shown once, when it is made."""

    id: UUID
    name: str
    retired_at: datetime | None
    created_at: datetime

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(row.id, row.name, row.retired_at, row.created_at)


@dataclass(frozen=True, slots=True)
class NewWorker:
    """What a worker says of itself when it registers."""

    worker_id: str
    address: str
    max_concurrency: int = 1
    providers: tuple[str, ...] = ("self_hosted",)
    capabilities: dict[str, Any] = field(default_factory=dict)
    boot_id: str | None = None


@dataclass(frozen=True, slots=True)
class Worker:
    id: WorkerId
    worker_id: str
    fleet_id: FleetId | None
    status: WorkerStatus
    incarnation: int
    token_hash: str = field(repr=False, compare=False)
    max_concurrency: int
    current_load: int
    last_seen_at: datetime
    created_at: datetime

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            worker_id=row.worker_id,
            fleet_id=row.fleet_id,
            status=WorkerStatus(row.status),
            incarnation=row.incarnation,
            token_hash=row.token_hash,
            max_concurrency=row.max_concurrency,
            current_load=row.current_load,
            last_seen_at=row.last_seen_at,
            created_at=row.created_at,
        )


class Standing(Struct, frozen=True, eq=False):
    """What decides whether a worker may take work at this instant."""

    id: WorkerId
    fleet_id: FleetId | None
    status: str
    incarnation: int
    token_hash: str
    capability_digest: str | None = None


@dataclass(frozen=True, slots=True)
class Sighting:
    """A worker was heard of, so many seconds ago, with so many jobs at hand."""

    worker_id: WorkerId
    ago_s: float
    current_load: int


@dataclass(frozen=True, slots=True)
class Registration:
    """`took_over`: the name was in use, and whatever the older process sends from now on is refused."""

    worker: Worker
    token: Secret
    workflow_ids: frozenset[WorkflowId]
    took_over: bool
