"""The runs of one pool go on: woken when a job of theirs has ended or a person has decided; and looked at anyway."""

import contextlib
import math
import random
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field

import structlog

from comfyfleet import jobs, pipelines, tenants, workflows
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError, Unavailable
from comfyfleet.kernel.ids import RunId, TenantId
from comfyfleet.pipelines import Advanced, DueRun, Recipe, Recipes
from comfyfleet.workflows.effects import Offer

NAME = "advance_runs"
EVERY_S = 5.0
BATCH = 200
# A run that somebody held, who may be one that wakes nobody here, is looked at again so soon.
AGAIN_S = 0.03

# What an effect is, and costs, is asked again after so long: a run of a thousand jobs asks ten times a second.
RECIPES_S = 1.0

OnScore = Callable[[TenantId, RunId, int], None]

log = structlog.get_logger()


async def tick(
    house: House,
    pool: str,
    *,
    rng: random.Random,
    on_begun: Callable[[], None] | None = None,
    on_score: OnScore | None = None,
    on_missed: Callable[[], None] | None = None,
    kept: "KeptRecipes | None" = None,
) -> int:
    """How many runs need not be looked at again. `on_begun`: there are jobs to carry over, and perhaps events.

    `on_score`: a gate that a scorer has to open. `on_missed`: somebody else held a run just then.
    """
    async with house.pool_tx(pool, read_only=True) as tx:
        due = await pipelines.list_due(tx, rows=BATCH)
    if not due:
        return 0
    recipes = await (kept or KeptRecipes(house)).read({slug for run in due for slug in run.effects})
    async with house.control_tx(read_only=True) as tx:
        suspended = await tenants.suspended_of(tx, {run.tenant_id for run in due})
    done, outage = 0, None
    for tenant_id, run_ids in _by_tenant(due).items():
        try:
            found = await _advance(house, pool, tenant_id, run_ids, recipes, rng, is_suspended=tenant_id in suspended)
        except Unavailable as problem:
            outage = problem
            break
        except Exception as problem:
            # One tenant's trouble is no reason for the others to stand still.
            log.error("runs.not_advanced", tenant_id=str(tenant_id), pool=pool, exc_info=problem)
        else:
            done += found.looked_at - found.left_due
            for run_id, position in found.to_score:
                (on_score or _nobody)(tenant_id, run_id, position)
            if found.missed and on_missed is not None:
                on_missed()
        if on_begun is not None:
            on_begun()
    if outage is not None:
        raise outage
    return done


def _nobody(tenant_id: TenantId, run_id: RunId, position: int) -> None:
    """Where no scorer runs, the run stays due."""


@dataclass
class KeptRecipes:
    """What effects were a moment ago. One that could not be used is asked for again."""

    house: House
    _read_at: float = -math.inf
    _found: dict[str, Recipe] = field(default_factory=dict)

    async def read(self, slugs: Collection[str]) -> Recipes:
        now = time.monotonic()
        found = self._found if now - self._read_at <= RECIPES_S else {}
        missing = set(slugs) - found.keys()
        fresh = await read_recipes(self.house, missing) if missing else {}
        good = {slug: recipe for slug, recipe in fresh.items() if isinstance(recipe, Recipe)}
        if found is not self._found:
            # In their place only now: whoever asks meanwhile gets the old ones.
            self._found, self._read_at = good, now
        else:
            self._found |= good
        return {**self._found, **fresh}

    async def read_again(self) -> Recipes:
        """Those that were of use lately: whoever settles jobs of runs does not know yet what they will need."""
        return await self.read(list(self._found))

    async def freshen(self) -> None:
        """Before they are too old, by somebody for whom nobody waits."""
        began = time.monotonic()
        if not self._found or began - self._read_at <= RECIPES_S / 2:
            return
        with contextlib.suppress(Unavailable):
            fresh = await read_recipes(self.house, list(self._found))
            self._found = {slug: recipe for slug, recipe in fresh.items() if isinstance(recipe, Recipe)}
            self._read_at = began


@dataclass(frozen=True)
class GoingOn:
    """What runs need to go on in the transaction that settles their jobs. `on_advanced`: that has been committed."""

    recipes: KeptRecipes
    rng: random.Random
    on_advanced: Callable[[TenantId, Advanced], Awaitable[None]]


async def read_recipes(house: House, slugs: Collection[str]) -> Recipes:
    """What these effects are just now."""
    async with house.control_tx(read_only=True) as tx:
        offers = await house.take_runnables(tx, slugs)
    return {slug: await _recipe(house, offer) for slug, offer in offers.items()}


async def _recipe(house: House, offer: Offer | FleetError) -> Recipe | FleetError:
    if isinstance(offer, FleetError) or offer.version is None:
        return offer if isinstance(offer, FleetError) else FleetError(f"{offer.effect.slug!r} has nothing to run.")
    try:
        graph = await workflows.read_graph(house.store, offer.version)
        return Recipe(offer, offer.version, graph, await house.reported_file_inputs())
    except Unavailable as problem:
        return problem


def _by_tenant(due: Sequence[DueRun]) -> dict[TenantId, list[RunId]]:
    groups: dict[TenantId, list[RunId]] = defaultdict(list)
    for each in due:
        groups[each.tenant_id].append(each.id)
    return groups


async def _advance(
    house: House,
    pool: str,
    tenant_id: TenantId,
    run_ids: Sequence[RunId],
    recipes: Recipes,
    rng: random.Random,
    *,
    is_suspended: bool,
) -> Advanced:
    whole, found = Advanced(), Advanced(has_more=True)
    while found.has_more:
        async with house.pool(pool).tenant_tx(tenant_id) as tx:
            found = await pipelines.advance_runs(
                tx,
                run_ids,
                recipes,
                rules=house.run_rules,
                webhook_secret=house.webhook_secret(tenant_id),
                rng=rng,
                is_suspended=is_suspended,
            )
        tell_begun(house, found)
        house.live.changed_runs(run_ids)
        whole.looked_at += found.looked_at
        whole.left_due += found.left_due
        whole.to_score += found.to_score
        whole.missed += found.missed
    return whole


def tell_begun(house: House, found: Advanced) -> None:
    jobs.count_new(house.facts.note, found.jobs)
    for job in found.jobs:
        house.live.changed(job.id, user_id=job.user_id)
