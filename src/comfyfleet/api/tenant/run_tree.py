"""The whole tree of a run in one answer: a thousand candidates with their thumbs, and what is under way."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter, Depends, Query

from comfyfleet import pipelines
from comfyfleet.api.bodies import CURSOR_CHARS_MAX, View
from comfyfleet.api.policy import TenantCaller, TheHouse, home_of
from comfyfleet.jobs import JobStatus
from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.kernel.ids import CandidateId, FileId, JobId, RunId
from comfyfleet.kernel.origin import absolute
from comfyfleet.kernel.page import PageRequest, cursor_at
from comfyfleet.live.model import JobState
from comfyfleet.media.model import FAMILIES
from comfyfleet.pipelines import CandidateStatus, Leaf, RunJob
from comfyfleet.tenants import Caller, Scope

router = APIRouter(prefix="/pipeline-runs", tags=["pipeline runs"])

Reader = Annotated[Caller, Depends(TenantCaller(Scope.READ))]
# An answer of about a megabyte before it is packed.
TREE_ROWS_MAX = 2_000
TREE_ROWS_DEFAULT = 1_000
# What else a scorer writes down is for its own use.
SHOWN_SCORES = ("sharpness", "exposure", "unique")


def tree_request(
    limit: Annotated[int, Query(ge=1, le=TREE_ROWS_MAX, description="Candidates a page.")] = TREE_ROWS_DEFAULT,
    cursor: Annotated[
        str | None, Query(max_length=CURSOR_CHARS_MAX, description="`next_cursor` of the page before.")
    ] = None,
) -> PageRequest:
    return PageRequest.parse(rows=limit, cursor=cursor)


class LeafView(View):
    """A candidate, without what only one that is looked at needs. `thumb_url` does not expire."""

    id: CandidateId
    position: int
    parent_id: CandidateId | None
    job_id: JobId
    file_id: FileId
    thumb_url: str | None
    seed: int | None
    status: CandidateStatus
    is_passed: bool
    elo: float
    votes: int
    children: int
    failures: int
    scores: dict[str, float]
    created_at: datetime

    @classmethod
    def of(cls, leaf: Leaf) -> Self:
        candidate = leaf.candidate
        own = {each: getattr(candidate, each) for each in cls.model_fields if hasattr(candidate, each)}
        thumb = absolute(f"/api/files/{candidate.file_id}/thumb") if leaf.media_type in FAMILIES else None
        scores = {name: value for name, value in (candidate.scores or {}).items() if name in SHOWN_SCORES}
        return cls.model_validate({**own, "scores": scores, "thumb_url": thumb})


class BudView(View):
    """A job that is to become a candidate. `status`: as the queue knows it."""

    job_id: JobId
    position: int
    parent_id: CandidateId | None
    ordinal: int
    status: JobStatus
    created_at: datetime

    @classmethod
    def of(cls, job: RunJob, states: Mapping[JobId, JobState]) -> Self:
        status = states[job.job_id].status if job.job_id in states else JobStatus.QUEUED
        own = {each: getattr(job, each) for each in cls.model_fields if hasattr(job, each)}
        return cls.model_validate({**own, "status": status})


class TreeView(View):
    """`last_cursor`: what was made since is asked for with it."""

    candidates: list[LeafView]
    under_way: list[BudView]
    next_cursor: str | None
    last_cursor: str | None


@router.get("/{run_id}/tree")
async def get_tree(
    run_id: RunId, caller: Reader, house: TheHouse, page: Annotated[PageRequest, Depends(tree_request)]
) -> TreeView:
    """As they were made, a thousand at once; and the jobs under way."""
    home = home_of(caller)
    async with house.tenant_tx(home, read_only=True) as tx:
        found, under_way = await pipelines.list_tree(tx, run_id, caller.user_id, page)
    states: dict[JobId, JobState] = {}
    if under_way:
        with suppress(DatabaseUnavailable):  # nice to know, and no reason to fail
            states = await house.live.states.read(home.pool, [each.job_id for each in under_way])
    return TreeView(
        candidates=[LeafView.of(each) for each in found.rows],
        under_way=[BudView.of(each, states) for each in under_way],
        next_cursor=found.next_cursor,
        last_cursor=cursor_at(found.rows[-1].candidate.id) if found.rows else None,
    )
