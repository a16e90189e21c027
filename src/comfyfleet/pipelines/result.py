"""A step's job ended: what it made takes its place in the tree, in the transaction that settles the job.

So there is no moment in which a job is over and its candidates are not there.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from comfyfleet import jobs, ledger
from comfyfleet.db import TenantTx
from comfyfleet.db.direct import each_of, length_of
from comfyfleet.dispatch.settlements import Settlement
from comfyfleet.jobs import Ended, JobStatus
from comfyfleet.kernel.ids import CandidateId, EffectId, FileId, JobId, RunId, new_id
from comfyfleet.pipelines import sql
from comfyfleet.pipelines.count import count_parent, count_run, count_step
from comfyfleet.pipelines.lifecycle import CandidateStatus
from comfyfleet.pipelines.model import RunJob, RunJobState
from comfyfleet.pipelines.tree import sql as tree_sql

NO_PICTURE = "It ended without a picture."
STATES = {
    JobStatus.COMPLETED: RunJobState.DONE,
    JobStatus.FAILED: RunJobState.FAILED,
    JobStatus.CANCELLED: RunJobState.CANCELLED,
}


@dataclass(frozen=True, slots=True)
class Applied:
    """`runs`: those that have something new to look at, and how many jobs of each have ended. `timings`: how long each
    effect took the last time."""

    runs: Counter[RunId] = field(default_factory=Counter)
    timings: dict[EffectId, float] = field(default_factory=dict)
    ended: list[Ended] = field(default_factory=list)


async def apply_settlements(tx: TenantTx, settlements: Sequence[Settlement], *, goes_on: bool = False) -> Applied:
    """One tenant's. What was applied before moves nothing. `goes_on`: the runs will begin jobs in this transaction.

    Runs first, by their ids, then wallets, by their users, then videos: everybody who needs several takes them in this
    order.
    """
    owners, applied = await jobs.read_owners(tx, settlements), Applied()
    if any(owner.run_id is not None for owner in owners.values()):
        await tx.all(sql.hold_runs_of_jobs(length_of(list(owners))), **each_of("job", list(owners)))
        for user_id in sorted({owner.user_id for owner in owners.values()}) if goes_on else ():
            await ledger.hold_wallet(tx, user_id)
    for each in sorted(settlements, key=lambda each: _user_of(each, owners)):
        owner = owners.get(JobId(each.dispatch_id))
        ended = await jobs.apply_settlement(tx, each, is_started=owner is not None and owner.is_started)
        if ended is None:
            continue
        applied.ended.append(ended)
        if ended.job.run_id is not None:
            await _take_result(tx, ended)
            applied.runs[ended.job.run_id] += 1
        if ended.job.status is JobStatus.COMPLETED and ended.job.effect_id is not None and ended.seconds:
            applied.timings[ended.job.effect_id] = ended.seconds
    return applied


async def apply_settlement(tx: TenantTx, settlement: Settlement) -> Applied:
    return await apply_settlements(tx, [settlement])


def _user_of(settlement: Settlement, owners: dict[JobId, jobs.Owner]) -> str:
    owner = owners.get(JobId(settlement.dispatch_id))
    return "" if owner is None else str(owner.user_id)


async def _take_result(tx: TenantTx, ended: Ended) -> None:
    job, pictures = ended.job, _pictures_of(ended)
    state, error = STATES[job.status], job.error_message
    if state is RunJobState.DONE and not pictures:
        # Nothing to show for it: were it not counted as a failure, it would be tried for ever.
        state, error = RunJobState.FAILED, NO_PICTURE
    why = error if state is RunJobState.FAILED else None
    run_job = RunJob.from_row(await tx.one(sql.end_job(state), of_job=job.id, why=why))
    alive = await _plant(tx, run_job, pictures)
    await _count(tx, run_job, state, made=len(pictures), alive=alive, spent=job.status is JobStatus.COMPLETED)


def _pictures_of(ended: Ended) -> list[tuple[int, FileId]]:
    """With the places that they have among all that the job made."""
    return [(index, file.id) for index, file in enumerate(ended.made) if file.media_type.startswith("image/")]


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
    await count_run(tx, run_job.run_id, in_flight=-1, tokens_spent=-refund, is_due=True)
