"""Workflows: registered graphs, in versions, that fleets can be assigned to."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Path

from comfyfleet import audit, workflows
from comfyfleet.api.bodies import RoomyRoute
from comfyfleet.api.operator.policies import SEE, Acting, Pages, WorkflowSlug
from comfyfleet.api.operator.workflow_bodies import (
    GraphBody,
    GraphView,
    NewVersionBody,
    NewWorkflowBody,
    ProposalView,
    VersionList,
    VersionView,
    WorkflowDetailView,
    WorkflowPage,
    WorkflowView,
    written,
)
from comfyfleet.api.policy import TheHouse
from comfyfleet.audit import Action, Actor
from comfyfleet.db import ControlTx
from comfyfleet.house import House
from comfyfleet.workflows import NewVersion, Version, Workflow
from comfyfleet.workflows.publish import Record

# A graph may be larger than other bodies.
router = APIRouter(prefix="/workflows", route_class=RoomyRoute)

VERSION_MAX = 2**31 - 1
VersionNumber = Annotated[int, Path(ge=1, le=VERSION_MAX)]


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
    made = await workflows.publish_workflow(
        house.store,
        house.control_tx,
        await _prepared(house, body),
        slug=body.slug,
        name=body.name or body.slug,
        record=_recording(house, actor, "workflow.add"),
    )
    return WorkflowView.model_validate(made)


@router.post("/propose", dependencies=SEE)
async def propose_workflow(body: GraphBody, house: TheHouse) -> ProposalView:
    """What this graph seems to want from its users, for somebody to correct. Nothing is kept."""
    ready = await workflows.ready_graph(house.store, house.control_tx, written(body.graph))
    return await asyncio.to_thread(ProposalView.of, ready)


@router.get("/{slug}", dependencies=SEE)
async def get_workflow(slug: WorkflowSlug, house: TheHouse) -> WorkflowDetailView:
    """One workflow, with what users may set in the version in force."""
    async with house.control_tx(read_only=True) as tx:
        found = await workflows.find_workflow(tx, slug)
        version = await workflows.find_version(tx, found.id, found.version)
    return WorkflowDetailView.of(found, version)


@router.get("/{slug}/versions", dependencies=SEE)
async def get_versions(slug: WorkflowSlug, house: TheHouse) -> VersionList:
    """The newest hundred versions, newest first."""
    async with house.control_tx(read_only=True) as tx:
        found = await workflows.find_workflow(tx, slug)
        versions = await workflows.list_versions(tx, found.id)
    return VersionList(in_force=found.version, versions=[VersionView.of(each) for each in versions])


@router.post("/{slug}/versions", status_code=201)
async def add_version(slug: WorkflowSlug, body: NewVersionBody, house: TheHouse, actor: Acting) -> WorkflowView:
    """In force at once; jobs that were made before keep their graph. What is in force already makes no new version."""
    record = _recording(house, actor, "workflow.add_version")
    new = await _prepared(house, body)
    made = await workflows.publish_version(house.store, house.control_tx, new, slug=slug, record=record)
    return WorkflowView.model_validate(made)


@router.get("/{slug}/versions/{version}", dependencies=SEE)
async def get_version(slug: WorkflowSlug, version: VersionNumber, house: TheHouse) -> VersionView:
    """One version, without its graph."""
    return VersionView.of(await _version(house, slug, version))


@router.get("/{slug}/versions/{version}/graph", dependencies=SEE)
async def get_graph(slug: WorkflowSlug, version: VersionNumber, house: TheHouse) -> GraphView:
    """The graph of a version, as the worker gets it but for the values of a job."""
    graph: Any = await workflows.read_graph(house.store, await _version(house, slug, version))
    return GraphView(graph=graph)


@router.post("/{slug}/versions/{version}/use")
async def use_version(slug: WorkflowSlug, version: VersionNumber, house: TheHouse, actor: Acting) -> WorkflowView:
    """Back to an earlier version, or forth again. Jobs that were made before keep their graph."""
    async with house.control_tx() as tx:
        changed = await workflows.use_version(tx, slug, version)
        await audit.record_action(tx, actor, Action("workflow.use", slug, {"version": version}), signer=house.chain)
    return WorkflowView.model_validate(changed)


@router.post("/{slug}/activate")
async def activate_workflow(slug: WorkflowSlug, house: TheHouse, actor: Acting) -> WorkflowView:
    """Workers whose fleets it is assigned to get it again."""
    return await _set_active(house, actor, slug, is_active=True)


@router.post("/{slug}/deactivate")
async def deactivate_workflow(slug: WorkflowSlug, house: TheHouse, actor: Acting) -> WorkflowView:
    """No worker gets it any more; what waits for it waits on. Its effects make no jobs."""
    return await _set_active(house, actor, slug, is_active=False)


async def _set_active(house: House, actor: Actor, slug: str, *, is_active: bool) -> WorkflowView:
    async with house.control_tx() as tx:
        changed = await workflows.set_workflow_active(tx, slug, is_active=is_active)
        verb = "activate" if is_active else "deactivate"
        await audit.record_action(tx, actor, Action(f"workflow.{verb}", slug), signer=house.chain)
    house.desk.assignments_changed()
    return WorkflowView.model_validate(changed)


async def _prepared(house: House, body: NewVersionBody) -> NewVersion:
    """Of a graph that servers run; the editor's is converted."""
    ready = await workflows.ready_graph(house.store, house.control_tx, written(body.graph))
    return body.prepared(ready)


async def _version(house: House, slug: str, version: int) -> Version:
    async with house.control_tx(read_only=True) as tx:
        found = await workflows.find_workflow(tx, slug)
        return await workflows.find_version(tx, found.id, version)


def _recording(house: House, actor: Actor, verb: str) -> Record:
    async def record(tx: ControlTx, made: Workflow) -> None:
        detail = {"structure_hash": made.structure_hash, "version": made.version}
        await audit.record_action(tx, actor, Action(verb, made.slug, detail), signer=house.chain)

    return record
