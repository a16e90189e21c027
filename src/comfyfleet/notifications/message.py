"""What a notification says: the same facts as JSON for programs and as text for people. Pure.

No prompt, no user and no secret is among them: conditions are read from counts, names and states.
"""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from comfyfleet.kernel.ids import NotificationId
from comfyfleet.notifications.conditions import AlertCondition
from comfyfleet.notifications.model import Alert, Channel, NotificationKind

HEADLINES = {
    NotificationKind.FIRING: "FIRING",
    NotificationKind.REMINDER: "STILL FIRING",
    NotificationKind.RESOLVED: "RESOLVED",
}
ALERTS_MAX = 50
SUBJECTS_MAX = 5
TEST_TEXT = "This is a test of the notification channel {name}. Nothing is wrong."


def alert_payload(
    condition: AlertCondition, alerts: Sequence[Alert], kind: NotificationKind, *, at: datetime, public_url: str
) -> str:
    """All alerts of one condition that changed at once. `text` is one line that a chat can show."""
    data = {
        "condition": condition.name,
        "severity": condition.severity.value,
        "summary": condition.summary,
        "count": len(alerts),
        "alerts": [_facts(each) for each in alerts[:ALERTS_MAX]],
        "runbook": condition.runbook,
        "console_url": f"{public_url}/console/notifications",
    }
    return _json(f"alert.{kind.value}", f"{HEADLINES[kind]}: {_in_one_line(condition, alerts, kind)}", at, data)


def _facts(alert: Alert) -> dict[str, str | None]:
    return {
        "id": str(alert.id),
        "subject": alert.subject or None,
        "state": alert.state.value,
        "value": alert.text,
        "since": alert.began_at.isoformat(),
    }


def _in_one_line(condition: AlertCondition, alerts: Sequence[Alert], kind: NotificationKind) -> str:
    if len(alerts) == 1:
        [alert] = alerts
        named = f"{condition.name} ({alert.subject})" if alert.subject else condition.name
        return f"{named}. {'It was: ' if kind is NotificationKind.RESOLVED else ''}{alert.text}"
    subjects = ", ".join(each.subject for each in alerts[:SUBJECTS_MAX])
    rest = f" and {len(alerts) - SUBJECTS_MAX} more" if len(alerts) > SUBJECTS_MAX else ""
    return f"{condition.name}, {len(alerts)} alerts: {subjects}{rest}. {condition.summary}"


def channel_test_payload(channel: Channel, *, at: datetime, public_url: str) -> str:
    text = TEST_TEXT.format(name=channel.name)
    data = {"channel": channel.name, "console_url": f"{public_url}/console/notifications"}
    return _json("notification.test", text, at, data)


def _json(kind: str, text: str, at: datetime, data: dict[str, Any]) -> str:
    said = {"type": kind, "timestamp": at.isoformat(), "text": text, "data": data}
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False)


def mail_subject(payload: str) -> str:
    """One line, whatever the text holds."""
    return " ".join(f"[comfyfleet] {json.loads(payload)['text']}".split())[:200]


def mail_text(payload: str) -> str:
    """Everything that the JSON says, a line a fact."""
    said = json.loads(payload)
    data = dict(said["data"])
    found = data.pop("alerts", [])
    lines = [said["text"], ""]
    for each in found:
        lines += [f"- {each['subject'] or data['condition']}: {each['value']}", f"  since {each['since']}"]
    lines += ["", *(f"{name.replace('_', ' ')}: {value}" for name, value in data.items())]
    return "\n".join([*lines, f"sent: {said['timestamp']}", ""])


def message_id(notification_id: NotificationId) -> str:
    """The same over all tries: by it a receiver knows what it has seen."""
    return f"msg_{notification_id.hex}"
