"""Webhooks of one pool's tenants go out. Nobody waits for a receiver that hangs but what else goes to it."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence

import httpx2
import structlog

from comfyfleet import jobs, webhooks
from comfyfleet.house import House
from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.kernel.ids import EndpointId, TenantId, time_of
from comfyfleet.kernel.traceparent import trace_id_of
from comfyfleet.metrics.facts import WebhookSent
from comfyfleet.traces.control_plane import TracedJob
from comfyfleet.webhooks import Due
from comfyfleet.webhooks.addresses import Network

NAME = "deliver_webhooks"
EVERY_S = 2.0
BATCH = 50
IN_FLIGHT_MAX = 200
EACH_MAX = 4
# Jobs may name URLs of their own, so one tenant may have many that hang.
EACH_TENANT_MAX = 20

log = structlog.get_logger()


class Courier:
    """Takes what is due and sends it, each in a task of its own; a tick only starts them."""

    def __init__(self, house: House, pool: str, *, chance: random.Random, allowed: Sequence[Network] = ()) -> None:
        self._house, self._pool, self._chance = house, pool, chance
        self._allowed = allowed
        self._client: httpx2.AsyncClient | None = None
        self._under_way: dict[asyncio.Task[None], Due] = {}
        # There is room again: whoever calls the tick may want to know.
        self.on_done: Callable[[], None] = lambda: None

    async def tick(self) -> int:
        room = min(BATCH, IN_FLIGHT_MAX - len(self._under_way))
        if room <= 0:
            return 0
        async with self._house.pool_tx(self._pool) as tx:
            due = await webhooks.take_due(
                tx,
                rows=room,
                each=EACH_MAX,
                each_tenant=EACH_TENANT_MAX,
                busy=self._busy(),
                busy_tenants=self._busy_tenants(),
            )
            subjects = {each.subject_id for each in due}
            traces = await jobs.traceparents_of(tx, subjects) if self._house.traces.is_on else {}
        for each in due:
            sending = self._deliver(each, traces.get(each.subject_id))
            task = asyncio.create_task(sending, name=f"webhook {each.id}")
            self._under_way[task] = each
            task.add_done_callback(self._done)
        return len(due)

    def _busy(self) -> set[EndpointId]:
        """Whoever has one under way waits until it is done: those that answer do so at once."""
        return {due.endpoint_id for due in self._under_way.values()}

    def _busy_tenants(self) -> list[TenantId]:
        counts = Counter(due.tenant_id for due in self._under_way.values())
        return [tenant_id for tenant_id, count in counts.items() if count >= EACH_TENANT_MAX]

    def _done(self, task: "asyncio.Task[None]") -> None:
        del self._under_way[task]
        if not task.cancelled() and task.exception() is not None:
            log.error("webhook.not_noted", problem=str(task.exception()))
        self.on_done()

    async def _deliver(self, due: Due, traceparent: str | None) -> None:
        if self._client is None:
            self._client = webhooks.a_sender(allowed=self._allowed)
        if trace_id := trace_id_of(traceparent):
            structlog.contextvars.bind_contextvars(trace_id=trace_id)  # of this task alone
        began_s = time.time()
        sent = await webhooks.send(self._client, due)
        log.info("webhook.sent", delivery_id=str(due.id), attempt=due.attempt, status=sent.status, problem=sent.error)
        self._house.traces.webhook_sent(
            TracedJob(traceparent, due.subject_id, due.tenant_id),
            due.event_type.value,
            began_s=began_s,
            attempt=due.attempt,
            status=sent.status,
            arrived=sent.arrived,
        )
        late_s = max(0.0, time.time() - time_of(due.id)) if sent.arrived and not due.attempts_before else None
        self._house.facts.note(WebhookSent(sent.arrived, late_s))
        try:
            async with self._house.pool(self._pool).tenant_tx(due.tenant_id) as tx:
                await webhooks.note_sent(tx, due, sent, chance=self._chance.random())
            self._house.live.delivered(due.tenant_id)
        except DatabaseUnavailable as problem:
            # It is due again when its lease is over, and may arrive twice: its id is the same.
            log.warning("webhook.not_noted", delivery_id=str(due.id), problem=problem.message)

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
