"""Pipelines: what a run makes, step by step. Written whole, kept in versions."""

from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, Depends, Query, Response
from pydantic import Field

from comfyfleet import pipelines
from comfyfleet.api.bodies import Body, View, page_request
from comfyfleet.api.policy import TenantCaller, TheHouse, home_of
from comfyfleet.house import House
from comfyfleet.kernel.ids import PipelineId, UserId
from comfyfleet.kernel.page import PageRequest
from comfyfleet.pipelines import Pipeline, Step
from comfyfleet.pipelines.fit import Offers
from comfyfleet.pipelines.model import STEPS_MAX, VARIANTS_MAX
from comfyfleet.tenants import Caller, Scope
from comfyfleet.workflows import effects

router = APIRouter(prefix="/pipelines", tags=["pipelines"])

Reader = Annotated[Caller, Depends(TenantCaller(Scope.READ))]
Writer = Annotated[Caller, Depends(TenantCaller(Scope.WRITE))]
Scalar = str | int | float | bool


class NeedsBody(Body):
    """`parent`: the picture of the step before it. Left away: yes, but for the first step."""

    variables: list[str] = Field([], max_length=50, description="What a run must bring.")
    parent: Annotated[bool | str | None, Field(description="Or that step's name.")] = None


class StepBody(Body):
    name: Annotated[str, Field(min_length=1, max_length=200)]
    slug: Annotated[str | None, Field(max_length=63, description="Its folder. Default: from its name.")] = None
    effect: Annotated[str, Field(min_length=1, max_length=100, description="By its slug.")]
    needs: NeedsBody = NeedsBody()
    variants: Annotated[int | None, Field(ge=1, le=VARIANTS_MAX, description="Default: the run's.")] = None
    properties: dict[str, Scalar] = Field(
        {}, max_length=200, description="For the effect; `{name}` stands for a variable."
    )


class PipelineBody(Body):
    name: Annotated[str, Field(min_length=1, max_length=200)]
    slug: Annotated[str | None, Field(max_length=63, description="Default: from its name.")] = None
    description: Annotated[str, Field(max_length=2_000)] = ""
    steps: Annotated[list[StepBody], Field(min_length=1, max_length=STEPS_MAX)]

    def said(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


class StepView(View):
    position: int
    name: str
    slug: str
    effect: str
    variables: list[str]
    needs_parent: bool
    variants: int | None
    properties: dict[str, Scalar]

    @classmethod
    def of(cls, position: int, step: Step) -> Self:
        return cls(
            position=position,
            name=step.name,
            slug=step.slug,
            effect=step.effect,
            variables=list(step.variables),
            needs_parent=step.needs_parent,
            variants=step.variants,
            properties=dict(step.properties),
        )


class PipelineView(View):
    """One version. `variables`: what a run of it must bring."""

    id: PipelineId
    slug: str
    version: int
    name: str
    description: str
    variables: list[str]
    steps: list[StepView]
    created_by: UserId
    created_at: datetime
    archived_at: datetime | None

    @classmethod
    def of(cls, pipeline: Pipeline) -> Self:
        return cls(
            id=pipeline.id,
            slug=pipeline.slug,
            version=pipeline.version,
            name=pipeline.name,
            description=pipeline.description,
            variables=list(pipeline.variables),
            steps=[StepView.of(position, step) for position, step in enumerate(pipeline.steps)],
            created_by=pipeline.created_by,
            created_at=pipeline.created_at,
            archived_at=pipeline.archived_at,
        )


class AppliedView(View):
    """`is_new`: it differs from the newest version of its name, and is the newest now."""

    pipeline: PipelineView
    is_new: bool


class PipelinePage(View):
    pipelines: list[PipelineView]
    next_cursor: str | None


@router.post("")
async def apply_pipeline(body: PipelineBody, caller: Writer, house: TheHouse) -> AppliedView:
    """Write a pipeline down. Said again unchanged, it stays as it is; changed, it is a new version."""
    new = pipelines.parse_pipeline(body.said())
    offers = await read_offers(house, new.steps)
    async with house.tenant_tx(home_of(caller)) as tx:
        pipeline, is_new = await pipelines.apply_pipeline(tx, new, user_id=caller.user_id, offers=offers)
    return AppliedView(pipeline=PipelineView.of(pipeline), is_new=is_new)


@router.get("")
async def get_pipelines(
    caller: Reader,
    house: TheHouse,
    page: Annotated[PageRequest, Depends(page_request)],
    slug: Annotated[str | None, Query(max_length=63, description="All versions of this one.")] = None,
) -> PipelinePage:
    """The newest version of each, newest first."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await pipelines.list_pipelines(tx, page, slug=_plain(slug))
    return PipelinePage(pipelines=[PipelineView.of(each) for each in found.rows], next_cursor=found.next_cursor)


@router.get("/{pipeline_id}")
async def get_pipeline(pipeline_id: PipelineId, caller: Reader, house: TheHouse) -> PipelineView:
    """One version."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        return PipelineView.of(await pipelines.read_pipeline(tx, pipeline_id))


@router.delete("/{pipeline_id}", status_code=204, response_class=Response)
async def archive_pipeline(pipeline_id: PipelineId, caller: Writer, house: TheHouse) -> None:
    """All its versions: no run is started with it any more. Runs under way go on; applied again, it is back."""
    async with house.tenant_tx(home_of(caller)) as tx:
        await pipelines.archive_pipeline(tx, pipeline_id)


async def read_offers(house: House, steps: tuple[Step, ...]) -> Offers:
    async with house.control_tx(read_only=True) as tx:
        return await effects.take_offers(tx, {step.effect for step in steps})


def _plain(slug: str | None) -> str | None:
    """One with a NUL in it is nobody's, and PostgreSQL would stumble over it."""
    return slug.replace("\x00", "\ufffd") if slug else None
