"""What may happen to an alert: a condition begins to hold, holds for long enough, and ends."""

from enum import StrEnum

from comfyfleet.kernel.lifecycle import Lifecycle


class AlertState(StrEnum):
    PENDING = "pending"
    FIRING = "firing"
    RESOLVED = "resolved"


class AlertEvent(StrEnum):
    BEGIN = "begin"
    FIRE = "fire"
    WITHDRAW = "withdraw"
    RESOLVE = "resolve"


ALERT = Lifecycle(
    "alert",
    initial=AlertState.PENDING,
    moves={
        (AlertState.PENDING, AlertEvent.FIRE): AlertState.FIRING,
        # It ended before its time was over: nothing is sent.
        (AlertState.PENDING, AlertEvent.WITHDRAW): AlertState.RESOLVED,
        (AlertState.FIRING, AlertEvent.RESOLVE): AlertState.RESOLVED,
        (AlertState.RESOLVED, AlertEvent.BEGIN): AlertState.PENDING,
    },
)
