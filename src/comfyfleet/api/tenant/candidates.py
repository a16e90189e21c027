"""What runs made: looked at, compared, rejected."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Self

import anyio.to_thread
from fastapi import APIRouter, Depends, Request
from pydantic import Field

from comfyfleet import pipelines, storage
from comfyfleet.api.background import wake_runs, wake_webhooks
from comfyfleet.api.bodies import Body, View, page_request
from comfyfleet.api.policy import TenantCaller, TheHouse, TheOptions, home_of
from comfyfleet.api.tenant import ordering
from comfyfleet.api.tenant.files import thumb_url
from comfyfleet.api.tenant.videos import sign_files
from comfyfleet.house import House
from comfyfleet.kernel.ids import CandidateId, FileId, JobId, RunId, UserId, VoteId
from comfyfleet.kernel.page import PageRequest
from comfyfleet.pipelines import Candidate, CandidateStatus, Making, Vote
from comfyfleet.storage import File
from comfyfleet.tenants import Caller, Scope

router = APIRouter(prefix="/candidates", tags=["candidates"])
votes_router = APIRouter(prefix="/votes", tags=["votes"])

Reader = Annotated[Caller, Depends(TenantCaller(Scope.READ))]
Writer = Annotated[Caller, Depends(TenantCaller(Scope.WRITE))]
Pages = Annotated[PageRequest, Depends(page_request)]


class CandidateView(View):
    """`name`: where it stands in listings and exports. `scores`: a scorer's, never mixed into `elo`.

    `is_passed`: may have children, as far as a scorer decides. The URL expires: ask again; `thumb_url`
    does not.
    """

    id: CandidateId
    run_id: RunId
    position: int
    parent_id: CandidateId | None
    job_id: JobId
    file_id: FileId
    image_index: int
    name: str
    url: str | None
    thumb_url: str | None
    seed: int | None
    status: CandidateStatus
    is_passed: bool
    elo: float
    votes: int
    children: int
    failures: int
    scores: dict[str, float] | None
    created_at: datetime

    @classmethod
    def of(cls, candidate: Candidate, *, name: str, url: str | None, thumb: str | None) -> Self:
        own = {each: getattr(candidate, each) for each in cls.model_fields if hasattr(candidate, each)}
        return cls.model_validate({**own, "name": name, "url": url, "thumb_url": thumb})


class CandidatePage(View):
    candidates: list[CandidateView]
    next_cursor: str | None


class MakingView(View):
    """All that made it. `graph` is the one its worker ran; none where that has been deleted for its age."""

    candidate_id: CandidateId
    job_id: JobId
    effect: str | None
    workflow_version: int | None
    seed: int | None
    properties: dict[str, Any]
    graph: dict[str, Any] | None

    @classmethod
    def of(cls, making: Making) -> Self:
        return cls(
            candidate_id=making.candidate.id,
            job_id=making.candidate.job_id,
            effect=making.effect,
            workflow_version=making.workflow_version,
            seed=making.candidate.seed,
            properties=dict(making.properties),
            graph=None if making.graph is None else dict(making.graph),
        )


class RejectedView(View):
    """`gone`: how many went, itself included."""

    candidate: CandidateView
    gone: int


class VoteBody(Body):
    winner_id: CandidateId
    loser_id: CandidateId
    idempotency_key: Annotated[
        str | None, Field(min_length=1, max_length=255, description="Sent again, it counts once.")
    ] = None


class VoteView(View):
    id: VoteId
    run_id: RunId
    position: int
    seq: int
    winner_id: CandidateId
    loser_id: CandidateId
    user_id: UserId
    created_at: datetime

    @classmethod
    def of(cls, vote: Vote) -> Self:
        return cls.model_validate({name: getattr(vote, name) for name in cls.model_fields})


class VotePage(View):
    votes: list[VoteView]
    next_cursor: str | None


@router.get("/{candidate_id}")
async def get_candidate(
    candidate_id: CandidateId, caller: Reader, house: TheHouse, options: TheOptions
) -> CandidateView:
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await pipelines.read_candidate(tx, candidate_id, caller.user_id)
    return (await view_candidates(house, caller, [found], expires_s=options.url_ttl_s))[0]


@router.get("/{candidate_id}/children")
async def get_children(
    candidate_id: CandidateId, caller: Reader, house: TheHouse, options: TheOptions, page: Pages
) -> CandidatePage:
    """What was made of it, oldest first."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        parent = await pipelines.read_candidate(tx, candidate_id, caller.user_id)
        found = await pipelines.list_candidates(tx, parent.run_id, caller.user_id, page, parent_id=candidate_id)
    views = await view_candidates(house, caller, found.rows, expires_s=options.url_ttl_s)
    return CandidatePage(candidates=views, next_cursor=found.next_cursor)


@router.get("/{candidate_id}/making")
async def get_making(candidate_id: CandidateId, caller: Reader, house: TheHouse) -> MakingView:
    """The exact graph and seed that made it."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        return MakingView.of(await pipelines.read_making(tx, candidate_id, caller.user_id))


@router.post("/{candidate_id}/reject")
async def reject_candidate(
    candidate_id: CandidateId, request: Request, caller: Writer, house: TheHouse, options: TheOptions
) -> RejectedView:
    """It and all that was made of it. What waits below it is cancelled and refunded."""
    home = home_of(caller)
    candidate, gone = await ordering.reject(house, home, candidate_id, caller.user_id)
    house.live.changed_runs([candidate.run_id])
    wake_runs(request, home.pool)
    wake_webhooks(request, home.pool)
    return RejectedView(
        candidate=(await view_candidates(house, caller, [candidate], expires_s=options.url_ttl_s))[0], gone=gone
    )


@votes_router.post("", status_code=201)
async def cast_vote(body: VoteBody, request: Request, caller: Writer, house: TheHouse) -> VoteView:
    """A is better than B: both scores move."""
    home = home_of(caller)
    async with house.tenant_tx(home) as tx:
        vote, _ = await pipelines.cast_vote(
            tx,
            caller.user_id,
            winner_id=body.winner_id,
            loser_id=body.loser_id,
            idempotency_key=body.idempotency_key,
        )
    house.live.changed_runs([vote.run_id])
    wake_runs(request, home.pool)
    return VoteView.of(vote)


async def view_candidates(
    house: House, caller: Caller, found: Sequence[Candidate], *, expires_s: int
) -> list[CandidateView]:
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        files = await storage.read_files(tx, [each.file_id for each in found], caller.user_id)
        named = await pipelines.name_candidates(tx, found, caller.user_id, _types(files))
    urls = await anyio.to_thread.run_sync(partial(sign_files, house.store, list(files.values()), expires_s=expires_s))
    return [
        CandidateView.of(
            each, name=named[each.id], url=urls.get(each.file_id), thumb=thumb_url(files.get(each.file_id))
        )
        for each in found
    ]


def _types(files: Mapping[FileId, File]) -> dict[FileId, str]:
    return {file_id: file.media_type for file_id, file in files.items()}
