"""What the queue decided reaches the tenants of one pool."""

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

import structlog

from comfyfleet import jobs, pipelines
from comfyfleet.dispatch import DispatchStatus, settlements
from comfyfleet.dispatch.settlements import Settlement
from comfyfleet.house import House
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import FleetError, Unavailable
from comfyfleet.kernel.ids import EffectId, JobId, RunId, SettlementId, TenantId
from comfyfleet.workflows import effects

NAME = "apply_settlements"
EVERY_S = 2.0
BATCH = 100
TRIES_MAX = 10

OnRuns = Callable[[TenantId, Collection[RunId]], None]

log = structlog.get_logger()


async def tick(house: House, pool: str, *, chance: random.Random, on_runs: OnRuns | None = None) -> int:
    """Take, apply, mark. What was applied and not marked is applied again, which moves nothing.

    A pool that does not answer is nobody's fault: what was taken is given back, and counts as no try.
    `on_runs`: jobs of runs have ended, and the runs can go on.
    """
    async with house.control_tx() as tx:
        due = await settlements.due_settlements(tx, pool, rows=BATCH)
    applied: list[SettlementId] = []
    outage: Unavailable | None = None
    left = _by_tenant(due)
    while left and outage is None:
        try:
            applied += await _apply_all(house, left[0], chance=chance, on_runs=on_runs or _nobody)
            left.pop(0)
        except Unavailable as problem:
            outage = problem
    if due:
        async with house.control_tx() as tx:
            await settlements.mark_applied(tx, applied)
            await settlements.release(tx, [each.id for group in left for each in group])
        await _note_timings(house, [each for each in due if each.id in set(applied)])
    if outage is not None:
        raise outage
    return len(due)


async def _note_timings(house: House, applied: Sequence[Settlement]) -> None:
    """How long each effect took the last time. Nobody's money: what a crash leaves out, the next job puts right."""
    timings: dict[EffectId, float] = {}
    for group in _by_tenant([each for each in applied if each.outcome is DispatchStatus.COMPLETED]):
        async with house.pool(group[0].pool).tenant_tx(group[0].tenant_id, read_only=True) as tenant_tx:
            found = await jobs.read_timings(tenant_tx, group)
        timings |= {each.effect_id: each.seconds for each in found}
    if timings:
        async with house.control_tx() as tx:
            for effect_id in sorted(timings):
                await effects.note_timing(tx, effect_id, timings[effect_id])


def _by_tenant(due: Sequence[Settlement]) -> list[list[Settlement]]:
    groups: dict[TenantId, list[Settlement]] = defaultdict(list)
    for each in due:
        groups[each.tenant_id].append(each)
    return list(groups.values())


async def _apply_all(
    house: House, group: list[Settlement], *, chance: random.Random, on_runs: OnRuns
) -> list[SettlementId]:
    """One tenant's in one transaction; where one of them is in the way, each in its own. Those that were applied."""
    try:
        async with house.pool(group[0].pool).tenant_tx(group[0].tenant_id) as tx:
            runs = await pipelines.apply_settlements(tx, group)
    except Unavailable:
        raise
    except Exception:
        return [each.id for each in group if await _apply(house, each, chance=chance.random(), on_runs=on_runs)]
    if runs:
        on_runs(group[0].tenant_id, runs)
        house.live.changed_runs(runs)
    for each in group:
        house.live.changed(JobId(each.dispatch_id))
    return [each.id for each in group]


async def _apply(house: House, settlement: Settlement, *, chance: float, on_runs: OnRuns) -> bool:
    """False: not this time, or never; then it stands aside, and the others go on."""
    try:
        async with house.pool(settlement.pool).tenant_tx(settlement.tenant_id) as tx:
            runs = await pipelines.apply_settlement(tx, settlement)
        if runs:
            on_runs(settlement.tenant_id, runs)
            house.live.changed_runs(runs)
        house.live.changed(JobId(settlement.dispatch_id))
        return True
    except Unavailable:
        raise
    except FleetError as problem:
        await _set_aside(house, settlement, f"{problem.code}: {problem.message}")
    except Exception as problem:
        # Perhaps a passing fault of the database, perhaps one of ours: a few tries tell.
        text = f"{type(problem).__name__}: {problem}"
        if settlement.tries + 1 >= TRIES_MAX:
            await _set_aside(house, settlement, text)
        else:
            await _try_later(house, settlement, text, pause_s=backoff_s(settlement.tries + 1, chance=chance))
    return False


def _nobody(tenant_id: TenantId, run_ids: Collection[RunId]) -> None:
    """Nobody waits."""


async def _set_aside(house: House, settlement: Settlement, error: str) -> None:
    log.error("settlement.parked", dispatch_id=str(settlement.dispatch_id), pool=settlement.pool, problem=error)
    async with house.control_tx() as tx:
        await settlements.park(tx, settlement.id, error=error)


async def _try_later(house: House, settlement: Settlement, error: str, *, pause_s: float) -> None:
    log.warning("settlement.postponed", dispatch_id=str(settlement.dispatch_id), pool=settlement.pool, problem=error)
    async with house.control_tx() as tx:
        await settlements.postpone(tx, settlement.id, error=error, pause_s=pause_s)
