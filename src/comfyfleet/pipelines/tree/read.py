"""Look candidates and votes up. Another user's is not there."""

from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import CandidateId, RunId, UserId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.pipelines.lifecycle import CandidateStatus
from comfyfleet.pipelines.model import Candidate, Vote
from comfyfleet.pipelines.read import read_run
from comfyfleet.pipelines.tree import sql


async def read_candidate(tx: TenantTx, candidate_id: CandidateId, user_id: UserId) -> Candidate:
    row = await tx.maybe(sql.of_user(candidate_id, user_id))
    if row is None:
        raise NotFound("candidate", candidate_id)
    return Candidate.from_row(row)


async def list_candidates(
    tx: TenantTx,
    run_id: RunId,
    user_id: UserId,
    request: PageRequest,
    *,
    position: int | None = None,
    status: CandidateStatus | None = None,
    parent_id: CandidateId | None = None,
) -> Page[Candidate]:
    """As they were made."""
    await read_run(tx, run_id, user_id)
    rows = await tx.all(
        sql.candidate_page(
            run_id, position=position, status=status, parent_id=parent_id, after=request.after, rows=request.rows
        )
    )
    return Page.cut([Candidate.from_row(row) for row in rows], [row.id for row in rows], request)


async def rank_candidates(
    tx: TenantTx, run_id: RunId, user_id: UserId, position: int, request: PageRequest
) -> Page[Candidate]:
    """Of one step, the best first; those that were rejected are left out."""
    await read_run(tx, run_id, user_id)
    last = await tx.maybe(sql.by_id(), candidate_id=request.after) if request.after else None
    after_rank = None if last is None else last.rank
    rows = await tx.all(
        sql.ranked_page(run_id, position, after_rank=after_rank, after=request.after, rows=request.rows)
    )
    return Page.cut([Candidate.from_row(row) for row in rows], [row.id for row in rows], request)


async def list_votes(
    tx: TenantTx, run_id: RunId, user_id: UserId, request: PageRequest, *, position: int | None = None
) -> Page[Vote]:
    """As they were cast."""
    await read_run(tx, run_id, user_id)
    rows = await tx.all(sql.vote_page(run_id, position, after=request.after, rows=request.rows))
    return Page.cut([Vote.from_row(row) for row in rows], [row.id for row in rows], request)
