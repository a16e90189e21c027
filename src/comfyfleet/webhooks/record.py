"""Something happened: it is written down in the transaction that made it so, with a delivery for each who asked."""

import json
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from comfyfleet.db import TenantTx
from comfyfleet.kernel.ids import EndpointId, WebhookEventId, new_id
from comfyfleet.webhooks import sql
from comfyfleet.webhooks.model import Endpoint, WebhookType


async def record_event(
    tx: TenantTx,
    event_type: WebhookType,
    subject_id: UUID,
    facts: dict[str, Any],
    *,
    at: datetime,
    also_to: Collection[EndpointId] = (),
) -> bool:
    """Once for each subject and kind. False: nobody wants it, or it was written before."""
    endpoints = {endpoint.id for endpoint in await _wanting(tx, event_type)} | set(also_to)
    return await _write(tx, event_type, subject_id, facts, at=at, to=endpoints)


async def send_test(tx: TenantTx, endpoint: Endpoint) -> None:
    """To this one alone, whatever kinds it asked for."""
    facts = {"endpoint_id": str(endpoint.id), "message": "This is a test of your webhook endpoint."}
    await _write(tx, WebhookType.TEST, new_id(), facts, at=datetime.now(UTC), to=[endpoint.id])


async def _write(
    tx: TenantTx,
    event_type: WebhookType,
    subject_id: UUID,
    facts: dict[str, Any],
    *,
    at: datetime,
    to: Collection[EndpointId],
) -> bool:
    if not to:
        return False
    event_id = WebhookEventId(new_id())
    payload = json.dumps({"type": event_type.value, "timestamp": at.isoformat(), "data": facts}, separators=(",", ":"))
    made = await tx.maybe(
        sql.insert_event(), id=event_id, event_type=event_type.value, subject_id=subject_id, payload=payload
    )
    if made is None:
        return False
    await tx.run_each(
        sql.insert_delivery(),
        [{"id": new_id(), "event_id": event_id, "endpoint_id": endpoint_id} for endpoint_id in sorted(to)],
    )
    return True


async def _wanting(tx: TenantTx, event_type: WebhookType) -> list[Endpoint]:
    found = [Endpoint.from_row(row) for row in await tx.all(sql.active_endpoints())]
    return [each for each in found if each.event_types is None or event_type in each.event_types]
