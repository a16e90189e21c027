"""Statements over tenants and users. Credentials have theirs in `credentials/sql.py`."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import batch_rows, insert_once, now
from comfyfleet.db.direct import built_once
from comfyfleet.db.tables import tenants, users
from comfyfleet.kernel.ids import TenantId, UserId, new_id
from comfyfleet.tenants.lifecycle import TENANT, USER, TenantEvent, TenantStatus, UserEvent


def insert_tenant(*, slug: str, name: str, pool: str, weight: int) -> sa.Insert:
    return (
        insert_once(tenants)
        .values(id=new_id(), slug=slug, name=name, pool=pool, weight=weight, status=TENANT.initial, created_at=now())
        .returning(*tenants.c)
    )


def tenant_by_id(tenant_id: TenantId) -> sa.Select[Any]:
    return sa.select(*tenants.c).where(tenants.c.id == tenant_id)


def tenant_by_slug(slug: str) -> sa.Select[Any]:
    return sa.select(*tenants.c).where(tenants.c.slug == slug)


def slugs_of(tenant_ids: list[TenantId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": each} for each in tenant_ids])
    return sa.select(tenants.c.id, tenants.c.slug).join(b, b.c.id == tenants.c.id)


@built_once
def weights_of() -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()})
    return sa.select(tenants.c.id, tenants.c.weight).join(b, b.c.id == tenants.c.id)


@built_once
def suspended_of() -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()})
    return sa.select(tenants.c.id).join(b, b.c.id == tenants.c.id).where(tenants.c.status == TenantStatus.SUSPENDED)


def tenant_page(*, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = sa.select(*tenants.c).order_by(tenants.c.id.desc()).limit(rows + 1)
    return page.where(tenants.c.id < after) if after else page


def move_tenant(tenant_id: TenantId, event: TenantEvent) -> sa.Update:
    return (
        sa.update(tenants)
        .where(tenants.c.id == tenant_id, tenants.c.status.in_(TENANT.sources(event)))
        .values(status=TENANT.target(event))
        .returning(*tenants.c)
    )


def set_priority_max(tenant_id: TenantId, priority_max: int | None) -> sa.Update:
    return sa.update(tenants).where(tenants.c.id == tenant_id).values(priority_max=priority_max).returning(*tenants.c)


def set_storage_max(tenant_id: TenantId, bytes_max: int | None) -> sa.Update:
    return sa.update(tenants).where(tenants.c.id == tenant_id).values(storage_bytes_max=bytes_max).returning(*tenants.c)


def insert_user(*, tenant_id: TenantId | None, email: str, role: str, password_hash: str | None) -> sa.Insert:
    status = USER.target(UserEvent.ACCEPT) if password_hash else USER.initial
    return (
        insert_once(users)
        .values(
            id=new_id(),
            tenant_id=tenant_id,
            email=email,
            role=role,
            status=status,
            password_hash=password_hash,
            created_at=now(),
        )
        .returning(*users.c)
    )


def user_by_id(user_id: UserId) -> sa.Select[Any]:
    return sa.select(*users.c).where(users.c.id == user_id)


def lock_user(user_id: UserId) -> sa.Select[Any]:
    """Whoever changes what opens an account takes turns: a login, a new password, a new link, a disabling."""
    return user_by_id(user_id).with_for_update()


def user_by_email(email: str) -> sa.Select[Any]:
    return sa.select(*users.c).where(users.c.email == email)


def user_page(tenant_id: TenantId | None, *, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = sa.select(*users.c).where(users.c.tenant_id == tenant_id).order_by(users.c.id.desc()).limit(rows + 1)
    return page.where(users.c.id < after) if after else page


def move_user(user_id: UserId, event: UserEvent) -> sa.Update:
    return (
        sa.update(users)
        .where(users.c.id == user_id, users.c.status.in_(USER.sources(event)))
        .values(status=USER.target(event))
        .returning(*users.c)
    )


def set_password_hash(user_id: UserId, password_hash: str) -> sa.Update:
    return sa.update(users).where(users.c.id == user_id).values(password_hash=password_hash).returning(*users.c)
