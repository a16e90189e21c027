"""Where a tenant's events are sent, and what became of each delivery."""

import json
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Self

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from comfyfleet import jobs, webhooks
from comfyfleet.api.background import wake_webhooks
from comfyfleet.api.bodies import Body, View, page_request
from comfyfleet.api.policy import TenantCaller, TheHouse, TheOptions, home_of
from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import DeliveryId, EndpointId, JobId, UserId, WebhookEventId
from comfyfleet.kernel.page import PageRequest
from comfyfleet.tenants import Caller, Scope
from comfyfleet.webhooks import Delivery, DeliveryStatus, DeliveryStory, Endpoint, WebhookType

router = APIRouter(tags=["webhooks"])

Reader = Annotated[Caller, Depends(TenantCaller(Scope.READ))]
Manager = Annotated[Caller, Depends(TenantCaller(Scope.MANAGE))]
Url = Annotated[str, Field(min_length=8, max_length=2000, examples=["https://example.com/hooks"])]
Description = Annotated[str, Field(max_length=200)]
EventTypes = Annotated[list[WebhookType], Field(max_length=20, description="Null or left out: all kinds.")]


class NewEndpointBody(Body):
    url: Url
    description: Description = ""
    event_types: EventTypes | None = None


class EndpointChangeBody(Body):
    """What is left out stays as it is."""

    url: Url | None = None
    description: Description | None = None
    event_types: EventTypes | None = None
    is_active: bool | None = None


class EndpointView(View):
    id: EndpointId
    url: str
    description: str
    event_types: list[WebhookType] | None
    is_active: bool
    disabled_reason: str | None
    created_at: datetime

    @classmethod
    def of(cls, endpoint: Endpoint) -> Self:
        kinds = None if endpoint.event_types is None else sorted(endpoint.event_types)
        return cls(
            id=endpoint.id,
            url=endpoint.url,
            description=endpoint.description,
            event_types=kinds,
            is_active=endpoint.is_active,
            disabled_reason=endpoint.disabled_reason,
            created_at=endpoint.created_at,
        )


class EndpointSecretView(View):
    """`secret` verifies the signature of each delivery, as the Standard Webhooks describe."""

    endpoint: EndpointView
    secret: str

    @classmethod
    def with_secret(cls, endpoint: Endpoint) -> Self:
        return cls(endpoint=EndpointView.of(endpoint), secret=endpoint.secret.reveal())


class EndpointPage(View):
    endpoints: list[EndpointView]
    next_cursor: str | None


class DeliveryView(View):
    id: DeliveryId
    event_id: WebhookEventId
    endpoint_id: EndpointId
    event_type: WebhookType
    status: DeliveryStatus
    attempts: int
    next_try_at: datetime | None
    response_status: int | None
    last_error: str | None
    created_at: datetime
    ended_at: datetime | None


class DeliveryPage(View):
    deliveries: list[DeliveryView]
    next_cursor: str | None


class AttemptView(View):
    number: int
    response_status: int | None
    error: str | None
    duration_ms: int
    created_at: datetime


class DeliveryStoryView(View):
    delivery: DeliveryView
    payload: dict[str, Any]
    attempts: list[AttemptView]

    @classmethod
    def of(cls, story: DeliveryStory) -> Self:
        return cls(
            delivery=_view(story.delivery),
            payload=json.loads(story.payload),
            attempts=[AttemptView.model_validate(each) for each in story.attempts],
        )


def _view(delivery: Delivery) -> DeliveryView:
    return DeliveryView.model_validate(delivery)


@router.post("/webhooks", status_code=201)
async def add_webhook(
    body: NewEndpointBody, caller: Manager, house: TheHouse, options: TheOptions
) -> EndpointSecretView:
    """From now on, events of these kinds are POSTed to the URL, signed."""
    async with house.tenant_tx(home_of(caller)) as tx:
        made = await webhooks.add_endpoint(
            tx,
            url=body.url,
            description=body.description,
            event_types=body.event_types,
            allowed=options.webhook_networks,
        )
    return EndpointSecretView.with_secret(made)


@router.get("/webhooks")
async def get_webhooks(
    caller: Manager, house: TheHouse, page: Annotated[PageRequest, Depends(page_request)]
) -> EndpointPage:
    """Newest first."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await webhooks.list_endpoints(tx, page)
    return EndpointPage(endpoints=[EndpointView.of(each) for each in found.rows], next_cursor=found.next_cursor)


@router.get("/webhooks/{endpoint_id}")
async def get_webhook(endpoint_id: EndpointId, caller: Manager, house: TheHouse) -> EndpointView:
    """One endpoint."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        return EndpointView.of(await webhooks.find_endpoint(tx, endpoint_id))


@router.patch("/webhooks/{endpoint_id}")
async def change_webhook(
    endpoint_id: EndpointId, body: EndpointChangeBody, caller: Manager, house: TheHouse, options: TheOptions
) -> EndpointView:
    """Change it, switch it off, or on again after it was switched off."""
    given = body.model_dump(exclude_unset=True)
    changes = {name: value for name, value in given.items() if value is not None or name == "event_types"}
    async with house.tenant_tx(home_of(caller)) as tx:
        changed = await webhooks.change_endpoint(tx, endpoint_id, allowed=options.webhook_networks, **changes)
    return EndpointView.of(changed)


@router.get("/webhooks/{endpoint_id}/secret")
async def get_webhook_secret(endpoint_id: EndpointId, caller: Manager, house: TheHouse) -> EndpointSecretView:
    """The secret that verifies its deliveries."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        return EndpointSecretView.with_secret(await webhooks.find_endpoint(tx, endpoint_id))


@router.post("/webhooks/{endpoint_id}/rotate")
async def rotate_webhook_secret(endpoint_id: EndpointId, caller: Manager, house: TheHouse) -> EndpointSecretView:
    """A new secret. What is sent from now on is signed with it."""
    async with house.tenant_tx(home_of(caller)) as tx:
        return EndpointSecretView.with_secret(await webhooks.rotate_secret(tx, endpoint_id))


@router.post("/webhooks/{endpoint_id}/test", status_code=202)
async def send_test_event(endpoint_id: EndpointId, caller: Manager, house: TheHouse, request: Request) -> EndpointView:
    """An event of the kind `webhook.test`, to this endpoint alone; its delivery log shows what became of it."""
    home = home_of(caller)
    async with house.tenant_tx(home) as tx:
        endpoint = await webhooks.find_endpoint(tx, endpoint_id)
        await webhooks.send_test(tx, endpoint)
    wake_webhooks(request, home.pool)
    return EndpointView.of(endpoint)


@router.delete("/webhooks/{endpoint_id}", status_code=204, response_class=Response)
async def delete_webhook(endpoint_id: EndpointId, caller: Manager, house: TheHouse) -> None:
    """Nothing more is sent there; what waited is dropped."""
    async with house.tenant_tx(home_of(caller)) as tx:
        await webhooks.delete_endpoint(tx, endpoint_id)


@router.get("/webhooks/{endpoint_id}/deliveries")
async def get_deliveries(
    endpoint_id: EndpointId, caller: Manager, house: TheHouse, page: Annotated[PageRequest, Depends(page_request)]
) -> DeliveryPage:
    """The delivery log of one endpoint, newest first."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await webhooks.list_deliveries(tx, endpoint_id, page)
    return DeliveryPage(deliveries=[_view(each) for each in found.rows], next_cursor=found.next_cursor)


@router.get("/ai-jobs/{job_id}/deliveries")
async def get_job_deliveries(
    job_id: JobId, caller: Reader, house: TheHouse, page: Annotated[PageRequest, Depends(page_request)]
) -> DeliveryPage:
    """What was sent to the `webhook_url` that the job was ordered with, newest first."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        job = await jobs.read_job(tx, job_id, caller.user_id)
        if job.webhook_endpoint_id is None:
            return DeliveryPage(deliveries=[], next_cursor=None)
        found = await webhooks.list_deliveries_about(tx, job_id, job.webhook_endpoint_id, page)
    return DeliveryPage(deliveries=[_view(each) for each in found.rows], next_cursor=found.next_cursor)


@router.get("/webhook-deliveries/{delivery_id}")
async def get_delivery(delivery_id: DeliveryId, caller: Reader, house: TheHouse) -> DeliveryStoryView:
    """One delivery: what was sent, and every try. Without the scope `manage`: only of your own jobs, to the
    `webhook_url` they were ordered with."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        story = await webhooks.read_delivery(tx, delivery_id)
        if Scope.MANAGE not in caller.scopes:
            await _require_own(tx, story, caller.user_id)
    return DeliveryStoryView.of(story)


async def _require_own(tx: TenantTx, story: DeliveryStory, user_id: UserId) -> None:
    with suppress(NotFound):
        job = await jobs.read_job(tx, JobId(story.subject_id), user_id)
        if job.webhook_endpoint_id == story.delivery.endpoint_id:
            return
    raise NotFound("webhook delivery", story.delivery.id)


@router.post("/webhook-deliveries/{delivery_id}/replay", status_code=202)
async def replay_delivery(
    delivery_id: DeliveryId, caller: Manager, house: TheHouse, request: Request
) -> DeliveryStoryView:
    """Send it again, now: the same event under the same id."""
    home = home_of(caller)
    async with house.tenant_tx(home) as tx:
        story = await webhooks.replay_delivery(tx, delivery_id)
    wake_webhooks(request, home.pool)
    return DeliveryStoryView.of(story)
