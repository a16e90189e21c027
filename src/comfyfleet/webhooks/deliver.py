"""Deliveries whose time has come: taken, sent by the caller, and what became of each written down."""

from collections.abc import Collection

from comfyfleet.db import PoolTx, TenantTx
from comfyfleet.kernel.ids import DeliveryId, EndpointId, TenantId, WebhookEventId
from comfyfleet.webhooks import sql
from comfyfleet.webhooks.endpoints import disable_endpoint
from comfyfleet.webhooks.lifecycle import DeliveryEvent
from comfyfleet.webhooks.model import Due, Sent, pause_s

# A delivery that was taken and of which nothing is heard (a crash) is due again after this long.
LEASE_S = 60.0
GONE = "The endpoint answered 410 Gone."


async def take_due(
    tx: PoolTx,
    *,
    rows: int,
    each: int,
    each_tenant: int,
    busy: Collection[EndpointId] = (),
    busy_tenants: Collection[TenantId] = (),
) -> list[Due]:
    """At most so many of one endpoint and of one tenant, and none of those that are busy. Two replicas never take the
    same."""
    statement = sql.take_due(
        rows=rows,
        each=each,
        each_tenant=each_tenant,
        lease_s=LEASE_S,
        busy=list(busy),
        busy_tenants=list(busy_tenants),
    )
    ids = [DeliveryId(row.id) for row in await tx.all(statement)]
    if not ids:
        return []
    found = [Due.from_row(row) for row in await tx.all(sql.due(ids))]
    orphans = set(ids) - {due.id for due in found}
    if orphans:
        await tx.run(sql.drop_orphans(sorted(orphans)))
    return found


async def note_sent(tx: TenantTx, due: Due, sent: Sent, *, chance: float) -> None:
    """Written by number: what an earlier try says late changes nothing."""
    await tx.run(
        sql.insert_attempt(
            due.id, due.attempt, response_status=sent.status, error=sent.error, duration_ms=sent.duration_ms
        )
    )
    pause = pause_s(due.attempt - due.attempts_before, chance=chance)
    if sent.arrived or sent.is_gone or pause is None:
        await tx.maybe(
            sql.end_delivery(due.id, _end(sent), attempt=due.attempt, response_status=sent.status, error=sent.error)
        )
    else:
        await tx.maybe(
            sql.postpone_delivery(
                due.id, attempt=due.attempt, pause_s=pause, response_status=sent.status, error=sent.error
            )
        )
    if sent.is_gone:
        await disable_endpoint(tx, due.endpoint_id, GONE)


def _end(sent: Sent) -> DeliveryEvent:
    return DeliveryEvent.ARRIVE if sent.arrived else DeliveryEvent.GIVE_UP


async def forget_events(tx: PoolTx, *, age_s: float, rows: int) -> int:
    """Events long over, with their deliveries and attempts."""
    ids = [WebhookEventId(row.id) for row in await tx.all(sql.old_events(age_s=age_s, rows=rows))]
    if not ids:
        return 0
    await tx.run(sql.forget_attempts(ids))
    await tx.run(sql.forget_deliveries(ids))
    return await tx.run(sql.forget_events(ids))
