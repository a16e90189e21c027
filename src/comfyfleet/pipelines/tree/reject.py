"""A candidate is not wanted: it and all that was made of it are out, and what is under way below it is cancelled."""

from collections import Counter
from collections.abc import Sequence

from comfyfleet import jobs
from comfyfleet.db import TenantTx
from comfyfleet.kernel.ids import CandidateId, JobId, UserId
from comfyfleet.pipelines.count import count_step, make_due
from comfyfleet.pipelines.model import Candidate
from comfyfleet.pipelines.read import hold_run
from comfyfleet.pipelines.tree import sql
from comfyfleet.pipelines.tree.read import read_candidate


async def reject_candidate(
    tx: TenantTx, candidate_id: CandidateId, user_id: UserId
) -> tuple[Candidate, int, Sequence[JobId]]:
    """It, how many went with it (itself included), and the jobs to cancel after the commit. Once more is fine."""
    run_id = (await read_candidate(tx, candidate_id, user_id)).run_id
    await hold_run(tx, run_id, user_id)
    gone = await tx.all(sql.reject_branch(candidate_id))
    for position, count in Counter(row.position for row in gone).items():
        await count_step(tx, run_id, position, alive=-count)
    if gone:
        await make_due(tx, run_id)
    unwanted = [JobId(row.job_id) for row in await tx.all(sql.jobs_below_rejected(run_id))]
    await jobs.request_cancels(tx, unwanted)
    return await read_candidate(tx, candidate_id, user_id), len(gone), unwanted
