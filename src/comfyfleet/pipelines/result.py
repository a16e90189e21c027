"""A step's job ended: what it made takes its place in the tree, in the transaction that settles the job.

So there is no moment in which a job is over and its candidates are not there.
"""

from collections.abc import Sequence

from comfyfleet import jobs, storage
from comfyfleet.db import TenantTx
from comfyfleet.dispatch.settlements import Settlement
from comfyfleet.jobs import Job, JobStatus
from comfyfleet.kernel.ids import CandidateId, FileId, JobId, RunId, new_id
from comfyfleet.pipelines import sql
from comfyfleet.pipelines.count import count_parent, count_run, count_step, make_due
from comfyfleet.pipelines.lifecycle import CandidateStatus
from comfyfleet.pipelines.model import RunJob, RunJobState
from comfyfleet.pipelines.tree import sql as tree_sql

NO_PICTURE = "It ended without a picture."
STATES = {
    JobStatus.COMPLETED: RunJobState.DONE,
    JobStatus.FAILED: RunJobState.FAILED,
    JobStatus.CANCELLED: RunJobState.CANCELLED,
}


async def apply_settlements(tx: TenantTx, settlements: Sequence[Settlement]) -> set[RunId]:
    """One tenant's. The runs that have something new to look at. What was applied before moves nothing.

    Runs first, by their ids, then wallets, by their users: everybody who needs both takes them in this order.
    """
    owners = await jobs.read_owners(tx, settlements)
    if any(owner.run_id is not None for owner in owners.values()):
        await tx.all(sql.hold_runs_of_jobs(list(owners)))
    moved = set()
    for each in sorted(settlements, key=lambda each: _user_of(each, owners)):
        owner = owners.get(JobId(each.dispatch_id))
        if await jobs.apply_settlement(tx, each) and owner is not None and owner.run_id is not None:
            await _take_result(tx, JobId(each.dispatch_id))
            moved.add(owner.run_id)
    return moved


async def apply_settlement(tx: TenantTx, settlement: Settlement) -> set[RunId]:
    return await apply_settlements(tx, [settlement])


def _user_of(settlement: Settlement, owners: dict[JobId, jobs.Owner]) -> str:
    owner = owners.get(JobId(settlement.dispatch_id))
    return "" if owner is None else str(owner.user_id)


async def _take_result(tx: TenantTx, job_id: JobId) -> None:
    job, run_job = await jobs.get_job(tx, job_id), RunJob.from_row(await tx.one(sql.job_by_id(), of_job=job_id))
    pictures = await _pictures_of(tx, job) if job.status is JobStatus.COMPLETED else []
    state, error = STATES[job.status], job.error_message
    if state is RunJobState.DONE and not pictures:
        # Nothing to show for it: were it not counted as a failure, it would be tried for ever.
        state, error = RunJobState.FAILED, NO_PICTURE
    await tx.one(sql.end_job(state), of_job=job_id, why=error if state is RunJobState.FAILED else None)
    alive = await _plant(tx, run_job, pictures)
    await _count(tx, run_job, state, made=len(pictures), alive=alive, spent=job.status is JobStatus.COMPLETED)


async def _pictures_of(tx: TenantTx, job: Job) -> list[tuple[int, FileId]]:
    """With the places that they have among all that the job made."""
    made = [each.file_id for each in (await jobs.list_outputs(tx, [job.id])).get(job.id, [])]
    files = await storage.read_files(tx, made, job.user_id)
    return [
        (index, file_id)
        for index, file_id in enumerate(made)
        if file_id in files and files[file_id].media_type.startswith("image/")
    ]


async def _plant(tx: TenantTx, run_job: RunJob, pictures: Sequence[tuple[int, FileId]]) -> int:
    """How many of them live: below a candidate that was rejected in the meantime nothing does."""
    if not pictures:
        return 0
    parent = None if run_job.parent_id is None else await tx.one(tree_sql.by_id(), candidate_id=run_job.parent_id)
    is_dead = parent is not None and parent.status == CandidateStatus.REJECTED
    status = CandidateStatus.REJECTED if is_dead else CandidateStatus.ACTIVE
    rows = [
        {
            "id": CandidateId(new_id()),
            "run_id": run_job.run_id,
            "position": run_job.position,
            "parent_id": run_job.parent_id,
            "job_id": run_job.job_id,
            "file_id": file_id,
            "image_index": index,
            "seed": run_job.seed,
            "status": status,
        }
        for index, file_id in pictures
    ]
    await tx.run_each(tree_sql.insert_candidate(), rows)
    return 0 if is_dead else len(rows)


async def _count(tx: TenantTx, run_job: RunJob, state: RunJobState, *, made: int, alive: int, spent: bool) -> None:
    failures = 1 if state is RunJobState.FAILED else 0
    step = {"in_flight": -1, "made": made, "alive": alive, "failures": failures}
    await count_step(tx, run_job.run_id, run_job.position, **step)
    if run_job.parent_id is not None:
        await count_parent(tx, run_job.parent_id, children=made - 1, failures=failures)
    refund = 0 if spent else run_job.tokens
    await count_run(tx, run_job.run_id, in_flight=-1, tokens_spent=-refund)
    await make_due(tx, run_job.run_id)
