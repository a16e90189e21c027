"""How a fleet scales now, and why: for operators, and for KEDA."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.fleet import Fleet
from comfyfleet.kernel.ids import FleetId
from comfyfleet.machines import sql
from comfyfleet.machines.configure import get_fleet_scaling
from comfyfleet.machines.model import DecisionRow, FleetScaling, NewestDecision
from comfyfleet.scaling import Held, ScalingDecision, ScalingInputs, from_json

STEPS_MAX = 500


@dataclass(frozen=True, slots=True)
class ScalingReport:
    """The newest decision. `at`: None before the first one. `start_s`: what a start is taken to last."""

    fleet: str
    scaling: FleetScaling
    at: datetime | None
    desired: int
    ready: int
    busy: int
    starting: int
    draining: int
    queued: int
    backlog_seconds: float
    expected_wait_seconds: float | None
    reason: str
    text: str
    spend_per_hour: float | None = None
    start_s: float | None = None
    held: tuple[Held, ...] = ()


async def show_scaling(tx: ControlTx, found: Fleet) -> ScalingReport:
    scaling = await get_fleet_scaling(tx, found)
    rows = await tx.all(sql.latest_decisions(found.id, rows=1))
    if not rows:
        return ScalingReport(scaling.fleet, scaling, None, 0, 0, 0, 0, 0, 0, 0.0, None, "none", "no decision yet")
    return report_of(scaling, rows[0])


def report_of(scaling: FleetScaling, row: Any) -> ScalingReport:
    decision = from_json(row.decision, ScalingDecision)
    inputs = from_json(row.inputs, ScalingInputs)
    return make_report(scaling, row.decided_at, decision, inputs)


def make_report(scaling: FleetScaling, at: datetime, decision: ScalingDecision, inputs: ScalingInputs) -> ScalingReport:
    figures = decision.figures
    return ScalingReport(
        fleet=scaling.fleet,
        scaling=scaling,
        at=at,
        desired=decision.desired,
        ready=figures.ready,
        busy=figures.busy,
        starting=figures.starting,
        draining=figures.draining,
        queued=inputs.waiting,
        backlog_seconds=inputs.queued_gpu_s,
        expected_wait_seconds=figures.expected_wait_s,
        reason=decision.reason.value,
        text=decision.text,
        spend_per_hour=figures.spend_per_hour,
        start_s=figures.start_s or None,
        held=decision.held,
    )


async def newest_decisions(tx: ControlTx, *, fleets_max: int) -> dict[FleetId, NewestDecision]:
    """Of each fleet that scales, for whoever watches all of them."""
    return {
        row.fleet_id: NewestDecision(
            from_json(row.decision, ScalingDecision), row.max_workers, row.decided_at, max(0.0, row.age_s)
        )
        for row in await tx.all(sql.newest_decisions(rows=fleets_max))
    }


async def list_decisions(tx: ControlTx, fleet_id: FleetId, *, since_s: float) -> list[DecisionRow]:
    """Those that changed something, newest first."""
    return [
        DecisionRow.from_row(row)
        for row in await tx.all(sql.decisions_since(fleet_id, since_s=since_s, rows=STEPS_MAX))
    ]
