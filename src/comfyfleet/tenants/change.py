"""Moves of tenants and users along their lifecycles."""

from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import InvalidInput, NotFound
from comfyfleet.kernel.ids import TenantId, UserId
from comfyfleet.tenants import sql
from comfyfleet.tenants.credentials import links as credentials
from comfyfleet.tenants.lifecycle import TENANT, TenantEvent, UserEvent
from comfyfleet.tenants.model import Tenant, User
from comfyfleet.tenants.read import get_tenant

PRIORITY_LIMIT_MAX = 100
STORAGE_LIMIT_MAX = 2**53 - 1  # as good as none: what every program that reads JSON can hold


async def move_tenant(tx: ControlTx, tenant_id: TenantId, event: TenantEvent) -> Tenant:
    """Suspend or resume. A tenant that is there already stays: asking twice is asking once."""
    row = await tx.maybe(sql.move_tenant(tenant_id, event))
    if row is not None:
        return Tenant.from_row(row)
    tenant = await get_tenant(tx, tenant_id)
    if tenant.status != TENANT.target(event):
        TENANT.next(tenant.status, event)
    return tenant


async def limit_priority(tx: ControlTx, tenant_id: TenantId, priority_max: int | None) -> Tenant:
    """How far ahead its users may push a job. None: as the settings say. Jobs that wait keep their place."""
    if priority_max is not None and not 0 <= priority_max <= PRIORITY_LIMIT_MAX:
        raise InvalidInput("priority_max", f"must be from 0 to {PRIORITY_LIMIT_MAX}, or nothing")
    row = await tx.maybe(sql.set_priority_max(tenant_id, priority_max))
    if row is None:
        raise NotFound("tenant", tenant_id)
    return Tenant.from_row(row)


async def limit_storage(tx: ControlTx, tenant_id: TenantId, bytes_max: int | None) -> Tenant:
    """How many bytes its files may have together. None: as the settings say. What is there already stays."""
    if bytes_max is not None and not 0 <= bytes_max <= STORAGE_LIMIT_MAX:
        raise InvalidInput("storage_bytes_max", f"must be from 0 to {STORAGE_LIMIT_MAX}, or nothing")
    row = await tx.maybe(sql.set_storage_max(tenant_id, bytes_max))
    if row is None:
        raise NotFound("tenant", tenant_id)
    return Tenant.from_row(row)


async def disable_user(tx: ControlTx, user_id: UserId, *, within: TenantId | None) -> User:
    """Keys stop at once; sessions and links end for good, so that enabling later does not bring them back."""
    user = await _locked(tx, user_id, within=within)
    row = await tx.maybe(sql.move_user(user_id, UserEvent.DISABLE))
    await credentials.close_account(tx, user_id)
    return User.from_row(row) if row is not None else user


async def enable_user(tx: ControlTx, user_id: UserId, *, within: TenantId | None) -> User:
    """Active again, or invited again if no password was ever chosen. Somebody who is not disabled stays as they are."""
    user = await _locked(tx, user_id, within=within)
    event = UserEvent.ENABLE if user.has_password else UserEvent.REINVITE
    row = await tx.maybe(sql.move_user(user_id, event))
    return User.from_row(row) if row is not None else user


async def _locked(tx: ControlTx, user_id: UserId, *, within: TenantId | None) -> User:
    row = await tx.maybe(sql.lock_user(user_id))
    if row is None or row.tenant_id != within:
        raise NotFound("user", user_id)
    return User.from_row(row)
