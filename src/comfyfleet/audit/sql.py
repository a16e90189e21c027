"""Statements of the audit log. The central database has one chain, a pool has one per tenant."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.audit.model import Entry
from comfyfleet.db.dialect import TimeText, batch_rows, insert_once, now, seconds_from_now
from comfyfleet.db.scope import BOUND_TENANT
from comfyfleet.db.tables import (
    audit_alarms,
    audit_head,
    audit_log,
    tenant_audit_heads,
    tenant_audit_log,
    worker_audit_log,
)
from comfyfleet.kernel.ids import DispatchId, TenantId, new_id

h, g = audit_head, audit_log
al = audit_alarms
th, tg = tenant_audit_heads, tenant_audit_log
e = worker_audit_log

RECENT_MAX = 500

# ── the central chain ───────────────────────────────────────────────────────────────────────


def start_chain(*, mac: str) -> sa.Insert:
    return insert_once(h).values(id=1, seq=0, mac=mac)


def hold_head() -> sa.Select[Any]:
    """Whoever adds to the chain takes its turn; with the time, for the row's mac must hold it."""
    return sa.select(h.c.seq, h.c.mac, now().label("at")).where(h.c.id == 1).with_for_update(of=h)


def insert_entry(entry: Entry) -> sa.Insert:
    return sa.insert(g).values(**_said(entry))


def move_head(*, seq: int, mac: str) -> sa.Update:
    return sa.update(h).where(h.c.id == 1, h.c.seq == seq - 1).values(seq=seq, mac=mac).returning(h.c.seq)


def head() -> sa.Select[Any]:
    return sa.select(h.c.seq, h.c.mac, now().label("at")).where(h.c.id == 1)


def clock() -> sa.Select[Any]:
    return sa.select(now().label("at"))


def entries_after(seq: int, *, rows: int) -> sa.Select[Any]:
    return sa.select(*_as_found(g)).where(g.c.seq > seq).order_by(g.c.seq).limit(rows)


def names_after(seq: int) -> sa.Select[Any]:
    return sa.select(sa.func.max(g.c.seq).label("seq"), g.c.action).where(g.c.seq > seq).group_by(g.c.action)


def mac_at(seq: int) -> sa.Select[Any]:
    return sa.select(g.c.mac).where(g.c.seq == seq)


def action_page(*, before: int | None, rows: int) -> sa.Select[Any]:
    page = sa.select(*g.c).order_by(g.c.seq.desc()).limit(rows + 1)
    return page.where(g.c.seq < before) if before is not None else page


def _as_found(table: sa.Table) -> list[sa.ColumnElement[Any]]:
    return [TimeText(column).label("at") if column.name == "at" else column for column in table.c]


def _said(entry: Entry) -> dict[str, Any]:
    return {
        "seq": entry.seq,
        "at": entry.at,
        "actor_kind": entry.actor.kind,
        "actor": entry.actor.name,
        "action": entry.action,
        "subject": entry.subject,
        "address": entry.actor.address,
        "detail": entry.detail,
        "mac": entry.mac,
    }


# ── a tenant's chain ────────────────────────────────────────────────────────────────────────


def start_tenant_chain(*, mac: str) -> sa.Insert:
    return insert_once(th).values(tenant_id=BOUND_TENANT, seq=0, mac=mac)


def hold_tenant_head() -> sa.Select[Any]:
    return sa.select(th.c.seq, th.c.mac, now().label("at")).where(th.c.tenant_id == BOUND_TENANT).with_for_update(of=th)


def insert_tenant_entry(entry: Entry) -> sa.Insert:
    return sa.insert(tg).values(tenant_id=BOUND_TENANT, **_said(entry))


def move_tenant_head(*, seq: int, mac: str) -> sa.Update:
    return (
        sa.update(th)
        .where(th.c.tenant_id == BOUND_TENANT, th.c.seq == seq - 1)
        .values(seq=seq, mac=mac)
        .returning(th.c.seq)
    )


def tenant_action_page(*, before: int | None, rows: int) -> sa.Select[Any]:
    page = sa.select(*tg.c).where(tg.c.tenant_id == BOUND_TENANT).order_by(tg.c.seq.desc()).limit(rows + 1)
    return page.where(tg.c.seq < before) if before is not None else page


# ── all chains of a pool ────────────────────────────────────────────────────────────────────


def heads_after(tenant_id: TenantId | None, *, rows: int) -> sa.Select[Any]:
    page = sa.select(*th.c, now().label("at")).order_by(th.c.tenant_id).limit(rows)
    return page.where(th.c.tenant_id > tenant_id) if tenant_id is not None else page


def tenant_entries_after(tenant_id: TenantId | None, seq: int, *, rows: int) -> sa.Select[Any]:
    """Chain by chain, each in order."""
    page = sa.select(*_as_found(tg)).order_by(tg.c.tenant_id, tg.c.seq).limit(rows)
    if tenant_id is None:
        return page
    after = sa.tuple_(sa.literal(tenant_id, sa.Uuid()), sa.literal(seq, sa.BigInteger()))
    return page.where(sa.tuple_(tg.c.tenant_id, tg.c.seq) > after)


def tenant_macs_at(places: list[dict[str, Any]]) -> sa.Select[Any]:
    b = batch_rows("b", {"tenant_id": sa.Uuid(), "seq": sa.BigInteger()}, places)
    return sa.select(tg.c.tenant_id, tg.c.mac).join(b, sa.and_(b.c.tenant_id == tg.c.tenant_id, b.c.seq == tg.c.seq))


# ── what workers did ────────────────────────────────────────────────────────────────────────


def insert_worker_events(rows: list[dict[str, Any]]) -> sa.Insert:
    columns: dict[str, Any] = {
        "id": sa.Uuid(),
        "event": sa.Text(),
        "worker_id": sa.Text(),
        "dispatch_id": sa.Uuid(),
        "tenant_id": sa.Uuid(),
        "address": sa.Text(),
        "detail": sa.Text(),
    }
    b = batch_rows("b", columns, rows)
    return sa.insert(e).from_select([*columns, "at"], sa.select(*b.c, now()))


def worker_events_since(*, seconds: float, names: list[str]) -> sa.Select[Any]:
    """Recent ones of these names, the oldest first. Ids grow with time: the newest stand at the end of the index."""
    newest = sa.select(*e.c).order_by(e.c.id.desc()).limit(RECENT_MAX).subquery("newest")
    return (
        sa.select(newest)
        .where(newest.c.at > seconds_from_now(-seconds), newest.c.event.in_(names))
        .order_by(newest.c.id)
    )


def worker_event_page(
    *, worker_id: str | None, dispatch_id: DispatchId | None, after: UUID | None, rows: int
) -> sa.Select[Any]:
    page = sa.select(*e.c).order_by(e.c.id.desc()).limit(rows + 1)
    if worker_id is not None:
        page = page.where(e.c.worker_id == worker_id)
    if dispatch_id is not None:
        page = page.where(e.c.dispatch_id == dispatch_id)
    return page.where(e.c.id < after) if after is not None else page


# ── alarms ──────────────────────────────────────────────────────────────────────────────────


def raise_alarm(*, pool: str, chain: str, seq: int, problem: str) -> sa.Insert:
    """Nothing comes back where it was raised before."""
    values = {"pool": pool, "chain": chain, "seq": seq, "problem": problem}
    return insert_once(al).values(id=new_id(), found_at=now(), **values).returning(*al.c)


def open_alarms(*, rows: int) -> sa.Select[Any]:
    return sa.select(*al.c).where(al.c.acknowledged_at.is_(None)).order_by(al.c.id).limit(rows)


def acknowledged_alarms() -> sa.Select[Any]:
    return sa.select(*al.c).where(al.c.acknowledged_at.is_not(None))


def alarm_by_id(alarm_id: UUID) -> sa.Select[Any]:
    return sa.select(*al.c).where(al.c.id == alarm_id)


def acknowledge_alarm(alarm_id: UUID, *, by: str) -> sa.Update:
    return (
        sa.update(al)
        .where(al.c.id == alarm_id, al.c.acknowledged_at.is_(None))
        .values(acknowledged_at=now(), acknowledged_by=by)
        .returning(*al.c)
    )
