"""An evaluation is written: alerts move, and each change is sent once to every channel that wants it.

The alert's move and its notifications are one transaction, so a crash leaves both or neither. Of two replicas that
evaluate at once, one holds the guard of a row; the other writes nothing for it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.kernel.ids import AlertId, NotificationId, new_id
from comfyfleet.notifications import sql
from comfyfleet.notifications.conditions import AlertCondition
from comfyfleet.notifications.judge import AlertChange, judge
from comfyfleet.notifications.lifecycle import AlertState
from comfyfleet.notifications.message import alert_payload
from comfyfleet.notifications.model import Alert, AlertReadings, AlertTimes, Channel, NotificationKind

LISTED_MAX = 200
SUBJECT_CHARS_MAX = 200


async def note_readings(
    tx: ControlTx, readings: AlertReadings, *, times: AlertTimes, public_url: str
) -> list[AlertChange]:
    """The changes that were written."""
    at: datetime = (await tx.one(sql.time_now())).at
    found = {each.key: each for each in map(Alert.from_row, await tx.all(sql.all_alerts()))}
    channels = [Channel.from_row(row) for row in await tx.all(sql.all_channels())]
    written: list[AlertChange] = []
    for key in sorted({*found, *readings.holding}):
        change = judge(
            found.get(key),
            readings.holding.get(key),
            is_known=key.condition in readings.known,
            times=times,
            at=at,
            new_id=AlertId(new_id()),
        )
        if change is None or not await _write(tx, change):
            continue
        written.append(change)
    for (condition, kind), group in _grouped(written).items():
        payload = alert_payload(condition, group, kind, at=at, public_url=public_url)
        for channel in channels:
            if channel.wants(condition.severity):
                await add_notification(tx, channel, kind, payload, alerts=group)
    return written


def _grouped(changes: Sequence[AlertChange]) -> dict[tuple[AlertCondition, NotificationKind], list[Alert]]:
    """What one evaluation tells of a condition is one message: a fault of everything at once must not send hundreds."""
    groups: dict[tuple[AlertCondition, NotificationKind], list[Alert]] = defaultdict(list)
    for change in changes:
        if change.tells is not None:
            groups[change.after.about, change.tells].append(change.after)
    return groups


async def _write(tx: ControlTx, change: AlertChange) -> bool:
    after = change.after
    values = {name: value for name, value in asdict(after).items() if name in sql.KEPT}
    if change.before is None:
        statement: Any = sql.insert_alert(condition=after.condition, subject=after.subject, values=values)
    else:
        statement = sql.move_alert(
            condition=after.condition, subject=after.subject, generation=change.before.generation, values=values
        )
    return await tx.maybe(statement) is not None


async def add_notification(
    tx: ControlTx, channel: Channel, kind: NotificationKind, payload: str, *, alerts: Sequence[Alert] = ()
) -> NotificationId:
    notification_id = NotificationId(new_id())
    await tx.run(
        sql.insert_notification(
            id=notification_id,
            channel_id=channel.id,
            channel=channel.name,
            channel_kind=channel.kind.value,
            kind=kind.value,
            condition=alerts[0].condition if alerts else "",
            subject=", ".join(each.subject for each in alerts)[:SUBJECT_CHARS_MAX],
            payload=payload,
        )
    )
    return notification_id


async def list_alerts(tx: ControlTx, *, states: Sequence[AlertState] = tuple(AlertState)) -> list[Alert]:
    """Those that changed last come first; at most 200."""
    return [Alert.from_row(row) for row in await tx.all(sql.alerts_in(states=list(states), rows=LISTED_MAX))]


async def firing_alerts(tx: ControlTx) -> list[Alert]:
    return await list_alerts(tx, states=[AlertState.FIRING])
