"""Operators read what was done, and what workers did."""

import json
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query

from comfyfleet import audit, tenants
from comfyfleet.api.bodies import View, page_request
from comfyfleet.api.policy import OperatorCaller, TheHouse
from comfyfleet.audit import Entry, RecordedEvent
from comfyfleet.house import House
from comfyfleet.kernel.ids import DispatchId, TenantId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.tenants import Scope

router = APIRouter(dependencies=[Depends(OperatorCaller(Scope.READ))])

ThePage = Annotated[PageRequest, Depends(page_request)]


class ActionView(View):
    """`seq` is the row's number in its chain."""

    seq: int
    at: datetime
    actor_kind: str
    actor: str
    address: str | None
    action: str
    subject: str | None
    detail: dict[str, Any]

    @staticmethod
    def of(entry: Entry) -> "ActionView":
        return ActionView(
            seq=entry.seq,
            at=entry.at,
            actor_kind=entry.actor.kind,
            actor=entry.actor.name,
            address=entry.actor.address,
            action=entry.action,
            subject=entry.subject,
            detail=_detail(entry.detail),
        )


def _detail(text: str) -> dict[str, Any]:
    """As it was written; or, where somebody wrote over it, what stands there now."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"unreadable": text}


class ActionPage(View):
    actions: list[ActionView]
    next_cursor: str | None


class WorkerEventView(View):
    at: datetime
    event: str
    worker_id: str | None
    dispatch_id: DispatchId | None
    tenant_id: TenantId | None
    address: str | None
    detail: dict[str, Any]

    @staticmethod
    def of(event: RecordedEvent) -> "WorkerEventView":
        return WorkerEventView(
            at=event.at,
            event=event.event,
            worker_id=event.worker_id,
            dispatch_id=event.dispatch_id,
            tenant_id=event.tenant_id,
            address=event.address,
            detail=_detail(event.detail),
        )


class WorkerEventPage(View):
    events: list[WorkerEventView]
    next_cursor: str | None


@router.get("/audit-log")
async def get_audit_log(
    house: TheHouse,
    page: ThePage,
    tenant_id: Annotated[TenantId | None, Query(description="A tenant's own chain instead: its credits.")] = None,
) -> ActionPage:
    """What operators did, newest first."""
    found = await (_of_operators(house, page) if tenant_id is None else _of_tenant(house, tenant_id, page))
    return ActionPage(actions=[ActionView.of(each) for each in found.rows], next_cursor=found.next_cursor)


async def _of_operators(house: House, page: PageRequest) -> Page[Entry]:
    async with house.control_tx(read_only=True) as tx:
        return await audit.list_actions(tx, page)


async def _of_tenant(house: House, tenant_id: TenantId, page: PageRequest) -> Page[Entry]:
    async with house.control_tx(read_only=True) as tx:
        tenant = await tenants.get_tenant(tx, tenant_id)
    async with house.tenant_tx(tenant, read_only=True) as tenant_tx:
        return await audit.list_tenant_actions(tenant_tx, page)


@router.get("/worker-events")
async def get_worker_events(
    house: TheHouse,
    page: ThePage,
    worker_id: Annotated[
        str | None, Query(max_length=128, pattern=r"^[\w.:-]+$", description="The name it goes by.")
    ] = None,
    dispatch_id: DispatchId | None = None,
) -> WorkerEventPage:
    """What workers did, newest first."""
    async with house.control_tx(read_only=True) as tx:
        found = await audit.list_worker_events(tx, page, worker_id=worker_id, dispatch_id=dispatch_id)
    return WorkerEventPage(events=[WorkerEventView.of(each) for each in found.rows], next_cursor=found.next_cursor)
