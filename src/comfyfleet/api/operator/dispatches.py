"""The queue, row by row: look, cancel, give another priority."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field

from comfyfleet import audit, dispatch, fleet, jobs, workflows
from comfyfleet.api.background import wake_relay
from comfyfleet.api.bodies import Body, View
from comfyfleet.api.operator.policies import SEE, Acting, OfWorker, OfWorkflow, Pages
from comfyfleet.api.operator.views import AttemptView, DispatchView
from comfyfleet.api.policy import TheHouse
from comfyfleet.audit import Action
from comfyfleet.db import ControlTx
from comfyfleet.dispatch import DispatchFilter, DispatchStatus, ListedDispatch, waiting
from comfyfleet.dispatch.priority import PRIORITY_MAX, PRIORITY_MIN
from comfyfleet.dispatch.waiting import Starving
from comfyfleet.fleet import FleetRules
from comfyfleet.house import House
from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.kernel.ids import DispatchId, JobId, TenantId

router = APIRouter(prefix="/dispatches")

Epoch = Annotated[int | None, Query(ge=0, le=2**31)]
QUEUED_WITHIN_S = 2.0
LOOK_EVERY_S = 0.03


class DispatchPage(View):
    dispatches: list[DispatchView]
    next_cursor: str | None


class DispatchDetailView(View):
    """`waits_because`: why nobody takes it; none while it only waits its turn. `lacks`: where no worker can run it,
    which one lacks which node class, weight or memory. `trace_url`: where its trace is seen, if it has one."""

    dispatch: DispatchView
    waits_because: str | None
    lacks: str | None
    attempts: list[AttemptView]
    trace_url: str | None


class RanView(View):
    """What its worker gets: the graph with every value in its place but for files, which `assets` name by their path
    in the store and the inputs they go to."""

    graph: dict[str, Any]
    properties: dict[str, Any]
    assets: list[dict[str, Any]]
    output_node: str | None


class ResultView(View):
    """`result_metadata`: as ComfyUI spelled it. Secrets are masked, and more than 64 KiB is left out."""

    result_metadata: dict[str, Any]


class RetriedView(View):
    """`job_id` is also the new dispatch's id, once it is in the queue."""

    job_id: JobId
    retry_of: DispatchId


class PriorityBody(Body):
    priority: Annotated[int, Field(ge=PRIORITY_MIN, le=PRIORITY_MAX)]


@router.get("", dependencies=SEE)
async def get_dispatches(
    house: TheHouse,
    page: Pages,
    status: DispatchStatus | None = None,
    workflow: OfWorkflow = None,
    worker: OfWorker = None,
    tenant_id: TenantId | None = None,
) -> DispatchPage:
    """Dispatches, newest first."""
    async with house.control_tx(read_only=True) as tx:
        wanted = DispatchFilter(
            status=status,
            workflow_id=(await workflows.find_workflow(tx, workflow)).id if workflow else None,
            tenant_id=tenant_id,
            worker_id=(await fleet.get_worker(tx, worker)).id if worker else None,
        )
        found = await dispatch.list_dispatches(tx, page, wanted)
    rows = [DispatchView.model_validate(each) for each in found.rows]
    return DispatchPage(dispatches=rows, next_cursor=found.next_cursor)


@router.get("/{dispatch_id}", dependencies=SEE)
async def get_dispatch(dispatch_id: DispatchId, house: TheHouse) -> DispatchDetailView:
    """One dispatch with every attempt at it."""
    async with house.control_tx(read_only=True) as tx:
        return await _detail(tx, dispatch_id, house)


@router.get("/{dispatch_id}/graph", dependencies=SEE)
async def get_ran_graph(dispatch_id: DispatchId, house: TheHouse) -> RanView:
    """The graph it runs or ran, for whoever looks for a fault. 404 once its job was deleted or has expired."""
    async with house.control_tx(read_only=True) as tx:
        found = await dispatch.require_dispatch(tx, dispatch_id)
    async with house.pool(found.pool).tenant_tx(found.tenant_id, read_only=True) as tenant:
        payload = await jobs.read_payload(tenant, JobId(dispatch_id))
    return RanView(
        graph=payload["workflow"],
        properties=payload["properties"],
        assets=payload["assets"],
        output_node=payload.get("output_node_id"),
    )


@router.get("/{dispatch_id}/result", dependencies=SEE)
async def get_result(dispatch_id: DispatchId, house: TheHouse, epoch: Epoch = None) -> ResultView:
    """What the server itself said of the end of this attempt; without `epoch`, of the last that has something. 404
    where it said nothing, or nothing was kept."""
    async with house.control_tx(read_only=True) as tx:
        return ResultView(result_metadata=await dispatch.read_result(tx, dispatch_id, epoch))


@router.post("/{dispatch_id}/cancel")
async def cancel_dispatch(dispatch_id: DispatchId, house: TheHouse, actor: Acting) -> DispatchDetailView:
    """Waiting: cancelled at once. Leased: its worker is told, and may finish first. Over already: nothing changes."""
    async with house.control_tx() as tx:
        found = await dispatch.cancel_dispatch(tx, dispatch_id)
        detail = await _detail(tx, dispatch_id, house)
        action = Action("dispatch.cancel", str(dispatch_id), {"status": found.status})
        await audit.record_action(tx, actor, action, signer=house.chain)
    house.desk.cancelled(dispatch_id)
    house.desk.on_finished()
    return detail


@router.put("/{dispatch_id}/priority")
async def set_priority(
    dispatch_id: DispatchId, body: PriorityBody, house: TheHouse, actor: Acting
) -> DispatchDetailView:
    """Higher goes first. Only for one that waits: 409 `not_waiting` when a worker has it, or it is over."""
    async with house.control_tx() as tx:
        moved = await dispatch.set_priority(tx, dispatch_id, body.priority)
        detail = await _detail(tx, dispatch_id, house)
        action = Action("dispatch.set_priority", str(dispatch_id), {"priority": body.priority})
        await audit.record_action(tx, actor, action, signer=house.chain)
    house.desk.came_back([moved.lane])
    return detail


@router.post("/{dispatch_id}/retry", status_code=201)
async def retry_dispatch(dispatch_id: DispatchId, house: TheHouse, actor: Acting, request: Request) -> RetriedView:
    """A new job like this one, newly reserved. 409 while this one has not ended; 422 if the wallet cannot pay it."""
    async with house.control_tx(read_only=True) as tx:
        found = await dispatch.require_dispatch(tx, dispatch_id)
    async with house.pool(found.pool).tenant_tx(found.tenant_id) as tenant:
        job = await jobs.retry_job(tenant, JobId(dispatch_id))
        action = Action("dispatch.retry", str(dispatch_id), {"job_id": job.id})
        await audit.record_tenant_action(tenant, actor, action, signer=house.chain)
    jobs.count_new(house.facts.note, [job])
    wake_relay(request, found.pool)
    house.live.people_changed()
    await _until_queued(house, DispatchId(job.id))
    return RetriedView(job_id=job.id, retry_of=dispatch_id)


async def _until_queued(house: House, dispatch_id: DispatchId) -> None:
    """Whoever asked goes on to look at it. Where the relay is slow it comes later, and is looked for in vain."""
    with suppress(TimeoutError, DatabaseUnavailable):  # it is made, whatever comes now
        async with asyncio.timeout(QUEUED_WITHIN_S):
            while True:
                async with house.control_tx(read_only=True) as tx:
                    if await dispatch.find_dispatch(tx, dispatch_id) is not None:
                        return
                await asyncio.sleep(LOOK_EVERY_S)


async def _detail(tx: ControlTx, dispatch_id: DispatchId, house: House) -> DispatchDetailView:
    found = await dispatch.get_dispatch(tx, dispatch_id)
    if found.dispatch.status is DispatchStatus.QUEUED and found.waits_because is None:
        # Users are told after a minute. An operator who looks wants to know now.
        found = replace(found, waits_because=await _waits_because(tx, found.dispatch))
    return DispatchDetailView(
        dispatch=DispatchView.model_validate(found.dispatch),
        waits_because=found.waits_because,
        lacks=await _lacks(tx, found.dispatch, rules=house.fleet_rules),
        attempts=[AttemptView.model_validate(each) for each in found.attempts],
        trace_url=house.traces.url_of(found.dispatch.trace_id),
    )


async def _lacks(tx: ControlTx, found: ListedDispatch, *, rules: FleetRules) -> str | None:
    if found.status is not DispatchStatus.QUEUED:
        return None
    workflow_id = (await dispatch.require_dispatch(tx, found.id)).workflow_id
    return (await fleet.read_availability(tx, [workflow_id], rules=rules))[workflow_id].detail


async def _waits_because(tx: ControlTx, found: ListedDispatch) -> str | None:
    workflow_id, tenant_ids = (await dispatch.require_dispatch(tx, found.id)).workflow_id, frozenset({found.tenant_id})
    starving = Starving(found.lane, workflow_id, found.structure_hash, found.provider, tenant_ids)
    candidates = (await fleet.find_candidates(tx, {workflow_id}))[workflow_id, found.provider.value]
    blocks = await waiting.kept_away(tx, {found.structure_hash})
    verdict = waiting.judge(starving, sorted(candidates.able), blocks, lacked=candidates.lacked)
    return verdict.reasons[0].text if verdict.reasons else None
