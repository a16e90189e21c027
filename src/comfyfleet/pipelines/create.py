"""A run is started: written down, and due. Whoever looks next makes its first jobs."""

from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import InvalidInput, KeyReused
from comfyfleet.kernel.ids import RunId, new_id
from comfyfleet.pipelines import sql
from comfyfleet.pipelines.fit import Offers, check_run
from comfyfleet.pipelines.model import NewRun, Run
from comfyfleet.pipelines.read import read_pipeline

# What two requests with the same key must have in common.
SAME = (
    "pipeline_id",
    "name",
    "variables",
    "target_folder",
    "variants",
    "top",
    "finals",
    "concurrency",
    "approval",
    "seed_policy",
)


async def create_run(tx: TenantTx, new: NewRun, *, offers: Offers, concurrency_max: int) -> tuple[Run, bool]:
    """And whether it was started before, by the same key. Raises InvalidInput and NotFound; then nothing is kept."""
    pipeline = await read_pipeline(tx, new.pipeline_id)
    if pipeline.archived_at is not None:
        raise InvalidInput("pipeline_id", "this pipeline is archived: apply it again to use it")
    checked = check_run(new, pipeline.steps, offers, concurrency_max=concurrency_max)
    row = await tx.maybe(sql.insert_run(RunId(new_id()), checked))
    if row is None:
        return await _started_before(tx, checked), True
    variants = [{"position": at, "variants": step.variants or new.variants} for at, step in enumerate(pipeline.steps)]
    await tx.run_each(sql.insert_steps(row.id), variants)
    return Run.from_row(row), False


async def _started_before(tx: TenantTx, new: NewRun) -> Run:
    key = str(new.idempotency_key)
    run = Run.from_row(await tx.one(sql.run_by_key(new.user_id, key)))
    if any(getattr(run, name) != getattr(new, name) for name in SAME):
        raise KeyReused(key)
    return run
