"""Operators are notified of what Prometheus would alert them of: alerts with hysteresis, channels, a log of what was
sent."""

from comfyfleet.notifications.alerts import firing_alerts, list_alerts, note_readings
from comfyfleet.notifications.channels import (
    ActingOperator,
    ChannelRules,
    NewChannel,
    create_channel,
    delete_channel,
    disable_channel,
    enable_channel,
    find_channel,
    find_channel_named,
    list_channels,
    send_channel_test,
)
from comfyfleet.notifications.conditions import CONDITIONS, ONLY_IN_PROMETHEUS, AlertCondition, Severity
from comfyfleet.notifications.deliver import forget_notifications, list_notifications, note_sent, take_due
from comfyfleet.notifications.judge import AlertChange
from comfyfleet.notifications.lifecycle import ALERT, AlertState
from comfyfleet.notifications.model import (
    Alert,
    AlertKey,
    AlertReading,
    AlertReadings,
    AlertTimes,
    Channel,
    ChannelKind,
    DueNotification,
    Notification,
    NotificationKind,
    ReplicaReport,
)
from comfyfleet.notifications.report import list_reports, write_report
from comfyfleet.notifications.send import send_notification

__all__ = [
    "ALERT",
    "CONDITIONS",
    "ONLY_IN_PROMETHEUS",
    "ActingOperator",
    "Alert",
    "AlertChange",
    "AlertCondition",
    "AlertKey",
    "AlertReading",
    "AlertReadings",
    "AlertState",
    "AlertTimes",
    "Channel",
    "ChannelKind",
    "ChannelRules",
    "DueNotification",
    "NewChannel",
    "Notification",
    "NotificationKind",
    "ReplicaReport",
    "Severity",
    "create_channel",
    "delete_channel",
    "disable_channel",
    "enable_channel",
    "find_channel",
    "find_channel_named",
    "firing_alerts",
    "forget_notifications",
    "list_alerts",
    "list_channels",
    "list_notifications",
    "list_reports",
    "note_readings",
    "note_sent",
    "send_channel_test",
    "send_notification",
    "take_due",
    "write_report",
]
