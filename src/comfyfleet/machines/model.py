"""The nouns of fleets that scale: what an operator set, what was decided, what a provider was asked for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Self
from uuid import UUID

import msgspec

from comfyfleet.kernel.errors import Conflict, Unavailable
from comfyfleet.kernel.ids import FleetId
from comfyfleet.scaling import (
    CloudMachine,
    Held,
    LaunchRequest,
    Market,
    ScalingDecision,
    ScalingInputs,
    ScalingSettings,
    ScalingState,
    from_json,
)


class MachinesRun(Conflict):
    """The fleet still has machines: without its settings, nothing would end them."""

    code = "machines_run"
    text = (
        "Fleet {fleet} still has machines. Run `comfyfleet fleets scale {fleet} --min 0 --max 0`, wait until they have "
        "ended, then turn scaling off."
    )


class AdapterProblem(Unavailable):
    """A provider of machines did not answer, or its answer made no sense."""

    code = "adapter_problem"
    text = "{adapter}: {problem}"
    adapter: str
    problem: str

    def __init__(self, adapter: str, problem: str) -> None:
        super().__init__(adapter=adapter, problem=problem)


@dataclass(frozen=True, slots=True)
class FleetScaling:
    """`fleet`: its slug and stage. `generation`: counts up with each change of settings or state."""

    fleet_id: FleetId
    fleet: str
    settings: ScalingSettings
    adapter: str
    adapter_settings: Mapping[str, Any]
    state: ScalingState
    generation: int
    is_empty: bool
    counted_to: datetime | None
    decided_at: datetime | None
    problem: str | None

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            fleet_id=row.fleet_id,
            fleet=f"{row.slug}/{row.stage}",
            settings=from_json(row.settings, ScalingSettings),
            adapter=row.adapter,
            adapter_settings=msgspec.json.decode(row.adapter_settings),
            state=from_json(row.state, ScalingState),
            generation=row.generation,
            is_empty=row.is_empty,
            counted_to=row.counted_to,
            decided_at=row.decided_at,
            problem=row.problem,
        )


@dataclass(frozen=True, slots=True)
class KnownMachine:
    """As our own table has it."""

    machine_id: str
    machine_class: str
    market: Market
    zone: str
    launched_at: datetime
    start_s: float | None
    end_asked_at: datetime | None
    end_reason: str | None = None

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            row.machine_id,
            row.machine_class,
            Market(row.market),
            row.zone,
            row.launched_at,
            row.start_s,
            row.end_asked_at,
            row.end_reason,
        )


@dataclass(frozen=True, slots=True)
class OpenLaunch:
    """Asked for, and not answered yet."""

    decision_id: UUID
    ordinal: int
    token: str
    request: LaunchRequest
    asked_at: datetime
    age_s: float
    plan: str | None

    @classmethod
    def from_row(cls, row: Any) -> Self:
        request = LaunchRequest(row.machine_class, Market(row.market), row.zone, row.machines)
        return cls(row.decision_id, row.ordinal, row.token, request, row.asked_at, row.age_s, row.plan)


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look at a fleet found. `settings`: as they apply now; `lost`: machines that are no longer listed."""

    at: datetime
    inputs: ScalingInputs
    settings: ScalingSettings
    arrived_gpu_s: float
    counted_to: datetime
    new: tuple[CloudMachine, ...] = ()
    lost: tuple[str, ...] = ()
    starts: Mapping[str, float] = field(default_factory=dict)
    # When those of them were launched that no worker ever registered from.
    died_launched_at_s: tuple[float, ...] = ()
    # Those of them whose end we had not asked for: where they ran, and why we drained them, if we did.
    ended_unasked: tuple[tuple[Market, str | None], ...] = ()
    # Launches without an answer.
    unanswered: int = 0
    # Told to end, and still listed as running: they are told again.
    lingering: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewestDecision:
    """What a fleet that scales aims at now. `age_s`: how long ago it was decided."""

    decision: ScalingDecision
    max_workers: int
    decided_at: datetime
    age_s: float


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A decision as it is kept and shown."""

    id: UUID
    decided_at: datetime
    reason: str
    text: str
    desired: int
    ready: int
    starting: int
    draining: int
    waiting: int
    held: tuple[Held, ...] = ()

    @classmethod
    def from_row(cls, row: Any) -> Self:
        decision = from_json(row.decision, ScalingDecision)
        return cls(
            row.id,
            row.decided_at,
            row.reason,
            decision.text,
            row.desired,
            row.ready,
            row.starting,
            row.draining,
            row.waiting,
            decision.held,
        )


class ListedState(StrEnum):
    """Of a machine, as operators see it."""

    STARTING = "starting"  # no worker of it takes jobs yet
    READY = "ready"
    DRAINING = "draining"
    ORPHANED = "orphaned"  # its worker has left
    ENDING = "ending"  # the provider was told to end it
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class ListedMachine:
    """`start_s`: from launch to first lease, once that is known."""

    machine_id: str
    machine_class: str
    market: Market
    zone: str
    state: ListedState
    leases: int
    has_worker: bool
    launched_at: datetime
    start_s: float | None
    ended_at: datetime | None
    end_reason: str | None
