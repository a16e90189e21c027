"""Workers register themselves. Operators look at them, let them in, drain them, shut them out."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query

from comfyfleet import audit, dispatch, fleet
from comfyfleet.api.bodies import View
from comfyfleet.api.operator.policies import SEE, Acting, Pages, WorkerName
from comfyfleet.api.operator.views import AssignmentView, AttemptView, BlockView, DispatchView
from comfyfleet.api.policy import TheHouse
from comfyfleet.audit import Action, Actor
from comfyfleet.dispatch import DispatchFilter, DispatchStatus
from comfyfleet.fleet import WorkerEvent, WorkerFilter, WorkerStatus
from comfyfleet.house import House
from comfyfleet.kernel.ids import FleetId
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest

router = APIRouter(prefix="/workers")

ALL = PageRequest(rows=PAGE_ROWS_MAX)


class WorkerView(View):
    """`current_load` is what it reported last; `open_leases` is what it holds. `drained_at`: an operator drained it
    then; it stays so, also when its process is started again, until it is approved."""

    worker_id: str
    fleet: str | None
    status: WorkerStatus
    incarnation: int
    open_leases: int
    current_load: int
    max_concurrency: int
    last_seen_at: datetime
    created_at: datetime
    drained_at: datetime | None


class WorkerPage(View):
    workers: list[WorkerView]
    next_cursor: str | None


class WorkerDetailView(WorkerView):
    address: str
    boot_id: str | None
    takeovers: int
    providers: list[str]
    capabilities: dict[str, Any]
    assignments: list[AssignmentView]
    leases: list[DispatchView]
    blocks: list[BlockView]
    recent_attempts: list[AttemptView]


class RevokedView(View):
    worker: WorkerView
    leases_returned: int


class TokenView(View):
    """`token` is shown this once."""

    worker: WorkerView
    token: str


@router.get("", dependencies=SEE)
async def get_workers(
    house: TheHouse,
    page: Pages,
    status: WorkerStatus | None = None,
    fleet_id: Annotated[FleetId | None, Query(description="Only of this fleet.")] = None,
) -> WorkerPage:
    """Workers, newest first."""
    async with house.control_tx(read_only=True) as tx:
        found = await fleet.list_workers(tx, page, WorkerFilter(status, fleet_id))
    return WorkerPage(workers=[WorkerView.model_validate(each) for each in found.rows], next_cursor=found.next_cursor)


@router.get("/{worker_id}", dependencies=SEE)
async def get_worker(worker_id: WorkerName, house: TheHouse) -> WorkerDetailView:
    """One worker: what it may run, what it holds, what it is kept from, and its latest attempts."""
    async with house.control_tx(read_only=True) as tx:
        found = await fleet.show_worker(tx, worker_id)
        row_id = found.worker.id
        wanted = DispatchFilter(status=DispatchStatus.LEASED, worker_id=row_id)
        return WorkerDetailView(
            **WorkerView.model_validate(found.worker).model_dump(),
            address=found.address,
            boot_id=found.boot_id,
            takeovers=found.takeovers,
            providers=found.providers,
            capabilities=found.capabilities,
            assignments=[AssignmentView.model_validate(each) for each in found.assignments],
            leases=[
                DispatchView.model_validate(each) for each in (await dispatch.list_dispatches(tx, ALL, wanted)).rows
            ],
            blocks=[
                BlockView.model_validate(each) for each in (await dispatch.list_blocks(tx, ALL, worker_id=row_id)).rows
            ],
            recent_attempts=[
                AttemptView.model_validate(each) for each in await dispatch.attempts_of_worker(tx, row_id)
            ],
        )


@router.post("/{worker_id}/approve")
async def approve_worker(worker_id: WorkerName, house: TheHouse, actor: Acting) -> WorkerView:
    """It may take work. Also the end of a drain, and the pardon of one that was revoked: it must register anew."""
    return await _move(house, actor, worker_id, WorkerEvent.APPROVE)


@router.post("/{worker_id}/drain")
async def drain_worker(worker_id: WorkerName, house: TheHouse, actor: Acting) -> WorkerView:
    """It finishes what it holds, gets nothing new and leaves. Started again it waits, until it is approved."""
    return await _move(house, actor, worker_id, WorkerEvent.DRAIN)


@router.post("/{worker_id}/revoke")
async def revoke_worker(worker_id: WorkerName, house: TheHouse, actor: Acting) -> RevokedView:
    """Its token is dead, and all that it holds goes back to the queue at once. It cannot come back by itself."""
    async with house.control_tx() as tx:
        worker = await fleet.move_worker(tx, worker_id, WorkerEvent.REVOKE)
        returned = await dispatch.return_leases(tx, worker.id, "revoked")
        shown = (await fleet.show_worker(tx, worker_id)).worker
        action = Action("worker.revoke", worker_id, {"leases_returned": len(returned)})
        await audit.record_action(tx, actor, action, signer=house.chain)
    house.desk.worker_changed(worker_id)
    house.taken_back(returned)
    return RevokedView(worker=WorkerView.model_validate(shown), leases_returned=len(returned))


@router.post("/{worker_id}/rotate-token")
async def rotate_token(worker_id: WorkerName, house: TheHouse, actor: Acting) -> TokenView:
    """A new bearer token; the old one stops at once. Its leases stay."""
    async with house.control_tx() as tx:
        token = await fleet.rotate_token(tx, worker_id)
        shown = (await fleet.show_worker(tx, worker_id)).worker
        await audit.record_action(tx, actor, Action("worker.rotate_token", worker_id), signer=house.chain)
    house.desk.worker_changed(worker_id)
    return TokenView(worker=WorkerView.model_validate(shown), token=token.reveal())


@router.delete("/{worker_id}")
async def forget_worker(worker_id: WorkerName, house: TheHouse, actor: Acting) -> WorkerView:
    """Frees the name of a worker that is away, for any fleet. One that still calls, or was revoked, stays."""
    async with house.control_tx() as tx:
        shown = (await fleet.show_worker(tx, worker_id)).worker
        forgotten = await fleet.forget_worker(tx, worker_id, rules=house.fleet_rules)
        returned = await dispatch.return_leases(tx, forgotten.id, "forgotten")
        await dispatch.forget_workerless_blocks(tx)
        action = Action("worker.forget", worker_id, {"fleet": shown.fleet, "leases_returned": len(returned)})
        await audit.record_action(tx, actor, action, signer=house.chain)
    house.desk.worker_changed(worker_id)
    house.taken_back(returned)
    return WorkerView.model_validate(shown)


async def _move(house: House, actor: Actor, worker_id: str, event: WorkerEvent) -> WorkerView:
    async with house.control_tx() as tx:
        await fleet.move_worker(tx, worker_id, event)
        shown = (await fleet.show_worker(tx, worker_id)).worker
        await audit.record_action(tx, actor, Action(f"worker.{event}", worker_id), signer=house.chain)
    house.desk.worker_changed(worker_id)
    return WorkerView.model_validate(shown)
