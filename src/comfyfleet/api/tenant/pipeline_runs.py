"""Runs of pipelines: started, watched, taken in hand."""

import random
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field

from comfyfleet import jobs, pipelines
from comfyfleet.api.background import wake_relay, wake_runs, wake_webhooks
from comfyfleet.api.bodies import Body, View, page_request
from comfyfleet.api.policy import TenantCaller, TheHouse, TheOptions, home_of
from comfyfleet.api.tenant import ordering
from comfyfleet.api.tenant.candidates import CandidatePage, CandidateView, VotePage, VoteView, view_candidates
from comfyfleet.api.tenant.pipelines import Scalar, read_offers
from comfyfleet.house import House
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import CandidateId, JobId, PipelineId, RunId
from comfyfleet.kernel.page import PageRequest
from comfyfleet.pipelines import (
    Approval,
    CandidateStatus,
    MoreBudget,
    NewRun,
    Pipeline,
    Run,
    RunJob,
    RunJobState,
    RunStatus,
    RunStep,
)
from comfyfleet.pipelines.model import SCORERS, STEPS_MAX, TOP_MAX, VARIANTS_MAX, ApprovalKind, SeedPolicy
from comfyfleet.tenants import Caller, Scope

router = APIRouter(prefix="/pipeline-runs", tags=["pipeline runs"])

Reader = Annotated[Caller, Depends(TenantCaller(Scope.READ))]
Writer = Annotated[Caller, Depends(TenantCaller(Scope.WRITE))]
Pages = Annotated[PageRequest, Depends(page_request)]
Position = Annotated[int, Field(ge=0, lt=STEPS_MAX, description="The step's, counted from 0.")]
AtStep = Annotated[int, Query(ge=0, lt=STEPS_MAX, description="Of this step, counted from 0.")]
Jobs = Annotated[int, Field(strict=True, ge=1, le=10**6)]
Tokens = Annotated[int, Field(strict=True, ge=0, le=10**15)]
Hours = Annotated[float, Field(strict=True, gt=0, le=8760)]
SEED_BITS = 53


class ApprovalBody(Body):
    """Who opens the gates: a `person`; or by themselves, for `all`, for the best `after` so many `votes`, or for those
    that a `scorer` likes."""

    kind: ApprovalKind = "person"
    after: Annotated[int | None, Field(ge=1, le=10**6)] = None
    scorer: Annotated[str | None, Field(max_length=100, description=f"One of {', '.join(SCORERS)}.")] = None


class NewRunBody(Body):
    """Of the pipeline by `pipeline_id`, or of the newest version by its slug as `pipeline`."""

    pipeline_id: PipelineId | None = None
    pipeline: Annotated[str | None, Field(max_length=63)] = None
    name: Annotated[str, Field(min_length=1, max_length=200)] = "Run"
    variables: dict[str, Scalar] = Field({}, max_length=200, description="What the pipeline's steps need.")
    target_folder: Annotated[str, Field(min_length=1, max_length=200, description="Such as `gym-shoot/november`.")]
    variants: Annotated[int, Field(ge=1, le=VARIANTS_MAX, description="Candidates a parent, and of the first step.")]
    top: Annotated[int, Field(ge=1, le=TOP_MAX, description="How many of a step's best go on.")]
    finals: Annotated[int | None, Field(ge=1, le=10**6, description="So many of the last step are enough.")] = None
    concurrency: Annotated[int, Field(ge=1, le=1000, description="Jobs under way at once.")] = 1
    tokens_max: Tokens | None = None
    jobs_max: Jobs | None = None
    hours_max: Hours | None = None
    approval: ApprovalBody = ApprovalBody()
    seed_policy: SeedPolicy = "varied"
    seed: Annotated[int | None, Field(ge=0, lt=2**53, description="Default: drawn.")] = None
    idempotency_key: Annotated[str | None, Field(min_length=1, max_length=255)] = None


class BudgetBody(Body):
    """New limits, for those that are named. `hours`: from now on."""

    tokens_max: Tokens | None = None
    jobs_max: Jobs | None = None
    hours: Hours | None = None


class ApproveBody(Body):
    position: Position
    top: Annotated[int | None, Field(ge=1, le=TOP_MAX, description="Default: the run's.")] = None


class ReopenBody(Body):
    position: Position


class RunStepView(View):
    """`top`: how many of its best may have children; none: its gate is closed."""

    position: int
    name: str
    slug: str
    variants: int
    top: int | None
    approved_at: datetime | None
    approved_by: str | None
    made: int
    alive: int
    in_flight: int
    failures: int
    votes: int

    @classmethod
    def of(cls, step: RunStep, pipeline: Pipeline) -> Self:
        written = pipeline.steps[step.position]
        return cls.model_validate(
            {name: getattr(step, name) for name in cls.model_fields if hasattr(step, name)}
            | {"name": written.name, "slug": written.slug}
        )


class RunView(View):
    """`tokens_spent`: set aside or consumed; what comes back is taken off again."""

    id: RunId
    pipeline_id: PipelineId
    pipeline: str
    pipeline_version: int
    name: str
    status: RunStatus
    status_reason: str | None
    variables: dict[str, Scalar]
    target_folder: str
    variants: int
    top: int
    finals: int | None
    concurrency: int
    tokens_max: int | None
    jobs_max: int | None
    ends_at: datetime | None
    tokens_spent: int
    jobs_started: int
    in_flight: int
    approval: ApprovalBody
    seed_policy: SeedPolicy
    seed: int
    steps: list[RunStepView]
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, run: Run, steps: Sequence[RunStep], pipeline: Pipeline) -> Self:
        own = {name: getattr(run, name) for name in cls.model_fields if hasattr(run, name)}
        views = [RunStepView.of(step, pipeline) for step in steps]
        said: dict[str, Any] = {
            **own,
            "approval": run.approval.as_json(),
            "pipeline": pipeline.slug,
            "pipeline_version": pipeline.version,
            "steps": views,
        }
        return cls.model_validate(said)


class RunPage(View):
    runs: list[RunView]
    next_cursor: str | None


class RunJobView(View):
    """One job of a run: the place in the tree that it was to fill, and what became of it."""

    job_id: JobId
    position: int
    parent_id: CandidateId | None
    ordinal: int
    seed: int | None
    state: RunJobState
    error: str | None
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, job: RunJob) -> Self:
        return cls.model_validate({name: getattr(job, name) for name in cls.model_fields})


class RunJobPage(View):
    jobs: list[RunJobView]
    next_cursor: str | None


class RetriedJobView(View):
    job_id: JobId


class PairView(View):
    """Two to compare; none where there are not two."""

    pair: list[CandidateView]


@router.post("", status_code=201)
async def create_run(body: NewRunBody, request: Request, caller: Writer, house: TheHouse) -> RunView:
    """Start a run. Its first jobs are begun at once, each paid for as it is begun."""
    home = home_of(caller)
    if (body.pipeline_id is None) == (body.pipeline is None):
        raise InvalidInput("pipeline_id", "name the pipeline by pipeline_id or by pipeline, and not by both")
    async with house.tenant_tx(home, read_only=True) as tx:
        if body.pipeline_id is not None:
            pipeline = await pipelines.read_pipeline(tx, body.pipeline_id)
        else:
            pipeline = await pipelines.find_pipeline(tx, str(body.pipeline))
    offers = await read_offers(house, pipeline.steps)
    given = body.model_dump(exclude={"pipeline", "pipeline_id", "approval", "seed"})
    seed = secrets.randbits(SEED_BITS) if body.seed is None else body.seed
    approval = Approval(**body.approval.model_dump())
    new = NewRun(pipeline.id, caller.user_id, approval=approval, seed=seed, **given)
    async with house.tenant_tx(home) as tx:
        run, _ = await pipelines.create_run(tx, new, offers=offers, concurrency_max=house.run_jobs_per_tenant_max)
    house.live.changed_runs([run.id], user_id=caller.user_id)
    wake_runs(request, home.pool)
    return await _view(house, caller, run)


@router.get("")
async def get_runs(caller: Reader, house: TheHouse, page: Pages, status: RunStatus | None = None) -> RunPage:
    """Newest first."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await pipelines.list_runs(tx, caller.user_id, page, status=status)
    return RunPage(runs=await _views(house, caller, found.rows), next_cursor=found.next_cursor)


@router.get("/{run_id}")
async def get_run(run_id: RunId, caller: Reader, house: TheHouse) -> RunView:
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        run = await pipelines.read_run(tx, run_id, caller.user_id)
    return await _view(house, caller, run)


@router.post("/{run_id}/pause")
async def pause_run(run_id: RunId, caller: Writer, house: TheHouse) -> RunView:
    """No new jobs; those under way end as they will."""
    async with house.tenant_tx(home_of(caller)) as tx:
        run = await pipelines.pause_run(tx, run_id, caller.user_id)
    house.live.changed_runs([run.id])
    return await _view(house, caller, run)


@router.post("/{run_id}/resume")
async def resume_run(run_id: RunId, request: Request, caller: Writer, house: TheHouse) -> RunView:
    """Go on."""
    async with house.tenant_tx(home_of(caller)) as tx:
        run = await pipelines.resume_run(tx, run_id, caller.user_id)
    house.live.changed_runs([run.id])
    wake_runs(request, home_of(caller).pool)
    return await _view(house, caller, run)


@router.post("/{run_id}/stop")
async def stop_run(run_id: RunId, request: Request, caller: Writer, house: TheHouse) -> RunView:
    """For good. What waits is cancelled and refunded; what runs is told. What was made stays."""
    run = await ordering.stop(house, home_of(caller), run_id, caller.user_id)
    house.live.changed_runs([run.id])
    wake_webhooks(request, home_of(caller).pool)
    return await _view(house, caller, run)


@router.post("/{run_id}/budget")
async def raise_budget(run_id: RunId, body: BudgetBody, request: Request, caller: Writer, house: TheHouse) -> RunView:
    """A run that was paused for want of it goes on."""
    async with house.tenant_tx(home_of(caller)) as tx:
        run = await pipelines.raise_budget(tx, run_id, caller.user_id, MoreBudget(**body.model_dump()))
    house.live.changed_runs([run.id])
    wake_runs(request, home_of(caller).pool)
    return await _view(house, caller, run)


@router.post("/{run_id}/approve")
async def approve_step(run_id: RunId, body: ApproveBody, request: Request, caller: Writer, house: TheHouse) -> RunView:
    """Open the gate behind a step, for its best. Once more, with another number, it is that one."""
    async with house.tenant_tx(home_of(caller)) as tx:
        run = await pipelines.approve_step(tx, run_id, caller.user_id, body.position, top=body.top)
    house.live.changed_runs([run.id])
    wake_runs(request, home_of(caller).pool)
    return await _view(house, caller, run)


@router.post("/{run_id}/reopen")
async def reopen_step(run_id: RunId, body: ReopenBody, request: Request, caller: Writer, house: TheHouse) -> RunView:
    """Take an approval back: nothing new is made behind the gate until it is given again."""
    async with house.tenant_tx(home_of(caller)) as tx:
        run = await pipelines.reopen_step(tx, run_id, caller.user_id, body.position)
    house.live.changed_runs([run.id])
    wake_runs(request, home_of(caller).pool)
    return await _view(house, caller, run)


@router.get("/{run_id}/candidates")
async def get_candidates(
    run_id: RunId,
    caller: Reader,
    house: TheHouse,
    options: TheOptions,
    page: Pages,
    position: Annotated[int | None, Query(ge=0, lt=STEPS_MAX, description="Of this step only.")] = None,
    status: CandidateStatus | None = None,
) -> CandidatePage:
    """As they were made."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await pipelines.list_candidates(tx, run_id, caller.user_id, page, position=position, status=status)
    views = await view_candidates(house, caller, found.rows, expires_s=options.url_ttl_s)
    return CandidatePage(candidates=views, next_cursor=found.next_cursor)


@router.get("/{run_id}/ranking")
async def get_ranking(
    run_id: RunId, caller: Reader, house: TheHouse, options: TheOptions, page: Pages, position: AtStep = 0
) -> CandidatePage:
    """The candidates of one step, the best first; rejected ones are left out."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await pipelines.rank_candidates(tx, run_id, caller.user_id, position, page)
    views = await view_candidates(house, caller, found.rows, expires_s=options.url_ttl_s)
    return CandidatePage(candidates=views, next_cursor=found.next_cursor)


@router.get("/{run_id}/pair")
async def get_pair(
    run_id: RunId,
    caller: Reader,
    house: TheHouse,
    options: TheOptions,
    position: AtStep = 0,
    beside: Annotated[
        list[CandidateId] | None, Query(max_length=2, description="Being compared now: rather two others.")
    ] = None,
) -> PairView:
    """Which two of a step to compare next: near scores, few votes."""
    rng = random.Random()  # noqa: S311 a choice of pictures is no secret
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await pipelines.next_pair(tx, run_id, caller.user_id, position, rng, beside=beside or ())
    return PairView(pair=await view_candidates(house, caller, found or (), expires_s=options.url_ttl_s))


@router.get("/{run_id}/votes")
async def get_votes(run_id: RunId, caller: Reader, house: TheHouse, page: Pages) -> VotePage:
    """As they were cast. Replayed in this order, they give every score again."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await pipelines.list_votes(tx, run_id, caller.user_id, page)
    return VotePage(votes=[VoteView.of(each) for each in found.rows], next_cursor=found.next_cursor)


@router.get("/{run_id}/jobs")
async def get_run_jobs(
    run_id: RunId, caller: Reader, house: TheHouse, page: Pages, state: RunJobState | None = None
) -> RunJobPage:
    """Newest first; `state=failed` for those that can be tried again."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await pipelines.list_run_jobs(tx, run_id, caller.user_id, page, state=state)
    return RunJobPage(jobs=[RunJobView.of(each) for each in found.rows], next_cursor=found.next_cursor)


@router.post("/{run_id}/jobs/{job_id}/retry", status_code=201)
async def retry_run_job(
    run_id: RunId, job_id: JobId, request: Request, caller: Writer, house: TheHouse
) -> RetriedJobView:
    """Try a failed job again: same graph, same seed, same place. The failure counts against nobody any more."""
    home = home_of(caller)
    rules = ordering.rules_for(house, home)
    await ordering.require_offered(house, home, job_id, caller.user_id)
    async with house.tenant_tx(home) as tx:
        job = await pipelines.retry_run_job(tx, run_id, job_id, caller.user_id, rules=rules)
    jobs.count_new(house.facts.note, [job])
    house.live.changed(job.id, user_id=caller.user_id)
    house.live.changed_runs([run_id])
    wake_relay(request, home.pool)
    wake_runs(request, home.pool)
    return RetriedJobView(job_id=job.id)


async def _view(house: House, caller: Caller, run: Run) -> RunView:
    return (await _views(house, caller, [run]))[0]


async def _views(house: House, caller: Caller, runs: Sequence[Run]) -> list[RunView]:
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        steps = await pipelines.read_steps(tx, [run.id for run in runs])
        known = await pipelines.read_pipelines(tx, [run.pipeline_id for run in runs])
    return [RunView.of(run, steps[run.id], known[run.pipeline_id]) for run in runs]
