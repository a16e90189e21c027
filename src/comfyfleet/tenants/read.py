"""Look tenants and users up."""

from collections.abc import Collection
from uuid import UUID

from comfyfleet.db import ControlTx
from comfyfleet.db.dialect import batch
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import TenantId, UserId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.tenants import sql
from comfyfleet.tenants.create import normal_email
from comfyfleet.tenants.model import Tenant, User


async def get_tenant(tx: ControlTx, tenant_id: TenantId) -> Tenant:
    row = await tx.maybe(sql.tenant_by_id(tenant_id))
    if row is None:
        raise NotFound("tenant", tenant_id)
    return Tenant.from_row(row)


async def find_tenant(tx: ControlTx, name: str) -> Tenant:
    """By slug, or by id: people type the one, programs keep the other."""
    try:
        return await get_tenant(tx, TenantId(UUID(name)))
    except ValueError:
        row = await tx.maybe(sql.tenant_by_slug(name))
    if row is None:
        raise NotFound("tenant", name)
    return Tenant.from_row(row)


async def slugs_of(tx: ControlTx, tenant_ids: Collection[TenantId]) -> dict[TenantId, str]:
    """Those that are there."""
    return {row.id: row.slug for row in await tx.all(sql.slugs_of(sorted(tenant_ids)))} if tenant_ids else {}


async def weights_of(tx: ControlTx, tenant_ids: Collection[TenantId]) -> dict[TenantId, int]:
    """Their shares of the fleet beside one another."""
    rows = batch([{"id": each} for each in tenant_ids])
    return {row.id: row.weight for row in await tx.all(sql.weights_of(), rows=rows)}


async def suspended_of(tx: ControlTx, tenant_ids: Collection[TenantId]) -> frozenset[TenantId]:
    if not tenant_ids:
        return frozenset()
    rows = batch([{"id": each} for each in tenant_ids])
    return frozenset(row.id for row in await tx.all(sql.suspended_of(), rows=rows))


async def list_tenants(tx: ControlTx, request: PageRequest) -> Page[Tenant]:
    rows = await tx.all(sql.tenant_page(after=request.after, rows=request.rows))
    return Page.cut([Tenant.from_row(row) for row in rows], [row.id for row in rows], request)


async def get_user(tx: ControlTx, user_id: UserId) -> User:
    row = await tx.maybe(sql.user_by_id(user_id))
    if row is None:
        raise NotFound("user", user_id)
    return User.from_row(row)


async def find_user(tx: ControlTx, email: str) -> User:
    row = await tx.maybe(sql.user_by_email(normal_email(email)))
    if row is None:
        raise NotFound("user", email)
    return User.from_row(row)


async def get_user_of(tx: ControlTx, tenant_id: TenantId, user_id: UserId) -> User:
    """A user of this tenant; somebody else's user is as unknown as none."""
    user = await get_user(tx, user_id)
    if user.tenant_id != tenant_id:
        raise NotFound("user", user_id)
    return user


async def list_users(tx: ControlTx, tenant_id: TenantId | None, request: PageRequest) -> Page[User]:
    rows = await tx.all(sql.user_page(tenant_id, after=request.after, rows=request.rows))
    return Page.cut([User.from_row(row) for row in rows], [row.id for row in rows], request)
