"""Moves of tenants and users along their lifecycles."""

from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import TenantId, UserId
from comfyfleet.tenants import sql
from comfyfleet.tenants.lifecycle import TENANT, USER, TenantEvent, UserEvent
from comfyfleet.tenants.model import Tenant, User
from comfyfleet.tenants.read import get_tenant, get_user


async def move_tenant(tx: ControlTx, tenant_id: TenantId, event: TenantEvent) -> Tenant:
    """Suspend or resume. A tenant that is there already stays: asking twice is asking once."""
    row = await tx.maybe(sql.move_tenant(tenant_id, event))
    if row is not None:
        return Tenant.from_row(row)
    tenant = await get_tenant(tx, tenant_id)
    if tenant.status != TENANT.target(event):
        TENANT.next(tenant.status, event)
    return tenant


async def move_user(tx: ControlTx, user_id: UserId, event: UserEvent, *, within: TenantId | None) -> User:
    """Disable or enable a user of one tenant. A disabled user's keys and sessions stop at once."""
    user = await get_user(tx, user_id)
    if user.tenant_id != within:
        raise NotFound("user", user_id)
    row = await tx.maybe(sql.move_user(user_id, event))
    if row is not None:
        return User.from_row(row)
    if user.status != USER.target(event):
        USER.next(user.status, event)
    return user
