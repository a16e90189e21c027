"""Workflows: registered graphs that fleets can be assigned to."""

import json
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from comfyfleet import audit, workflows
from comfyfleet.api.bodies import Body, View
from comfyfleet.api.operator.policies import SEE, Acting, Pages, WorkflowSlug
from comfyfleet.api.policy import TheHouse
from comfyfleet.audit import Action, Actor
from comfyfleet.house import House
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import WorkflowId

router = APIRouter(prefix="/workflows")

RUN_DEADLINE_S_MAX = 7 * 86_400


class WorkflowView(View):
    id: WorkflowId
    slug: str
    name: str
    is_active: bool
    structure_hash: str
    run_deadline_s: float | None
    created_at: datetime


class WorkflowPage(View):
    workflows: list[WorkflowView]
    next_cursor: str | None


class NewWorkflowBody(Body):
    """`graph`: as ComfyUI's "Save (API format)" writes it. `structure_hash`: by default made from the whole graph."""

    slug: Annotated[str, Field(min_length=1, max_length=100)]
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    graph: dict[str, Any]
    structure_hash: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    run_deadline_s: Annotated[int, Field(ge=1, le=RUN_DEADLINE_S_MAX)] | None = None


@router.get("", dependencies=SEE)
async def get_workflows(house: TheHouse, page: Pages) -> WorkflowPage:
    """All workflows, newest first, without their graphs."""
    async with house.control_tx(read_only=True) as tx:
        found = await workflows.list_workflows(tx, page)
    rows = [WorkflowView.model_validate(each) for each in found.rows]
    return WorkflowPage(workflows=rows, next_cursor=found.next_cursor)


@router.post("", status_code=201)
async def add_workflow(body: NewWorkflowBody, house: TheHouse, actor: Acting) -> WorkflowView:
    """Register a graph. It is active at once, and no worker gets it before it is assigned to a fleet."""
    graph = _written(body.graph)
    async with house.control_tx() as tx:
        made = await workflows.add_workflow(
            tx,
            slug=body.slug,
            name=body.name or body.slug,
            graph=graph,
            structure_hash=body.structure_hash,
            run_deadline_s=body.run_deadline_s,
        )
        action = Action("workflow.add", made.slug, {"structure_hash": made.structure_hash})
        await audit.record_action(tx, actor, action, signer=house.chain)
    return WorkflowView.model_validate(made)


@router.post("/{slug}/activate")
async def activate_workflow(slug: WorkflowSlug, house: TheHouse, actor: Acting) -> WorkflowView:
    """Workers whose fleets it is assigned to get it again."""
    return await _set_active(house, actor, slug, is_active=True)


@router.post("/{slug}/deactivate")
async def deactivate_workflow(slug: WorkflowSlug, house: TheHouse, actor: Acting) -> WorkflowView:
    """No worker gets it any more; what waits for it waits on."""
    return await _set_active(house, actor, slug, is_active=False)


async def _set_active(house: House, actor: Actor, slug: str, *, is_active: bool) -> WorkflowView:
    async with house.control_tx() as tx:
        changed = await workflows.set_workflow_active(tx, slug, is_active=is_active)
        verb = "activate" if is_active else "deactivate"
        await audit.record_action(tx, actor, Action(f"workflow.{verb}", slug), signer=house.chain)
    return WorkflowView.model_validate(changed)


def _written(graph: dict[str, Any]) -> bytes:
    try:
        return json.dumps(graph, allow_nan=False).encode()
    except ValueError:
        raise InvalidInput("graph", "holds a number that JSON cannot write") from None
