"""A decision and what becomes of it, written down: each write once, whatever is repeated."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from comfyfleet import fleet
from comfyfleet.db import ControlTx
from comfyfleet.fleet import WorkerEvent, WorkerStatus
from comfyfleet.fleet.lifecycle import LIVE
from comfyfleet.fleet.presence import take_turns
from comfyfleet.fleet.sql import lock_fleet
from comfyfleet.kernel.ids import FleetId, WorkerId, id_at
from comfyfleet.machines import sql
from comfyfleet.machines.model import FleetScaling, OpenLaunch, Seen
from comfyfleet.scaling import (
    EndReason,
    LaunchAnswer,
    LaunchProblem,
    MachineEnd,
    ScalingDecision,
    ScalingState,
    from_json,
    launch_token,
    learn_launch,
    to_json,
)

PROBLEM_CHARS_MAX = 500
# A launch that was never answered for so long is given up; what it launched is found by the list of machines.
GIVEN_UP_S = 600.0


async def note_decision(
    tx: ControlTx, scaling: FleetScaling, seen: Seen, decision: ScalingDecision, state: ScalingState
) -> bool:
    """With the launches it asks for. False: the settings changed, or another replica has decided meanwhile."""
    fleet_id = scaling.fleet_id
    figures = decision.figures
    nothing_runs = not any(each.managed for each in seen.inputs.machines) and not figures.ready
    moved = await tx.run(
        sql.move_state(
            fleet_id,
            generation=scaling.generation,
            state=to_json(state),
            is_empty=nothing_runs and not decision.launches,
            counted_to=seen.counted_to,
            decided_at=seen.at,
        )
    )
    if not moved:
        return False
    await _note_machines(tx, fleet_id, seen)
    decision_id = id_at(seen.at)
    row: dict[str, Any] = {
        "id": decision_id,
        "fleet_id": fleet_id,
        "decided_at": seen.at,
        "inputs": to_json(seen.inputs),
        "decision": to_json(decision),
        "reason": decision.reason.value,
        "desired": decision.desired,
        "ready": figures.ready,
        "starting": figures.starting,
        "draining": figures.draining,
        "waiting": seen.inputs.waiting,
        "arrived_gpu_s": seen.arrived_gpu_s,
    }
    row["is_change"] = await _is_change(tx, fleet_id, decision)
    await tx.run(sql.insert_decision(), **_given(row))
    for ordinal, each in enumerate(decision.launches):
        launch = {
            "decision_id": decision_id,
            "ordinal": ordinal,
            "fleet_id": fleet_id,
            "token": launch_token(scaling.fleet.replace("/", "-"), str(decision_id), ordinal),
            "machine_class": each.machine_class,
            "market": each.market.value,
            "zone": each.zone,
            "machines": each.number,
        }
        await tx.run(sql.insert_launch(), **_given(launch))
    return True


def _given(row: dict[str, Any]) -> dict[str, Any]:
    """As the statements take it."""
    return {f"new_{name}": value for name, value in row.items()}


async def _is_change(tx: ControlTx, fleet_id: FleetId, decision: ScalingDecision) -> bool:
    if decision.launches or decision.drains or decision.ends:
        return True
    before = await tx.all(sql.latest_decisions(fleet_id, rows=1))
    if not before:
        return True
    last, figures = before[0], decision.figures
    now = (decision.reason.value, decision.desired, figures.ready, figures.starting, figures.draining)
    return now != (last.reason, last.desired, last.ready, last.starting, last.draining)


async def _note_machines(tx: ControlTx, fleet_id: FleetId, seen: Seen) -> None:
    """Machines that appeared, such as those of a launch whose answer was lost; and those that are gone."""
    for each in seen.new:
        # By the database's clock: the provider's may be ahead.
        launched_at = min(seen.at, datetime.fromtimestamp(max(0.0, each.launched_at_s), UTC))
        await _add(tx, fleet_id, each.id, each.machine_class, each.market.value, each.zone, launched_at)
    for name, start_s in seen.starts.items():
        await tx.run(sql.note_start(fleet_id, name, start_s=start_s))
    if seen.lost:
        for row in await tx.all(sql.mark_ended(fleet_id, list(seen.lost))):
            await _sign_off(tx, fleet_id, row.machine_id)


async def _add(
    tx: ControlTx, fleet_id: FleetId, name: str, machine_class: str, market: str, zone: str, launched_at: datetime
) -> None:
    row = {
        "fleet_id": fleet_id,
        "machine_id": name,
        "machine_class": machine_class,
        "market": market,
        "zone": zone,
        "launched_at": launched_at,
    }
    await tx.run(sql.keep_machine(), **_given(row))


async def _sign_off(tx: ControlTx, fleet_id: FleetId, machine_id: str) -> None:
    """Its machine is gone: it counts no longer. One with leases stays until they have run out."""
    worker = await _worker_of(tx, fleet_id, machine_id)
    if worker is not None and not worker.leases and worker.status in LIVE:
        await fleet.move_worker(tx, machine_id, WorkerEvent.LEAVE)


# ── launches ────────────────────────────────────────────────────────────────────────────────


async def open_launches(tx: ControlTx, fleet_id: FleetId) -> list[OpenLaunch]:
    return [OpenLaunch.from_row(row) for row in await tx.all(sql.open_launches(fleet_id))]


async def note_plan(tx: ControlTx, launch: OpenLaunch, plan: str) -> bool:
    """Before the provider is asked. False: another replica has planned this launch, or it is answered."""
    changed = await tx.run(sql.note_plan(launch.decision_id, launch.ordinal, before=launch.plan, plan=plan))
    return bool(changed)


async def note_answer(tx: ControlTx, scaling: FleetScaling, launch: OpenLaunch, answer: LaunchAnswer) -> bool:
    """Its machines, and what it teaches of the place. False: it stays open, or was noted before."""
    is_open = any(each.problem in (LaunchProblem.UNREACHABLE, LaunchProblem.PENDING) for each in answer.errors)
    if is_open and not answer.ids and launch.age_s < GIVEN_UP_S:
        return False
    problem = "; ".join(each.text for each in answer.errors)[:PROBLEM_CHARS_MAX] or None
    closed = await tx.maybe(
        sql.close_launch(launch.decision_id, launch.ordinal, launched=len(answer.ids), problem=problem)
    )
    if closed is None:
        return False
    row = await tx.maybe(sql.lock_scaling(scaling.fleet_id))
    if row is not None:
        at: datetime = (await tx.one(sql.time_now())).at
        state = learn_launch(from_json(row.state, ScalingState), launch.request, answer, at_s=at.timestamp())
        await tx.run(sql.change_state(scaling.fleet_id, generation=row.generation, state=to_json(state)))
    request = launch.request
    for each in answer.ids:
        await _add(
            tx,
            scaling.fleet_id,
            each,
            request.machine_class,
            request.market.value,
            request.zone,
            launch.asked_at,
        )
    return True


# ── drains and ends ─────────────────────────────────────────────────────────────────────────


async def drain_worker(tx: ControlTx, fleet_id: FleetId, worker_id: str) -> bool:
    """False: it is not at work any more, or has taken a job since: then it stays."""
    worker = await _worker_of(tx, fleet_id, worker_id)
    if worker is None:
        return False
    await take_turns(tx, [WorkerId(worker.id)])
    worker = await _worker_of(tx, fleet_id, worker_id)
    if worker is None or worker.leases or worker.status != WorkerStatus.APPROVED:
        return False
    await fleet.move_worker(tx, worker_id, WorkerEvent.DRAIN)
    await tx.run(sql.note_drain(fleet_id, worker_id, reason=EndReason.DRAINED.value))
    return True


async def ask_ends(tx: ControlTx, fleet_id: FleetId, ends: Sequence[MachineEnd]) -> list[str]:
    """The machines that may really be ended. From now on no worker registers from them.

    Registrations of the fleet wait for this, and leases of each worker; so what was read still holds.
    """
    if not ends:
        return []
    await tx.one(lock_fleet(fleet_id))
    return [each.machine_id for each in ends if await _ask_end(tx, fleet_id, each)]


async def _ask_end(tx: ControlTx, fleet_id: FleetId, end: MachineEnd) -> bool:
    worker = await tx.maybe(sql.standing_of(end.machine_id))
    if worker is not None:
        await take_turns(tx, [WorkerId(worker.id)])
        worker = await tx.maybe(sql.standing_of(end.machine_id))
    if worker is not None and worker.fleet_id != fleet_id and worker.status in LIVE:
        return False  # it joined another fleet and works there, whatever this one knows of its machine
    if worker is not None and (worker.leases or worker.status not in _ENDABLE[end.reason]):
        return False
    return await tx.maybe(sql.ask_end(fleet_id, end.machine_id, reason=end.reason.value)) is not None


# In these states a worker takes no job, and gets no other state but by registering or by an operator.
_ENDABLE = {
    EndReason.DRAINED: (WorkerStatus.DRAINING, WorkerStatus.GONE, WorkerStatus.REVOKED),
    EndReason.ORPHANED: (WorkerStatus.GONE, WorkerStatus.REVOKED),
    EndReason.NEVER_REGISTERED: (WorkerStatus.PENDING, WorkerStatus.GONE, WorkerStatus.REVOKED),
}


async def _worker_of(tx: ControlTx, fleet_id: FleetId, machine_id: str) -> Any | None:
    """None: no worker of that name has joined this fleet."""
    worker = await tx.maybe(sql.standing_of(machine_id))
    return worker if worker is not None and worker.fleet_id == fleet_id else None
