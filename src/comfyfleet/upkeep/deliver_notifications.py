"""Notifications go out. A channel that hangs holds up nothing but what else goes to it."""

import asyncio
import random
from collections.abc import Callable

import httpx2
import structlog

from comfyfleet import notifications, webhooks
from comfyfleet.house import House
from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.notifications import DueNotification

NAME = "deliver_notifications"
EVERY_S = 2.0
BATCH = 20

log = structlog.get_logger()


class NotificationCourier:
    """Takes what is due and sends it, each in a task of its own; a tick only starts them."""

    def __init__(self, house: House, *, chance: random.Random) -> None:
        self._house, self._chance = house, chance
        self._client: httpx2.AsyncClient | None = None
        self._under_way: dict[asyncio.Task[None], DueNotification] = {}
        # There may be another one for the same channel.
        self.on_done: Callable[[], None] = lambda: None

    async def tick(self) -> int:
        busy = {due.channel_id for due in self._under_way.values()}
        async with self._house.control_tx() as tx:
            due = await notifications.take_due(tx, rows=BATCH, busy=busy)
        for each in due:
            task = asyncio.create_task(self._deliver(each), name=f"notification {each.id}")
            self._under_way[task] = each
            task.add_done_callback(self._done)
        return len(due)

    async def finish(self) -> None:
        """Until nothing is under way."""
        while self._under_way:
            await asyncio.wait(list(self._under_way))

    async def close(self) -> None:
        """What is cut off here is due again when its lease is over."""
        for task in list(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _done(self, task: "asyncio.Task[None]") -> None:
        del self._under_way[task]
        if not task.cancelled() and task.exception() is not None:
            log.error("notification.not_noted", problem=str(task.exception()))
        self.on_done()

    async def _deliver(self, due: DueNotification) -> None:
        if self._client is None:
            self._client = webhooks.a_sender(allowed=self._house.notification_networks)
        sent = await notifications.send_notification(self._client, self._house.postbox, due)
        say = log.info if sent.arrived else log.warning
        say(
            "notification.sent",
            notification_id=str(due.id),
            attempt=due.attempt,
            status=sent.status,
            problem=sent.error,
        )
        try:
            async with self._house.control_tx() as tx:
                await notifications.note_sent(tx, due, sent, chance=self._chance.random())
        except DatabaseUnavailable as problem:
            # It is due again when its lease is over, and may arrive twice: its id is the same.
            log.warning("notification.not_noted", notification_id=str(due.id), problem=problem.message)
