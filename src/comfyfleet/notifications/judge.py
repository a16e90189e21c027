"""What an evaluation makes of an alert: when it fires, when it is over, and when it is told again. Pure.

An alert does not flap: it fires when its condition has held for a while without a gap, and is over when the condition
has not held for longer. What could not be read changes nothing.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from comfyfleet.kernel.ids import AlertId
from comfyfleet.notifications.conditions import CONDITIONS
from comfyfleet.notifications.lifecycle import ALERT, AlertEvent, AlertState
from comfyfleet.notifications.model import Alert, AlertReading, AlertTimes, NotificationKind


@dataclass(frozen=True, slots=True)
class AlertChange:
    """`after`: what to write in place of `before`. `tells`: what to send; None: nothing."""

    before: Alert | None
    after: Alert
    tells: NotificationKind | None = None


def judge(
    found: Alert | None,
    reading: AlertReading | None,
    *,
    is_known: bool,
    times: AlertTimes,
    at: datetime,
    new_id: AlertId,
) -> AlertChange | None:
    """None: nothing to write. `reading`: the condition holds now; `is_known`: it could be read at all."""
    if reading is not None:
        return _holds(found, reading, times, at, new_id)
    if found is None or not is_known or found.state is AlertState.RESOLVED:
        return None
    return _holds_not(found, times, at)


def _holds(
    found: Alert | None, reading: AlertReading, times: AlertTimes, at: datetime, new_id: AlertId
) -> AlertChange | None:
    if found is None or found.state is AlertState.RESOLVED:
        begun = _begun(found, reading, at, new_id)
        return _fired_if_due(found, begun, times, at)
    now = replace(found, text=reading.text, seen_at=at, clear_since=None)
    if found.state is AlertState.PENDING:
        began_at = at if _was_away(found, times, at) else found.began_at
        return _fired_if_due(found, replace(now, began_at=began_at), times, at)
    reminded_at = found.reminded_at or found.changed_at
    if times.reminder_s > 0 and (at - reminded_at).total_seconds() >= times.reminder_s:
        return AlertChange(found, replace(now, reminded_at=at), NotificationKind.REMINDER)
    return AlertChange(found, now)


def _begun(found: Alert | None, reading: AlertReading, at: datetime, new_id: AlertId) -> Alert:
    return Alert(
        id=new_id,
        condition=reading.condition,
        subject=reading.subject,
        state=ALERT.initial if found is None else ALERT.next(found.state, AlertEvent.BEGIN),
        text=reading.text,
        began_at=at,
        changed_at=at,
        seen_at=at,
        clear_since=None,
        reminded_at=None,
        generation=0 if found is None else found.generation,
    )


def _fired_if_due(before: Alert | None, pending: Alert, times: AlertTimes, at: datetime) -> AlertChange:
    held_s = (at - pending.began_at).total_seconds()
    if held_s < times.fire_after_s(CONDITIONS[pending.condition]):
        return AlertChange(before, pending)
    state = ALERT.next(pending.state, AlertEvent.FIRE)
    fired = replace(pending, state=state, changed_at=at, reminded_at=at)
    return AlertChange(before, fired, NotificationKind.FIRING)


def _holds_not(found: Alert, times: AlertTimes, at: datetime) -> AlertChange:
    if found.state is AlertState.PENDING:
        state = ALERT.next(found.state, AlertEvent.WITHDRAW)
        return AlertChange(found, replace(found, state=state, changed_at=at, seen_at=at))
    since = at if found.clear_since is None or _was_away(found, times, at) else found.clear_since
    now = replace(found, seen_at=at, clear_since=since)
    if (at - since).total_seconds() < times.resolve_after_s(found.about):
        return AlertChange(found, now)
    over = replace(now, state=ALERT.next(found.state, AlertEvent.RESOLVE), changed_at=at)
    return AlertChange(found, over, NotificationKind.RESOLVED)


def _was_away(found: Alert, times: AlertTimes, at: datetime) -> bool:
    return (at - found.seen_at).total_seconds() > times.gap_s
