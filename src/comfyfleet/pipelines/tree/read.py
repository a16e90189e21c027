"""Look candidates and votes up. Another user's is not there."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import CandidateId, RunId, UserId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.pipelines.lifecycle import CandidateStatus
from comfyfleet.pipelines.model import Candidate, RunJob, Vote
from comfyfleet.pipelines.read import read_run
from comfyfleet.pipelines.tree import sql
from comfyfleet.storage import File

UNDER_WAY_MAX = 1_000


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


@dataclass(frozen=True, slots=True)
class Leaf:
    """`media_type`: of its picture; none where that is gone."""

    candidate: Candidate
    media_type: str | None


async def list_tree(
    tx: TenantTx, run_id: RunId, user_id: UserId, request: PageRequest
) -> tuple[Page[Leaf], Sequence[RunJob]]:
    """As they were made, and the jobs that are under way for more."""
    await read_run(tx, run_id, user_id)
    rows = await tx.all(sql.tree_page(run_id, after=request.after, rows=request.rows))
    jobs = [RunJob.from_row(row) for row in await tx.all(sql.under_way(run_id, rows=UNDER_WAY_MAX))]
    leaves = [Leaf(Candidate.from_row(row), row.mime_type) for row in rows]
    return Page.cut(leaves, [row.id for row in rows], request), jobs


async def list_pictures(
    tx: TenantTx, run_id: RunId, *, after: UUID | None, rows: int
) -> list[tuple[CandidateId, File]]:
    """For the house: whoever's run it is. As they were made."""
    found = await tx.all(sql.pictures_of(run_id, after=after, rows=rows))
    return [(row.candidate_id, File.from_row(row)) for row in found]


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
