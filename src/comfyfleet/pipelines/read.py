"""Look pipelines and runs up. Pipelines are a tenant's, runs are their users': another user's is not there."""

from collections import defaultdict
from collections.abc import Sequence

from comfyfleet.db import TenantTx
from comfyfleet.db.direct import each_of, length_of
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import PipelineId, RunId, UserId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.pipelines import sql
from comfyfleet.pipelines.lifecycle import RunStatus
from comfyfleet.pipelines.model import Pipeline, Run, RunJob, RunJobState, RunStep


async def read_pipeline(tx: TenantTx, pipeline_id: PipelineId) -> Pipeline:
    row = await tx.maybe(sql.pipeline_by_id(pipeline_id))
    if row is None:
        raise NotFound("pipeline", pipeline_id)
    return Pipeline.from_row(row)


async def find_pipeline(tx: TenantTx, slug: str) -> Pipeline:
    """The version that new runs get."""
    row = await tx.maybe(sql.newest_pipeline(slug))
    if row is None or row.archived_at is not None:
        raise NotFound("pipeline", slug)
    return Pipeline.from_row(row)


async def read_pipelines(tx: TenantTx, pipeline_ids: Sequence[PipelineId]) -> dict[PipelineId, Pipeline]:
    wanted = list(dict.fromkeys(pipeline_ids))
    rows = await tx.all(sql.pipelines_by_id(length_of(wanted)), **each_of("pipeline", wanted)) if wanted else []
    return {row.id: Pipeline.from_row(row) for row in rows}


async def list_pipelines(tx: TenantTx, request: PageRequest, *, slug: str | None = None) -> Page[Pipeline]:
    """The newest version of each; with `slug`, all versions of that one. Newest first."""
    if slug is None:
        rows = await tx.all(sql.pipeline_page(after=request.after, rows=request.rows))
    else:
        rows = await tx.all(sql.version_page(slug, after=request.after, rows=request.rows))
    return Page.cut([Pipeline.from_row(row) for row in rows], [row.id for row in rows], request)


async def read_run(tx: TenantTx, run_id: RunId, user_id: UserId) -> Run:
    row = await tx.maybe(sql.run_of_user(run_id, user_id))
    if row is None:
        raise NotFound("run", run_id)
    return Run.from_row(row)


async def read_run_of_house(tx: TenantTx, run_id: RunId) -> Run | None:
    """Whoever's it is."""
    row = await tx.maybe(sql.run_of_house(run_id))
    return None if row is None else Run.from_row(row)


async def hold_run(tx: TenantTx, run_id: RunId, user_id: UserId) -> Run:
    """Nobody else changes it, or anything of it, until this transaction ends."""
    row = await tx.maybe(sql.hold_run(run_id, user_id))
    if row is None:
        raise NotFound("run", run_id)
    return Run.from_row(row)


async def list_runs(
    tx: TenantTx, user_id: UserId, request: PageRequest, *, status: RunStatus | None = None
) -> Page[Run]:
    """Newest first."""
    rows = await tx.all(sql.run_page(user_id, status=status, after=request.after, rows=request.rows))
    return Page.cut([Run.from_row(row) for row in rows], [row.id for row in rows], request)


async def read_steps(tx: TenantTx, run_ids: Sequence[RunId]) -> dict[RunId, list[RunStep]]:
    """In their order."""
    found: dict[RunId, list[RunStep]] = defaultdict(list)
    for row in await tx.all(sql.steps_of(length_of(run_ids)), **each_of("run", run_ids)) if run_ids else []:
        found[row.run_id].append(RunStep.from_row(row))
    return found


async def list_run_jobs(
    tx: TenantTx, run_id: RunId, user_id: UserId, request: PageRequest, *, state: RunJobState | None = None
) -> Page[RunJob]:
    """Newest first."""
    await read_run(tx, run_id, user_id)
    rows = await tx.all(sql.job_page(run_id, state=state, after=request.after, rows=request.rows))
    return Page.cut([RunJob.from_row(row) for row in rows], [row.job_id for row in rows], request)
