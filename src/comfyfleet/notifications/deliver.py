"""Notifications whose time has come: taken, sent by the caller, and what became of each written down."""

from collections.abc import Collection
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.kernel.ids import ChannelId, NotificationId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.notifications import sql
from comfyfleet.notifications.channels import switch_off_gone
from comfyfleet.notifications.model import DueNotification, Notification, pause_s
from comfyfleet.webhooks import Sent
from comfyfleet.webhooks.lifecycle import DeliveryEvent

# One that was taken and of which nothing is heard (a crash) is due again after this long.
LEASE_S = 60.0
GONE = "Its receiver answered 410 Gone."


async def take_due(tx: ControlTx, *, rows: int, busy: Collection[ChannelId] = ()) -> list[DueNotification]:
    """Two replicas never take the same. Of a channel that is gone or off they are dropped."""
    ids = [NotificationId(row.id) for row in await tx.all(sql.take_due(rows=rows, lease_s=LEASE_S, busy=list(busy)))]
    if not ids:
        return []
    found = [DueNotification.from_row(row) for row in await tx.all(sql.due(ids))]
    orphans = set(ids) - {each.id for each in found}
    if orphans:
        await tx.run(sql.drop_these(sorted(orphans)))
    return found


async def note_sent(tx: ControlTx, due: DueNotification, sent: Sent, *, chance: float) -> None:
    said: dict[str, Any] = {"attempt": due.attempt, "response_status": sent.status, "last_error": sent.error}
    pause = pause_s(due.attempt, chance=chance)
    if sent.arrived or sent.is_gone or pause is None:
        event = DeliveryEvent.ARRIVE if sent.arrived else DeliveryEvent.GIVE_UP
        await tx.maybe(sql.end_notification(due.id, event, **said))
    else:
        await tx.maybe(sql.postpone_notification(due.id, pause_s=pause, **said))
    if sent.is_gone:
        await switch_off_gone(tx, due.channel_id, GONE)


async def list_notifications(tx: ControlTx, request: PageRequest) -> Page[Notification]:
    """The log, newest first."""
    rows = await tx.all(sql.notification_page(after=request.after, rows=request.rows))
    return Page.cut([Notification.from_row(row) for row in rows], [row.id for row in rows], request)


async def forget_notifications(tx: ControlTx, *, age_s: float, rows: int) -> int:
    """With alerts that were resolved long ago, and replicas that have not reported for long."""
    await tx.run(sql.forget_alerts(age_s=age_s))
    await tx.run(sql.forget_reports(age_s=age_s))
    return await tx.run(sql.forget_notifications(age_s=age_s, rows=rows))
