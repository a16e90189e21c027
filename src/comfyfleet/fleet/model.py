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
    max_workers_without_fleet: int = 50
    # A live worker that made no call for so long can be replaced without proof. See `presence.flush`: it lags by 5 s.
    name_held_s: float = 90.0
    stale_worker_s: float = 7200.0
    approves_by_itself: bool = True
    registrations_per_minute: int = 10
    validates_asg_instance: bool = False
    # Where instances are looked for, and the groups that may register workers; none: any group there.
    aws_region: str | None = None
    asg_groups: tuple[str, ...] = ()
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
    """As it is listed. The secret itself is shown once, when it is made.

    `fleet`: the one it opens, as slug/stage; None: any. `has_scope`: False for those made before secrets had one.
    """

    id: UUID
    name: str
    fleet_id: FleetId | None
    fleet: str | None
    allows_workflows: bool
    has_scope: bool
    retired_at: datetime | None
    created_at: datetime

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            name=row.name,
            fleet_id=row.fleet_id,
            fleet=row.fleet,
            allows_workflows=row.allows_workflows is not False,
            has_scope=row.allows_workflows is not None,
            retired_at=row.retired_at,
            created_at=row.created_at,
        )


@dataclass(frozen=True, slots=True)
class NameProof:
    """What shows that a registration comes from the worker that has the name.

    `last_token`: of its last life. `next_token`: the one it proposes for the life to come; a registration whose reply
    was lost is repeated with the same one. `holds_lease`: it showed the token of a lease that the worker holds.
    """

    last_token: Secret | None = None
    next_token: Secret | None = None
    holds_lease: bool = False

    def shows(self, token_hash: str) -> bool:
        return self.holds_lease or any(
            each is not None and each.matches(token_hash) for each in (self.last_token, self.next_token)
        )


NO_PROOF = NameProof()


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


def revoked_hash(row_id: WorkerId) -> str:
    """In place of a token's hash: no token has it."""
    return f"revoked {row_id}"


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
    """`took_over`: the name was in use, and whatever the older process sends from now on is refused.

    `repeated`: the reply to this registration was lost, and this is the same one again: the life that it began goes on.
    """

    worker: Worker
    token: Secret
    workflow_ids: frozenset[WorkflowId]
    took_over: bool
    repeated: bool = False
