"""Fleets: groups of workers, and what they may run."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, StrictBool

from comfyfleet import audit, fleet, machines, workflows
from comfyfleet.api.bodies import Body, View
from comfyfleet.api.operator.policies import SEE, Acting, Pages, WorkflowSlug
from comfyfleet.api.operator.views import AssignmentView
from comfyfleet.api.policy import TheHouse
from comfyfleet.audit import Action
from comfyfleet.db import ControlTx
from comfyfleet.fleet import WorkerStatus
from comfyfleet.kernel.ids import FleetId

router = APIRouter(prefix="/fleets")


class FleetView(View):
    """`scales_from_zero`: its effects are sold while it has no worker, by what its last machines had."""

    id: FleetId
    slug: str
    stage: str
    name: str
    scales_from_zero: bool
    created_at: datetime


class FleetPage(View):
    fleets: list[FleetView]
    next_cursor: str | None


class FleetDetailView(FleetView):
    """`workers`: how many it has in each state. `scales_by`: who provides its machines; none: it does not scale with
    its queue."""

    scales_by: str | None
    assignments: list[AssignmentView]
    workers: dict[WorkerStatus, int]


class NewFleetBody(Body):
    slug: Annotated[str, Field(min_length=1, max_length=63)]
    stage: Annotated[str, Field(min_length=1, max_length=63)]
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    scales_from_zero: StrictBool = False


class ScalingBody(Body):
    scales_from_zero: StrictBool


class AssignmentBody(Body):
    is_active: StrictBool


class StartCommandView(View):
    """One line for a shell on the worker's machine; a fleet secret is pasted where it says so."""

    command: str


@router.get("", dependencies=SEE)
async def get_fleets(house: TheHouse, page: Pages) -> FleetPage:
    """All fleets, newest first."""
    async with house.control_tx(read_only=True) as tx:
        found = await fleet.list_fleets(tx, page)
    return FleetPage(fleets=[FleetView.model_validate(each) for each in found.rows], next_cursor=found.next_cursor)


@router.post("", status_code=201)
async def create_fleet(body: NewFleetBody, house: TheHouse, actor: Acting) -> FleetView:
    """A new fleet: a slug and a stage, such as `video` in `production`."""
    async with house.control_tx() as tx:
        made = await fleet.create_fleet(
            tx,
            slug=body.slug,
            stage=body.stage,
            name=body.name or body.slug,
            scales_from_zero=body.scales_from_zero,
        )
        await audit.record_action(tx, actor, Action("fleet.create", f"{made.slug}/{made.stage}"), signer=house.chain)
    return FleetView.model_validate(made)


@router.get("/{fleet_id}", dependencies=SEE)
async def get_fleet(fleet_id: FleetId, house: TheHouse) -> FleetDetailView:
    """One fleet, with what it may run and how many workers it has."""
    async with house.control_tx(read_only=True) as tx:
        return await _detail(tx, fleet_id)


@router.put("/{fleet_id}/workflows/{slug}")
async def assign_workflow(
    fleet_id: FleetId, slug: WorkflowSlug, body: AssignmentBody, house: TheHouse, actor: Acting
) -> FleetDetailView:
    """The fleet's workers may, or may no longer, run it from now on. What runs already runs on."""
    async with house.control_tx() as tx:
        found = await fleet.get_fleet(tx, fleet_id)
        workflow = await workflows.find_workflow(tx, slug)
        await fleet.assign_workflow(tx, fleet_id, workflow.id, is_active=body.is_active)
        detail = await _detail(tx, fleet_id)
        verb = "assign" if body.is_active else "unassign"
        action = Action(f"fleet.{verb}", f"{found.slug}/{found.stage}", {"workflow": slug})
        await audit.record_action(tx, actor, action, signer=house.chain)
    house.desk.assignments_changed()
    return detail


@router.put("/{fleet_id}/scaling")
async def set_scaling(fleet_id: FleetId, body: ScalingBody, house: TheHouse, actor: Acting) -> FleetDetailView:
    """Whether machines of this fleet are started when there is work.

    If so, its effects are sold while it has no worker, as far as its last machines could run them."""
    async with house.control_tx() as tx:
        found = await fleet.set_scaling(tx, fleet_id, scales_from_zero=body.scales_from_zero)
        detail = {"scales_from_zero": body.scales_from_zero}
        action = Action("fleet.scaling", f"{found.slug}/{found.stage}", detail)
        await audit.record_action(tx, actor, action, signer=house.chain)
        shown = await _detail(tx, fleet_id)
    house.desk.assignments_changed()
    return shown


@router.get("/{fleet_id}/start-command", dependencies=SEE)
async def get_start_command(fleet_id: FleetId, house: TheHouse) -> StartCommandView:
    """The exact command that starts a worker for this fleet."""
    async with house.control_tx(read_only=True) as tx:
        found = await fleet.get_fleet(tx, fleet_id)
    return StartCommandView(command=fleet.start_command(found, control_plane_url=house.links.public_url))


async def _detail(tx: ControlTx, fleet_id: FleetId) -> FleetDetailView:
    found = await fleet.show_fleet(tx, fleet_id)
    scaling = await machines.find_fleet_scaling(tx, fleet_id)
    shown = FleetView.model_validate(found.fleet).model_dump()
    assignments = [AssignmentView.model_validate(each) for each in found.assignments]
    by = scaling.adapter if scaling is not None else None
    return FleetDetailView(**shown, scales_by=by, assignments=assignments, workers=found.workers)
