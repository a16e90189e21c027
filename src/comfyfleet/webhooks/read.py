"""The delivery log, and sending again by hand."""

from dataclasses import dataclass
from uuid import UUID

from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import DeliveryId, EndpointId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.webhooks import sql
from comfyfleet.webhooks.endpoints import find_endpoint
from comfyfleet.webhooks.model import Attempt, Delivery


@dataclass(frozen=True, slots=True)
class DeliveryStory:
    delivery: Delivery
    subject_id: UUID
    payload: str
    attempts: list[Attempt]


async def list_deliveries(tx: TenantTx, endpoint_id: EndpointId, request: PageRequest) -> Page[Delivery]:
    """Newest first."""
    await find_endpoint(tx, endpoint_id)
    rows = await tx.all(sql.delivery_page(endpoint_id, after=request.after, rows=request.rows))
    return Page.cut([Delivery.from_row(row) for row in rows], [row.id for row in rows], request)


async def list_deliveries_about(
    tx: TenantTx, subject_id: UUID, endpoint_id: EndpointId, request: PageRequest
) -> Page[Delivery]:
    """To one endpoint, listed or not, about one job. Newest first."""
    statement = sql.delivery_page(endpoint_id, subject_id=subject_id, after=request.after, rows=request.rows)
    rows = await tx.all(statement)
    return Page.cut([Delivery.from_row(row) for row in rows], [row.id for row in rows], request)


async def read_delivery(tx: TenantTx, delivery_id: DeliveryId) -> DeliveryStory:
    row = await tx.maybe(sql.delivery(delivery_id))
    if row is None:
        raise NotFound("webhook delivery", delivery_id)
    attempts = [Attempt.from_row(each) for each in await tx.all(sql.attempts_of(delivery_id))]
    return DeliveryStory(Delivery.from_row(row), row.subject_id, row.payload, attempts)


async def replay_delivery(tx: TenantTx, delivery_id: DeliveryId) -> DeliveryStory:
    """The same event under the same id, now. One that waits is tried now instead of later."""
    await tx.maybe(sql.replay(delivery_id))
    return await read_delivery(tx, delivery_id)
