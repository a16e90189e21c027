"""A pipeline is written down: as the first of its name, or as a new version if it differs from the last one."""

from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import PipelineId, UserId, new_id
from comfyfleet.pipelines import sql
from comfyfleet.pipelines.fit import Offers, require_effects
from comfyfleet.pipelines.model import NewPipeline, Pipeline
from comfyfleet.pipelines.read import read_pipeline


async def apply_pipeline(tx: TenantTx, new: NewPipeline, *, user_id: UserId, offers: Offers) -> tuple[Pipeline, bool]:
    """And whether it is a new version. Raises InvalidInput for steps that do not fit their effects."""
    require_effects(new.steps, offers)
    while True:
        row = await tx.maybe(sql.newest_pipeline(new.slug))
        if row is not None and row.archived_at is None and _says_the_same(Pipeline.from_row(row), new):
            return Pipeline.from_row(row), False
        version = 1 if row is None else row.version + 1
        made = await tx.maybe(sql.insert_pipeline(PipelineId(new_id()), new, version=version, user_id=user_id))
        if made is not None:
            return Pipeline.from_row(made), True


async def archive_pipeline(tx: TenantTx, pipeline_id: PipelineId) -> None:
    """All its versions: no run is started with it any more. Those under way go on; applied again, it is back."""
    pipeline = await read_pipeline(tx, pipeline_id)
    if await tx.run(sql.archive_pipeline(pipeline.slug)) == 0:
        raise NotFound("pipeline", pipeline_id)


def _says_the_same(pipeline: Pipeline, new: NewPipeline) -> bool:
    return (pipeline.name, pipeline.description, pipeline.steps) == (new.name, new.description, new.steps)
