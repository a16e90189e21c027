"""A job of a run that failed is tried again by hand, in the same place; the failure counts against nobody any more."""

from comfyfleet import jobs
from comfyfleet.db import TenantTx
from comfyfleet.jobs import Job, JobRules
from comfyfleet.kernel.errors import IllegalMove, InvalidInput, NotFound
from comfyfleet.kernel.ids import JobId, RunId, UserId
from comfyfleet.pipelines import sql
from comfyfleet.pipelines.begin import Place, take_place
from comfyfleet.pipelines.count import count_parent, count_run, count_step, make_due
from comfyfleet.pipelines.lifecycle import RUN, CandidateStatus, RunEvent, RunStatus
from comfyfleet.pipelines.look import budget_of
from comfyfleet.pipelines.model import Run, RunJob, RunJobState
from comfyfleet.pipelines.read import hold_run, read_steps
from comfyfleet.pipelines.tree import sql as tree_sql


async def retry_run_job(tx: TenantTx, run_id: RunId, job_id: JobId, user_id: UserId, *, rules: JobRules) -> Job:
    """With the same graph and the same seed. A run that seemed over goes on.

    Raises IllegalMove for a job that did not fail or was tried again already, InvalidInput where its place was filled
    since, its parent rejected, or the run's budget spent; InsufficientTokens.
    """
    run = await hold_run(tx, run_id, user_id)
    row = await tx.maybe(sql.job_of_run(run_id, job_id))
    if row is None:
        raise NotFound("job", job_id)
    failed = RunJob.from_row(row)
    if failed.state is not RunJobState.FAILED:
        raise IllegalMove("job of a run", state=failed.state, event="retry")
    if run.status is RunStatus.STOPPED:
        raise IllegalMove("run", state=run.status, event="retry")
    _require_budget(run, failed)
    place = Place(run_id, failed.position, failed.parent_id, await _next_ordinal(tx, failed))
    placed = await jobs.retry_order(tx, job_id, user_id, idempotency_key=place.key, rules=rules, run_id=run_id)
    await tx.one(sql.mark_retried(job_id))
    await take_place(tx, place, placed.job, seed=failed.seed)
    await _count(tx, run, failed)
    return placed.job


async def _next_ordinal(tx: TenantTx, failed: RunJob) -> int:
    step = (await read_steps(tx, [failed.run_id]))[failed.run_id][failed.position]
    filled, begun = step.made + step.in_flight, step.started
    if failed.parent_id is not None:
        parent = await tx.one(tree_sql.by_id(), candidate_id=failed.parent_id)
        if parent.status == CandidateStatus.REJECTED:
            raise InvalidInput("job_id", "what it was to work on has been rejected")
        filled, begun = parent.children, parent.started
    if filled >= step.variants:
        raise InvalidInput("job_id", "its place has been filled since")
    return int(begun)


def _require_budget(run: Run, failed: RunJob) -> None:
    if not budget_of(run, is_over_time=False).allows(failed.tokens):
        raise InvalidInput("job_id", "the run's budget is spent: raise it first")


async def _count(tx: TenantTx, run: Run, failed: RunJob) -> None:
    await count_step(tx, run.id, failed.position, in_flight=1, started=1, failures=-1)
    if failed.parent_id is not None:
        await count_parent(tx, failed.parent_id, failures=-1)
    await count_run(tx, run.id, in_flight=1, jobs_started=1, tokens_spent=failed.tokens)
    if run.status in RUN.sources(RunEvent.GO_ON):
        await tx.one(sql.move_run(run.id, RunEvent.GO_ON))
    await make_due(tx, run.id)
