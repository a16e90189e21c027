"""One job of a run is begun: ordered like any other, and its place in the tree is taken."""

from dataclasses import dataclass
from typing import Any

from comfyfleet import jobs
from comfyfleet.db import TenantTx
from comfyfleet.jobs import Job, JobRules, Placed, Wish
from comfyfleet.kernel.errors import KeyReused
from comfyfleet.kernel.ids import CandidateId, FileId, RunId
from comfyfleet.kernel.secret import Secret
from comfyfleet.pipelines import sql
from comfyfleet.pipelines.count import count_parent
from comfyfleet.pipelines.fill import add_seeds, draw_seed, fill_properties
from comfyfleet.pipelines.model import Run, Step
from comfyfleet.pipelines.recipe import Recipe
from comfyfleet.pipelines.select import ChildGeneration, Generation
from comfyfleet.pipelines.tree import sql as tree_sql

BASE = "base"


@dataclass(frozen=True, slots=True)
class Place:
    """Where in which tree. The run itself stands in for a parent where there is none."""

    run_id: RunId
    position: int
    parent_id: CandidateId | None
    ordinal: int

    @classmethod
    def of(cls, found: Generation) -> "Place":
        parent_id = found.parent_id if isinstance(found, ChildGeneration) else None
        return cls(found.run_id, found.position, parent_id, found.ordinal)

    @property
    def key(self) -> str:
        """A job's name that comes only once: whoever begins it again finds it begun."""
        return f"run:{self.run_id}:{self.position}:{self.parent_id or BASE}:{self.ordinal}"


async def begin_job(
    tx: TenantTx, run: Run, step: Step, place: Place, recipe: Recipe, *, rules: JobRules, webhook_secret: Secret
) -> Placed | None:
    """None: the picture it was to work on is gone, and its parent is passed over from now on.

    Raises InvalidInput and KeyReused before anything is written.
    """
    input_file_id = None
    if step.needs_parent and place.parent_id is not None:
        input_file_id = await _find_picture(tx, run, place.parent_id)
        if input_file_id is None:
            await tx.run(tree_sql.pass_over([place.parent_id]))
            return None
    properties, seed = _properties(run, step, place, recipe)
    wish = Wish(
        run.user_id,
        jobs.digest_request("run", place.key),
        properties=properties,
        idempotency_key=place.key,
        input_file_id=input_file_id,
        run_id=run.id,
    )
    order = jobs.prepare_order(wish, recipe.offer, recipe.version, recipe.graph, rules=rules, reported=recipe.reported)
    placed = await jobs.place_order(tx, order, rules=rules, webhook_secret=webhook_secret)
    if placed.replayed:
        raise KeyReused(place.key)
    await take_place(tx, place, placed.job, seed=seed)
    return placed


async def take_place(tx: TenantTx, place: Place, job: Job, *, seed: int | None) -> None:
    """Its own row, and its parent's counts; those of the step and the run are the caller's."""
    row = {
        "job_id": job.id,
        "run_id": place.run_id,
        "position": place.position,
        "parent_id": place.parent_id,
        "place": place.parent_id or place.run_id,
        "ordinal": place.ordinal,
        "seed": seed,
        "tokens": job.reserved_tokens,
    }
    await tx.run_each(sql.insert_job(), [row])
    if place.parent_id is not None:
        await count_parent(tx, place.parent_id, children=1, started=1)


async def _find_picture(tx: TenantTx, run: Run, parent_id: CandidateId) -> FileId | None:
    found = await tx.maybe(tree_sql.picture_of(), candidate_id=parent_id, of_user=run.user_id)
    return None if found is None else FileId(found.id)


def _properties(run: Run, step: Step, place: Place, recipe: Recipe) -> tuple[dict[str, Any], int | None]:
    drawn = draw_seed(
        run.seed_policy,
        run.seed,
        position=place.position,
        place=place.parent_id or place.run_id,
        ordinal=place.ordinal,
    )
    return add_seeds(fill_properties(step, run.variables, recipe.offer), recipe.offer, drawn)
