"""Statements over alerts, channels, notifications and the reports of replicas."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from comfyfleet.db.dialect import SecondsBetween, constant, insert_once, now, seconds_from_now
from comfyfleet.db.tables import alerts, notification_channels, notifications, replica_reports
from comfyfleet.kernel.ids import ChannelId, NotificationId, new_id
from comfyfleet.notifications.lifecycle import AlertState
from comfyfleet.webhooks.lifecycle import DELIVERY, DeliveryEvent, DeliveryStatus

a, c, n, r = alerts, notification_channels, notifications, replica_reports
KEPT = ("id", "state", "text", "began_at", "changed_at", "seen_at", "clear_since", "reminded_at")

# ── alerts ──────────────────────────────────────────────────────────────────────────────────


def time_now() -> sa.Select[Any]:
    return sa.select(now().label("at"))


def all_alerts() -> sa.Select[Any]:
    """A row a condition and subject that ever held within the retention."""
    return sa.select(*a.c)


def alerts_in(*, states: list[AlertState], rows: int) -> sa.Select[Any]:
    return sa.select(*a.c).where(a.c.state.in_(states)).order_by(a.c.changed_at.desc(), a.c.id).limit(rows)


def insert_alert(*, condition: str, subject: str, values: dict[str, Any]) -> sa.Insert:
    """Nothing comes back where another replica has written it."""
    row = {"condition": condition, "subject": subject, "generation": 1, **values}
    return insert_once(a).values(row).returning(a.c.id)


def move_alert(*, condition: str, subject: str, generation: int, values: dict[str, Any]) -> sa.Update:
    """Only as it was read."""
    which = (a.c.condition == condition, a.c.subject == subject, a.c.generation == generation)
    return sa.update(a).where(*which).values(generation=generation + 1, **values).returning(a.c.id)


def forget_alerts(*, age_s: float) -> sa.Delete:
    old = a.c.changed_at < seconds_from_now(-age_s)
    return sa.delete(a).where(a.c.state == constant(AlertState.RESOLVED), old)


# ── channels ────────────────────────────────────────────────────────────────────────────────


def insert_channel(*, name: str, kind: str, target: str, secret: str | None, only_pages: bool) -> sa.Insert:
    return (
        insert_once(c)
        .values(
            id=new_id(),
            name=name,
            kind=kind,
            target=target,
            secret=secret,
            only_pages=only_pages,
            is_active=True,
            created_at=now(),
        )
        .returning(*c.c)
    )


def all_channels() -> sa.Select[Any]:
    return sa.select(*c.c).order_by(c.c.name)


def channel(channel_id: ChannelId) -> sa.Select[Any]:
    return sa.select(*c.c).where(c.c.id == channel_id)


def channel_named(name: str) -> sa.Select[Any]:
    return sa.select(*c.c).where(c.c.name == name)


def change_channel(channel_id: ChannelId, values: dict[str, Any]) -> sa.Update:
    return sa.update(c).where(c.c.id == channel_id).values(values).returning(*c.c)


def delete_channel(channel_id: ChannelId) -> sa.Delete:
    return sa.delete(c).where(c.c.id == channel_id)


# ── notifications ───────────────────────────────────────────────────────────────────────────


def insert_notification(
    *,
    id: NotificationId,
    channel_id: ChannelId,
    channel: str,
    channel_kind: str,
    kind: str,
    condition: str,
    subject: str,
    payload: str,
) -> sa.Insert:
    return sa.insert(n).values(
        id=id,
        channel_id=channel_id,
        channel=channel,
        channel_kind=channel_kind,
        kind=kind,
        condition=condition,
        subject=subject,
        payload=payload,
        status=DELIVERY.initial,
        attempts=0,
        next_try_at=now(),
        created_at=now(),
    )


def notification_page(*, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = sa.select(*n.c).order_by(n.c.id.desc()).limit(rows + 1)
    return page.where(n.c.id < after) if after else page


def take_due(*, rows: int, lease_s: float, busy: list[ChannelId]) -> sa.Update:
    """The first of each condition and channel, so that no "resolved" comes before its "firing". Taken until the lease
    is over: a crash while it is sent costs a second delivery at most."""
    waits = n.c.status == constant(DeliveryStatus.PENDING)
    earlier = n.alias("earlier")
    is_first = ~(
        sa.select(earlier.c.id)
        .where(
            earlier.c.status == constant(DeliveryStatus.PENDING),
            earlier.c.channel_id == n.c.channel_id,
            earlier.c.condition == n.c.condition,
            earlier.c.id < n.c.id,
        )
        .correlate(n)
        .exists()
    )
    free = (
        sa.select(n.c.id)
        .where(waits, n.c.next_try_at <= now(), n.c.channel_id.not_in(busy), is_first)
        .order_by(n.c.id)
        .limit(rows)
        .with_for_update(skip_locked=True)
        .cte("free")
    )
    return (
        sa.update(n)
        .where(n.c.id.in_(sa.select(free.c.id)), waits)
        .values(attempts=n.c.attempts + 1, next_try_at=seconds_from_now(lease_s))
        .returning(n.c.id)
    )


def due(ids: list[NotificationId]) -> sa.Select[Any]:
    """With where each goes; a channel that was deleted or switched off has none."""
    columns = (n.c.id, n.c.channel_id, n.c.attempts, n.c.payload, c.c.kind, c.c.target, c.c.secret)
    is_active = sa.and_(c.c.id == n.c.channel_id, c.c.is_active)
    return sa.select(*columns).join(c, is_active).where(n.c.id.in_(ids)).order_by(n.c.id)


def end_notification(
    notification_id: NotificationId,
    event: DeliveryEvent,
    *,
    attempt: int,
    response_status: int | None,
    last_error: str | None,
) -> sa.Update:
    """Only by the last try: a late word of an earlier one decides nothing."""
    return (
        _move(event, n.c.id == notification_id, n.c.attempts == attempt)
        .values(response_status=response_status, last_error=last_error)
        .returning(n.c.id)
    )


def postpone_notification(
    notification_id: NotificationId,
    *,
    attempt: int,
    pause_s: float,
    response_status: int | None,
    last_error: str | None,
) -> sa.Update:
    which = (n.c.id == notification_id, n.c.attempts == attempt, n.c.status == DeliveryStatus.PENDING)
    values = {"next_try_at": seconds_from_now(pause_s), "response_status": response_status, "last_error": last_error}
    return sa.update(n).where(*which).values(values).returning(n.c.id)


def drop_waiting(channel_id: ChannelId) -> sa.Update:
    return _move(DeliveryEvent.DROP, n.c.channel_id == channel_id)


def drop_these(ids: list[NotificationId]) -> sa.Update:
    return _move(DeliveryEvent.DROP, n.c.id.in_(ids))


def forget_notifications(*, age_s: float, rows: int) -> sa.Delete:
    """Of the oldest by id, which is by age: those that ended long ago."""
    oldest = sa.select(n.c.id, n.c.ended_at).order_by(n.c.id).limit(rows).subquery("oldest")
    old = sa.select(oldest.c.id).where(oldest.c.ended_at < seconds_from_now(-age_s))
    return sa.delete(n).where(n.c.id.in_(old))


def _move(event: DeliveryEvent, *which: sa.ColumnElement[bool]) -> sa.Update:
    return (
        sa.update(n)
        .where(*which, n.c.status.in_(DELIVERY.sources(event)))
        .values(status=DELIVERY.target(event), next_try_at=None, ended_at=now())
    )


# ── what replicas say of themselves ─────────────────────────────────────────────────────────


def write_report(*, replica: str, loops: str, disks: str) -> sa.Insert:
    """In place of its last one."""
    values = {"reported_at": now(), "loops": loops, "disks": disks}
    insert = postgresql.insert(r).values(replica=replica, **values)
    return insert.on_conflict_do_update(index_elements=[r.c.replica], set_=values)


def reports() -> sa.Select[Any]:
    return sa.select(r.c.replica, r.c.loops, r.c.disks, SecondsBetween(r.c.reported_at, now()).label("reported_ago_s"))


def forget_reports(*, age_s: float) -> sa.Delete:
    return sa.delete(r).where(r.c.reported_at < seconds_from_now(-age_s))
