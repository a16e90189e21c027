"""Once a minute one replica looks at the conditions that operators are notified of, and writes what has changed."""

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from comfyfleet import notifications
from comfyfleet.gauges.conditions import read_conditions
from comfyfleet.house import House
from comfyfleet.notifications import AlertChange, AlertTimes
from comfyfleet.upkeep.turns import take_due_turn

NAME = "watch_conditions"
BATCH = 1_000_000  # one evaluation a tick
# Ticks come a quarter early or late; this much of the interval must have passed since any replica's last turn.
TURN_SHARE = 0.7

log = structlog.get_logger()


@dataclass
class ConditionWatch:
    """`on_told`: there is something to send."""

    house: House
    every_s: float
    times: AlertTimes
    on_told: Callable[[], None] = lambda: None

    async def tick(self) -> int:
        async with self.house.control_tx() as tx:
            if not await take_due_turn(tx, NAME, every_s=TURN_SHARE * self.every_s):
                return 0
        readings = await read_conditions(self.house)
        async with self.house.control_tx() as tx:
            changes = await notifications.note_readings(
                tx, readings, times=self.times, public_url=self.house.links.public_url
            )
        told = [each for each in changes if each.tells is not None]
        for each in told:
            _log(each)
        if told:
            self.on_told()
        return len(told)


def _log(change: AlertChange) -> None:
    alert = change.after
    say = log.info if change.tells is notifications.NotificationKind.RESOLVED else log.warning
    say(f"alert.{change.tells}", condition=alert.condition, subject=alert.subject or None, value=alert.text)
