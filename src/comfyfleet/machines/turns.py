"""Which fleets this replica looks at now, and what is kept of what was decided."""

from comfyfleet.db import ControlTx
from comfyfleet.kernel.ids import FleetId
from comfyfleet.machines import sql

QUIET_S = 2 * 3600.0
REFUSAL_S = 900.0


async def due_fleets(tx: ControlTx, *, holder: str, every_s: float, hold_s: float) -> dict[FleetId, bool]:
    """Held by this replica until it releases them. False: only an order would make it decide before its turn."""
    rows = await tx.all(sql.hold_due(holder=holder, every_s=every_s, hold_s=hold_s))
    return {row.fleet_id: row.decided_at is None or bool(row.is_due) for row in rows}


async def any_empty_fleet(tx: ControlTx) -> bool:
    """Whether an order may need a machine before the next turn."""
    return bool((await tx.one(sql.any_empty())).is_any)


async def release_fleet(tx: ControlTx, fleet_id: FleetId, *, holder: str) -> None:
    await tx.run(sql.release(fleet_id, holder=holder))


async def note_problem(tx: ControlTx, fleet_id: FleetId, problem: str | None) -> None:
    """What its adapter failed with; the next decision tells it."""
    await tx.run(sql.note_problem(fleet_id, problem=problem))


async def last_refusal(tx: ControlTx, fleet_id: FleetId) -> str | None:
    """What the provider lacked in its newest launch."""
    row = await tx.maybe(sql.last_launch_problem(fleet_id, age_s=REFUSAL_S))
    return row.problem if row is not None else None


async def forget_old_decisions(tx: ControlTx, *, age_s: float) -> int:
    """Decisions that changed nothing go after two hours; everything else after `age_s`."""
    gone = await tx.run(sql.forget_decisions(quiet_s=QUIET_S, age_s=age_s))
    await tx.run(sql.forget_launches(age_s=age_s))
    await tx.run(sql.forget_machines(age_s=age_s))
    return gone
