"""What operators see of fleets and workers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Self

from comfyfleet.fleet.lifecycle import WorkerStatus
from comfyfleet.fleet.model import Fleet
from comfyfleet.kernel.ids import FleetId, WorkerId


@dataclass(frozen=True, slots=True)
class WorkerFilter:
    status: WorkerStatus | None = None
    fleet_id: FleetId | None = None


@dataclass(frozen=True, slots=True)
class ListedWorker:
    """`fleet`: slug and stage, such as video/production; none for one that registered with workflows of its own.
    `drained_at`: an operator drained it then, and has not ended that; also while it is away."""

    id: WorkerId
    worker_id: str
    fleet: str | None
    status: WorkerStatus
    incarnation: int
    open_leases: int
    current_load: int
    max_concurrency: int
    last_seen_at: datetime
    created_at: datetime
    drained_at: datetime | None = None

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            worker_id=row.worker_id,
            fleet=f"{row.fleet_slug}/{row.fleet_stage}" if row.fleet_slug else None,
            status=WorkerStatus(row.status),
            incarnation=row.incarnation,
            open_leases=row.open_leases,
            current_load=row.current_load,
            max_concurrency=row.max_concurrency,
            last_seen_at=row.last_seen_at,
            created_at=row.created_at,
            drained_at=row.drained_at,
        )


@dataclass(frozen=True, slots=True)
class Assignment:
    """A workflow that a worker may run: by its fleet, or by its own word. Work comes only when both are active.

    `why_not`: what keeps its jobs from this worker, in words; of a fleet only what holds for all of its workers.
    """

    workflow: str
    source: Literal["fleet", "own"]
    is_active: bool
    workflow_is_active: bool
    why_not: tuple[str, ...] = ()

    @property
    def routed(self) -> bool:
        return not self.why_not


@dataclass(frozen=True, slots=True)
class WorkerDetail:
    worker: ListedWorker
    address: str
    boot_id: str | None
    takeovers: int
    providers: list[str]
    capabilities: dict[str, Any]
    assignments: list[Assignment]


@dataclass(frozen=True, slots=True)
class FleetDetail:
    fleet: Fleet
    assignments: list[Assignment]
    workers: dict[WorkerStatus, int]
