"""Operators create, place, suspend and resume tenants, and give each its first admin."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import Field

from comfyfleet import storage, tenants
from comfyfleet.api.acting import actor_of
from comfyfleet.api.auth import Email, link_ttl_s, send_or_show_link
from comfyfleet.api.bodies import Body, View, page_request
from comfyfleet.api.policy import OperatorCaller, TheHouse, TheOptions
from comfyfleet.api.views import InviteView, UserPage, UserView
from comfyfleet.audit import Action, Actor, record_action
from comfyfleet.house import House
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import TenantId, UserId
from comfyfleet.kernel.page import PageRequest
from comfyfleet.tenants import Caller, Role, Scope, credentials
from comfyfleet.tenants.change import STORAGE_LIMIT_MAX
from comfyfleet.tenants.lifecycle import TenantEvent, TenantStatus

router = APIRouter(prefix="/tenants")

SEE = [Depends(OperatorCaller(Scope.READ))]
Operator = Annotated[Caller, Depends(OperatorCaller(Scope.OPERATE))]


class TenantView(View):
    id: TenantId
    slug: str
    name: str
    pool: str
    weight: int
    status: TenantStatus
    created_at: datetime
    priority_max: int | None
    storage_bytes_max: int | None


class TenantPage(View):
    tenants: list[TenantView]
    next_cursor: str | None


class NewTenantBody(Body):
    slug: Annotated[str, Field(min_length=1, max_length=63)]
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    pool: Annotated[str, Field(max_length=63)] | None = None
    weight: Annotated[int, Field(ge=1, le=1000)] = 1


class PriorityLimitBody(Body):
    priority_max: Annotated[int | None, Field(ge=0, le=100, description="Null: as the settings say.")]


class StorageLimitBody(Body):
    storage_bytes_max: Annotated[
        int | None, Field(strict=True, ge=0, le=STORAGE_LIMIT_MAX, description="Null: as the settings say.")
    ]


class TenantStorageView(View):
    """`limit_bytes`: the one in force; none where there is no limit."""

    used_bytes: int
    limit_bytes: int | None


class NewUserBody(Body):
    email: Email
    role: Annotated[str, Field(pattern="^(member|admin)$")] = "admin"


@router.get("", dependencies=SEE)
async def get_tenants(house: TheHouse, page: Annotated[PageRequest, Depends(page_request)]) -> TenantPage:
    """All tenants, newest first."""
    async with house.control_tx(read_only=True) as tx:
        found = await tenants.list_tenants(tx, page)
    rows = [TenantView.model_validate(tenant) for tenant in found.rows]
    return TenantPage(tenants=rows, next_cursor=found.next_cursor)


@router.post("", status_code=201)
async def create_tenant(body: NewTenantBody, house: TheHouse, caller: Operator, request: Request) -> TenantView:
    """A new tenant, placed in a pool for good."""
    pool = body.pool or house.default_pool
    if pool not in house.pools:
        raise InvalidInput("pool", f"{pool!r} is none of {sorted(house.pools)}")
    async with house.control_tx() as tx:
        tenant = await tenants.create_tenant(
            tx, slug=body.slug, name=body.name or body.slug, pool=pool, weight=body.weight
        )
        action = Action("tenant.create", str(tenant.id), {"slug": tenant.slug, "pool": pool, "weight": body.weight})
        await record_action(tx, actor_of(request, caller), action, signer=house.chain)
    return TenantView.model_validate(tenant)


@router.get("/{tenant_id}", dependencies=SEE)
async def get_tenant(tenant_id: TenantId, house: TheHouse) -> TenantView:
    """One tenant."""
    async with house.control_tx(read_only=True) as tx:
        return TenantView.model_validate(await tenants.get_tenant(tx, tenant_id))


@router.post("/{tenant_id}/suspend")
async def suspend_tenant(tenant_id: TenantId, house: TheHouse, caller: Operator, request: Request) -> TenantView:
    """It can still read, and no longer create. Running jobs go on; its pipeline runs pause with that reason."""
    return await _move(house, tenant_id, TenantEvent.SUSPEND, actor_of(request, caller))


@router.post("/{tenant_id}/resume")
async def resume_tenant(tenant_id: TenantId, house: TheHouse, caller: Operator, request: Request) -> TenantView:
    """End a suspension. Runs that paused for it are resumed by their users."""
    return await _move(house, tenant_id, TenantEvent.RESUME, actor_of(request, caller))


@router.put("/{tenant_id}/priority-limit")
async def limit_priority(
    tenant_id: TenantId, body: PriorityLimitBody, house: TheHouse, caller: Operator, request: Request
) -> TenantView:
    """The highest priority its users may ask for, among the tenant's own jobs. Jobs that wait keep theirs."""
    async with house.control_tx() as tx:
        tenant = await tenants.limit_priority(tx, tenant_id, body.priority_max)
        action = Action("tenant.limit_priority", str(tenant_id), {"priority_max": body.priority_max})
        await record_action(tx, actor_of(request, caller), action, signer=house.chain)
    return TenantView.model_validate(tenant)


@router.put("/{tenant_id}/storage-limit")
async def limit_storage(
    tenant_id: TenantId, body: StorageLimitBody, house: TheHouse, caller: Operator, request: Request
) -> TenantView:
    """How many bytes its files may have together. What is there stays; beyond the limit new uploads are refused."""
    async with house.control_tx() as tx:
        tenant = await tenants.limit_storage(tx, tenant_id, body.storage_bytes_max)
        action = Action("tenant.limit_storage", str(tenant_id), {"storage_bytes_max": body.storage_bytes_max})
        await record_action(tx, actor_of(request, caller), action, signer=house.chain)
    return TenantView.model_validate(tenant)


@router.get("/{tenant_id}/storage", dependencies=SEE)
async def get_tenant_storage(tenant_id: TenantId, house: TheHouse) -> TenantStorageView:
    """What its files have together, uploads on their way and results included."""
    async with house.control_tx(read_only=True) as tx:
        tenant = await tenants.get_tenant(tx, tenant_id)
    async with house.tenant_tx(tenant, read_only=True) as pool_tx:
        return TenantStorageView(used_bytes=await storage.read_usage(pool_tx), limit_bytes=house.quota_of(tenant))


async def _move(house: House, tenant_id: TenantId, event: TenantEvent, actor: Actor) -> TenantView:
    async with house.control_tx() as tx:
        tenant = await tenants.move_tenant(tx, tenant_id, event)
        await record_action(tx, actor, Action(f"tenant.{event}", str(tenant_id)), signer=house.chain)
    if event is TenantEvent.SUSPEND:
        await house.pause_runs_of(tenant)
    return TenantView.model_validate(tenant)


@router.get("/{tenant_id}/users", dependencies=SEE)
async def get_tenant_users(
    tenant_id: TenantId, house: TheHouse, page: Annotated[PageRequest, Depends(page_request)]
) -> UserPage:
    """A tenant's users, newest first."""
    async with house.control_tx(read_only=True) as tx:
        await tenants.get_tenant(tx, tenant_id)
        found = await tenants.list_users(tx, tenant_id, page)
    return UserPage(users=[UserView.model_validate(user) for user in found.rows], next_cursor=found.next_cursor)


@router.post("/{tenant_id}/users", status_code=201)
async def invite_tenant_user(
    tenant_id: TenantId,
    body: NewUserBody,
    house: TheHouse,
    options: TheOptions,
    caller: Operator,
    request: Request,
) -> InviteView:
    """Give a tenant its first admin, or any further user: invited by a one-time link."""
    async with house.control_tx() as tx:
        await tenants.get_tenant(tx, tenant_id)
        user = await tenants.create_user(tx, email=body.email, role=Role(body.role), tenant_id=tenant_id)
        link = await credentials.make_link(tx, user, ttl_s=options.invite_ttl_s)
        action = Action("user.invite", str(user.id), {"email": user.email, "role": user.role, "tenant_id": tenant_id})
        await record_action(tx, actor_of(request, caller), action, signer=house.chain)
    return await send_or_show_link(house, user, house.links.url(link))


@router.post("/{tenant_id}/users/{user_id}/link")
async def renew_tenant_user_link(
    tenant_id: TenantId, user_id: UserId, house: TheHouse, options: TheOptions, caller: Operator, request: Request
) -> InviteView:
    """A new invitation, or for an active user a password reset. Older links stop working."""
    async with house.control_tx() as tx:
        await tenants.get_tenant(tx, tenant_id)
        user = await tenants.get_user_of(tx, tenant_id, user_id)
        link = await credentials.make_link(tx, user, ttl_s=link_ttl_s(options, user))
        action = Action("user.renew_link", str(user.id), {"email": user.email, "tenant_id": tenant_id})
        await record_action(tx, actor_of(request, caller), action, signer=house.chain)
    return await send_or_show_link(house, user, house.links.url(link))
