"""What the queue decided reaches the tenants of one pool."""

import random
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import structlog

from comfyfleet import jobs, pipelines, tenants
from comfyfleet.dispatch import DispatchStatus, settlements
from comfyfleet.dispatch.settlements import Settlement
from comfyfleet.house import House
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import FleetError, Unavailable
from comfyfleet.kernel.ids import EffectId, JobId, RunId, SettlementId, TenantId
from comfyfleet.kernel.traceparent import trace_id_of
from comfyfleet.traces.control_plane import TracedJob
from comfyfleet.upkeep.advance_runs import GoingOn, tell_begun
from comfyfleet.workflows import effects

NAME = "apply_settlements"
EVERY_S = 2.0
BATCH = 100
TRIES_MAX = 10
# Most of a settlement's time is waiting for the databases' answers: whoever comes meanwhile need not wait, too.
AT_ONCE = 2
# Of one tenant in one transaction: whoever is among them waits for all of them. The more there are, the less that
# matters, and the more a commit for each would cost.
TOGETHER_MIN = 2
TOGETHER_SHARE = 10

# Whose, which, and whether they are still to be looked at.
OnRuns = Callable[[TenantId, Collection[RunId], bool], None]

log = structlog.get_logger()


async def tick(
    house: House, pool: str, *, chance: random.Random, on_runs: OnRuns | None = None, going_on: GoingOn | None = None
) -> int:
    """Take, apply, mark. What was applied and not marked is applied again, which moves nothing.

    A pool that does not answer is nobody's fault: what was taken is given back, and counts as no try.
    `on_runs`: jobs of runs have ended, and their runs are due. `going_on`: whose runs go on in the same transaction.
    """
    async with house.control_tx() as tx:
        due = await settlements.due_settlements(tx, pool, rows=BATCH)
        of = {each.tenant_id for each in due} if going_on is not None else set()
        suspended = await tenants.suspended_of(tx, of)
    applying = _Applying(house, chance, on_runs or _nobody, going_on, suspended)
    outage: Unavailable | None = None
    left = _by_tenant(due)
    while left and outage is None:
        try:
            await applying.all(left[0])
            left.pop(0)
        except Unavailable as problem:
            outage = problem
    if due:
        async with house.control_tx() as tx:
            await settlements.mark_applied(tx, applying.applied)
            await settlements.release(tx, [each.id for group in left for each in group])
            for effect_id in sorted(applying.timings):
                await effects.note_timing(tx, effect_id, applying.timings[effect_id])
    if outage is not None:
        raise outage
    if due and going_on is not None:
        await going_on.recipes.freshen()
    return len(due)


def _by_tenant(due: Sequence[Settlement]) -> list[list[Settlement]]:
    """So many at a time, the tenants by turns."""
    groups: dict[TenantId, list[Settlement]] = defaultdict(list)
    for each in due:
        groups[each.tenant_id].append(each)
    size = max(TOGETHER_MIN, len(due) // TOGETHER_SHARE)
    parts = [[group[at : at + size] for at in range(0, len(group), size)] for group in groups.values()]
    return [part for turn in zip_longest(*parts) for part in turn if part]


@dataclass
class _Applying:
    """`timings`: how long each effect took the last time."""

    house: House
    chance: random.Random
    on_runs: OnRuns
    going_on: GoingOn | None
    suspended: frozenset[TenantId]  # their runs begin nothing: they are left due, and paused by who looks at them
    applied: list[SettlementId] = field(default_factory=list)
    timings: dict[EffectId, float] = field(default_factory=dict)

    async def all(self, group: list[Settlement]) -> None:
        """One tenant's in one transaction; where one of them is in the way, each in its own."""
        goes_on = self.going_on is not None and group[0].tenant_id not in self.suspended
        if goes_on and all(each.outcome is DispatchStatus.COMPLETED for each in group):
            try:
                await self._apply(group, self.going_on)
                return
            except Exception as problem:
                # Somebody holds a wallet, or a run is in trouble: what was paid for is settled all the same. Where the
                # database is away, that is told by who comes next.
                if not isinstance(problem, Unavailable):
                    log.warning("runs.not_gone_on", tenant_id=str(group[0].tenant_id), exc_info=problem)
        try:
            await self._apply(group)
        except Unavailable:
            raise
        except Exception:
            for each in group:
                await self._one(each)

    async def _apply(self, group: list[Settlement], going_on: GoingOn | None = None) -> None:
        tenant_id, advanced, began_s = group[0].tenant_id, None, time.time()
        recipes = await going_on.recipes.read_again() if going_on is not None else {}
        async with self.house.pool(group[0].pool).tenant_tx(tenant_id) as tx:
            settled = await pipelines.apply_settlements(tx, group, goes_on=bool(recipes))
            if going_on is not None and recipes and settled.runs:
                advanced = await pipelines.go_on(
                    tx,
                    settled.runs,
                    recipes,
                    rules=self.house.run_rules,
                    webhook_secret=self.house.webhook_secret(tenant_id),
                    rng=going_on.rng,
                )
        self.applied += [each.id for each in group]
        self.timings |= settled.timings
        jobs.count_ended(self.house.facts.note, settled.ended)
        for each in settled.ended:
            traced = TracedJob(each.traceparent, each.job.id, tenant_id, each.job.workflow_id)
            outcome, failure = each.job.status.value, each.job.error_class
            self.house.traces.settled(traced, outcome, began_s=began_s, error_type=failure)
        if advanced is not None and going_on is not None:
            await going_on.on_advanced(tenant_id, advanced)
            tell_begun(self.house, advanced)
        self._tell(group, settled.runs, are_due=advanced is None)

    def _tell(self, group: Sequence[Settlement], runs: Collection[RunId], *, are_due: bool) -> None:
        if runs:
            self.on_runs(group[0].tenant_id, runs, are_due)
            self.house.live.changed_runs(runs)
        for each in group:
            self.house.live.changed(JobId(each.dispatch_id))
        self.house.live.people_changed()

    async def _one(self, settlement: Settlement) -> None:
        """Not this time, or never: then it stands aside, and the others go on."""
        try:
            await self._apply([settlement])
        except Unavailable:
            raise
        except FleetError as problem:
            await _set_aside(self.house, settlement, f"{problem.code}: {problem.message}")
        except Exception as problem:
            # Perhaps a passing fault of the database, perhaps one of ours: a few tries tell.
            text = f"{type(problem).__name__}: {problem}"
            if settlement.tries + 1 >= TRIES_MAX:
                await _set_aside(self.house, settlement, text)
            else:
                pause_s = backoff_s(settlement.tries + 1, chance=self.chance.random())
                await _try_later(self.house, settlement, text, pause_s=pause_s)


def _nobody(tenant_id: TenantId, run_ids: Collection[RunId], are_due: bool) -> None:
    """Nobody waits."""


def _facts(settlement: Settlement) -> dict[str, str]:
    """For a log line."""
    facts, trace_id = {"dispatch_id": str(settlement.dispatch_id)}, trace_id_of(settlement.traceparent)
    return {**facts, "pool": settlement.pool, **({} if trace_id is None else {"trace_id": trace_id})}


async def _set_aside(house: House, settlement: Settlement, error: str) -> None:
    log.error("settlement.parked", **_facts(settlement), problem=error)
    async with house.control_tx() as tx:
        await settlements.park(tx, settlement.id, error=error)


async def _try_later(house: House, settlement: Settlement, error: str, *, pause_s: float) -> None:
    log.warning("settlement.postponed", **_facts(settlement), problem=error)
    async with house.control_tx() as tx:
        await settlements.postpone(tx, settlement.id, error=error, pause_s=pause_s)
