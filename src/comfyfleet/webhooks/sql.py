"""Statements over endpoints, events and deliveries."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import batch_rows, constant, insert_once, now, seconds_from_now
from comfyfleet.db.direct import built_once
from comfyfleet.db.scope import BOUND_TENANT
from comfyfleet.db.tables import webhook_attempts, webhook_deliveries, webhook_endpoints, webhook_events
from comfyfleet.kernel.ids import DeliveryId, EndpointId, TenantId, WebhookEventId, new_id
from comfyfleet.webhooks.lifecycle import DELIVERY, DeliveryEvent, DeliveryStatus

e, v, d, a = webhook_endpoints, webhook_events, webhook_deliveries, webhook_attempts
LOOKED_AT_MAX = 1_000

# ── endpoints ───────────────────────────────────────────────────────────────────────────────


def insert_endpoint(
    *, url: str, description: str, secret: str, event_types: list[str] | None, is_listed: bool
) -> sa.Insert:
    """One behind a job's own URL is there once."""
    return (
        insert_once(e)
        .values(
            id=new_id(),
            tenant_id=BOUND_TENANT,
            url=url,
            description=description,
            secret=secret,
            event_types=sa.null() if event_types is None else event_types,
            is_active=True,
            is_listed=is_listed,
            created_at=now(),
        )
        .returning(*e.c)
    )


def endpoint(endpoint_id: EndpointId) -> sa.Select[Any]:
    return sa.select(*e.c).where(e.c.tenant_id == BOUND_TENANT, e.c.id == endpoint_id)


def unlisted_endpoint(url: str, *, fresh_s: float) -> sa.Select[Any]:
    is_fresh = (e.c.created_at > seconds_from_now(-fresh_s)).label("is_fresh")
    return sa.select(*e.c, is_fresh).where(e.c.tenant_id == BOUND_TENANT, e.c.url == url, ~e.c.is_listed)


def name_endpoint(endpoint_id: EndpointId, *, secret: str) -> sa.Update:
    """By a job, once more."""
    named = {"is_active": True, "disabled_reason": None, "secret": secret, "created_at": now()}
    return change_endpoint(endpoint_id, named)


@built_once
def active_endpoints() -> sa.Select[Any]:
    return sa.select(*e.c).where(e.c.tenant_id == BOUND_TENANT, e.c.is_active, e.c.is_listed).order_by(e.c.id)


def endpoint_page(*, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = sa.select(*e.c).where(e.c.tenant_id == BOUND_TENANT, e.c.is_listed).order_by(e.c.id.desc()).limit(rows + 1)
    return page.where(e.c.id < after) if after else page


def count_endpoints() -> sa.Select[Any]:
    return sa.select(sa.func.count(e.c.id).label("total")).where(e.c.tenant_id == BOUND_TENANT, e.c.is_listed)


def change_endpoint(endpoint_id: EndpointId, values: dict[str, Any]) -> sa.Update:
    return sa.update(e).where(e.c.tenant_id == BOUND_TENANT, e.c.id == endpoint_id).values(values).returning(*e.c)


def delete_endpoint(endpoint_id: EndpointId) -> sa.Delete:
    return sa.delete(e).where(e.c.tenant_id == BOUND_TENANT, e.c.id == endpoint_id)


# ── events ──────────────────────────────────────────────────────────────────────────────────


@built_once
def insert_event() -> sa.Insert:
    """Once for what it is about: a settlement that is applied again writes nothing."""
    given = {name: sa.bindparam(name, type_=v.c[name].type) for name in ("id", "event_type", "subject_id", "payload")}
    return insert_once(v).values(tenant_id=BOUND_TENANT, created_at=now(), **given).returning(v.c.id)


@built_once
def insert_delivery() -> sa.Insert:
    given = {name: sa.bindparam(name, type_=d.c[name].type) for name in ("id", "event_id", "endpoint_id")}
    return insert_once(d).values(
        **given,
        tenant_id=BOUND_TENANT,
        status=DELIVERY.initial,
        attempts=0,
        attempts_before=0,
        next_try_at=now(),
        created_at=now(),
    )


# ── deliveries, as their tenant sees them ───────────────────────────────────────────────────

LISTED = (*d.c, v.c.event_type)


def delivery_page(
    endpoint_id: EndpointId, *, subject_id: UUID | None = None, after: UUID | None, rows: int
) -> sa.Select[Any]:
    page = (
        sa.select(*LISTED)
        .join(v, sa.and_(v.c.id == d.c.event_id, v.c.tenant_id == BOUND_TENANT))
        .where(d.c.tenant_id == BOUND_TENANT, d.c.endpoint_id == endpoint_id)
        .order_by(d.c.id.desc())
        .limit(rows + 1)
    )
    if subject_id is not None:
        page = page.where(v.c.subject_id == subject_id)
    return page.where(d.c.id < after) if after else page


def delivery(delivery_id: DeliveryId) -> sa.Select[Any]:
    return (
        sa.select(*LISTED, v.c.payload, v.c.subject_id)
        .join(v, sa.and_(v.c.id == d.c.event_id, v.c.tenant_id == BOUND_TENANT))
        .where(d.c.tenant_id == BOUND_TENANT, d.c.id == delivery_id)
    )


def attempts_of(delivery_id: DeliveryId) -> sa.Select[Any]:
    return sa.select(*a.c).where(a.c.tenant_id == BOUND_TENANT, a.c.delivery_id == delivery_id).order_by(a.c.number)


def replay(delivery_id: DeliveryId) -> sa.Update:
    """Now, and with as many tries as a new one: numbers go on, so that no two attempts share one."""
    return (
        _move(DeliveryEvent.REPLAY, d.c.tenant_id == BOUND_TENANT, d.c.id == delivery_id)
        .values(attempts_before=d.c.attempts, next_try_at=now(), ended_at=None)
        .returning(d.c.id)
    )


def drop_pending(endpoint_id: EndpointId) -> sa.Update:
    return _end(DeliveryEvent.DROP, d.c.tenant_id == BOUND_TENANT, d.c.endpoint_id == endpoint_id)


def _end(event: DeliveryEvent, *which: sa.ColumnElement[bool]) -> sa.Update:
    return _move(event, *which).values(next_try_at=None, ended_at=now())


def _move(event: DeliveryEvent, *which: sa.ColumnElement[bool]) -> sa.Update:
    return sa.update(d).where(*which, d.c.status.in_(DELIVERY.sources(event))).values(status=DELIVERY.target(event))


# ── deliveries, as upkeep sees them: of all tenants of a pool ───────────────────────────────


def take_due(
    *,
    rows: int,
    each: int,
    each_tenant: int,
    lease_s: float,
    busy: list[EndpointId],
    busy_tenants: list[TenantId],
) -> sa.Update:
    """At most `each` of one endpoint and `each_tenant` of one tenant: those that hang hold up nobody else. Taken until
    the lease is over, so that a crash while it is sent costs a second delivery at most and never the delivery."""
    b = batch_rows("busy", {"id": sa.Uuid()}, [{"id": one} for one in busy])
    t = batch_rows("busy_tenants", {"tenant_id": sa.Uuid()}, [{"tenant_id": one} for one in busy_tenants])
    waits = d.c.status == constant(DeliveryStatus.PENDING)
    oldest = (
        sa.select(d.c.id, d.c.tenant_id, d.c.endpoint_id, d.c.next_try_at)
        .where(
            waits,
            d.c.next_try_at <= now(),
            d.c.endpoint_id.not_in(sa.select(b.c.id)),
            d.c.tenant_id.not_in(sa.select(t.c.tenant_id)),
        )
        # Of a backlog the oldest are looked at: what is taken makes its endpoint busy, and the next look goes beyond.
        .order_by(d.c.next_try_at)
        .limit(LOOKED_AT_MAX)
        .cte("oldest")
    )
    ranked = sa.select(*oldest.c, _place(oldest.c.endpoint_id, oldest).label("place")).cte("ranked")
    shared = (
        sa.select(ranked.c.id, ranked.c.next_try_at, _place(ranked.c.tenant_id, ranked).label("place"))
        .where(ranked.c.place <= each)
        .cte("shared")
    )
    chosen = (
        sa.select(shared.c.id)
        .where(shared.c.place <= each_tenant)
        .order_by(shared.c.next_try_at)
        .limit(rows)
        .cte("chosen")
    )
    free = (
        sa.select(d.c.id)
        .where(d.c.id.in_(sa.select(chosen.c.id)), waits, d.c.next_try_at <= now())
        .with_for_update(skip_locked=True)
        .cte("free")
    )
    return (
        sa.update(d)
        .where(d.c.id.in_(sa.select(free.c.id)), waits)
        .values(attempts=d.c.attempts + 1, next_try_at=seconds_from_now(lease_s))
        .returning(d.c.id)
    )


def _place(among: sa.ColumnElement[Any], due: sa.FromClause) -> sa.Over[int]:
    """Which one it is of those, the one that waits longest first."""
    return sa.func.row_number().over(partition_by=among, order_by=(due.c.next_try_at, due.c.id))


def due(ids: list[DeliveryId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": one} for one in ids])
    return (
        sa.select(
            d.c.id,
            d.c.tenant_id,
            d.c.endpoint_id,
            d.c.attempts,
            d.c.attempts_before,
            d.c.event_id,
            v.c.event_type,
            v.c.subject_id,
            e.c.url,
            e.c.secret,
            v.c.payload,
        )
        .join(b, b.c.id == d.c.id)
        .join(e, sa.and_(e.c.id == d.c.endpoint_id, e.c.tenant_id == d.c.tenant_id, e.c.is_active))
        .join(v, sa.and_(v.c.id == d.c.event_id, v.c.tenant_id == d.c.tenant_id))
    )


def insert_attempt(
    delivery_id: DeliveryId, number: int, *, response_status: int | None, error: str | None, duration_ms: int
) -> sa.Insert:
    return insert_once(a).values(
        id=new_id(),
        tenant_id=BOUND_TENANT,
        delivery_id=delivery_id,
        number=number,
        response_status=response_status,
        error=error,
        duration_ms=duration_ms,
        created_at=now(),
    )


def end_delivery(
    delivery_id: DeliveryId, event: DeliveryEvent, *, attempt: int, response_status: int | None, error: str | None
) -> sa.Update:
    """Only by the try that was the last to be made: a late word of an earlier one decides nothing."""
    return (
        _end(event, d.c.tenant_id == BOUND_TENANT, d.c.id == delivery_id, d.c.attempts == attempt)
        .values(response_status=response_status, last_error=error)
        .returning(d.c.id)
    )


def postpone_delivery(
    delivery_id: DeliveryId, *, attempt: int, pause_s: float, response_status: int | None, error: str | None
) -> sa.Update:
    return (
        sa.update(d)
        .where(
            d.c.tenant_id == BOUND_TENANT,
            d.c.id == delivery_id,
            d.c.attempts == attempt,
            d.c.status == DeliveryStatus.PENDING,
        )
        .values(next_try_at=seconds_from_now(pause_s), response_status=response_status, last_error=error)
        .returning(d.c.id)
    )


def drop_orphans(ids: list[DeliveryId]) -> sa.Update:
    """Taken, and their endpoint is no longer there or no longer active."""
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": one} for one in ids])
    return _end(DeliveryEvent.DROP, d.c.id.in_(sa.select(b.c.id)))


# ── retention ───────────────────────────────────────────────────────────────────────────────


def unnamed_endpoints(*, age_s: float, rows: int) -> sa.Select[Any]:
    """Behind URLs that no job has named for so long."""
    old = ~e.c.is_listed, e.c.created_at < seconds_from_now(-age_s)
    return sa.select(e.c.id).where(*old).order_by(e.c.created_at).limit(rows)


def forget_endpoints(ids: list[EndpointId], *, age_s: float) -> sa.Delete:
    """Unless a job has named one since it was listed."""
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": one} for one in ids])
    old = ~e.c.is_listed, e.c.created_at < seconds_from_now(-age_s)
    return sa.delete(e).where(e.c.id.in_(sa.select(b.c.id)), *old)


def old_events(*, age_s: float, rows: int) -> sa.Select[Any]:
    """Long over: none of their deliveries waits any more."""
    waits = sa.select(d.c.id).where(d.c.event_id == v.c.id, d.c.status == constant(DeliveryStatus.PENDING))
    return (
        sa.select(v.c.id)
        .where(v.c.created_at < seconds_from_now(-age_s), ~waits.exists())
        .order_by(v.c.created_at)
        .limit(rows)
    )


def forget_attempts(ids: list[WebhookEventId]) -> sa.Delete:
    return sa.delete(a).where(a.c.delivery_id.in_(sa.select(d.c.id).where(d.c.event_id.in_(_listed(ids)))))


def forget_deliveries(ids: list[WebhookEventId]) -> sa.Delete:
    return sa.delete(d).where(d.c.event_id.in_(_listed(ids)))


def forget_events(ids: list[WebhookEventId]) -> sa.Delete:
    return sa.delete(v).where(v.c.id.in_(_listed(ids)))


def _listed(ids: list[WebhookEventId]) -> sa.Select[Any]:
    b = batch_rows("b", {"id": sa.Uuid()}, [{"id": one} for one in ids])
    return sa.select(b.c.id)
