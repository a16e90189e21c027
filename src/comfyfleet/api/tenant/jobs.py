"""Jobs of effects: ordered, looked at, cancelled, tried again, thrown away."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field, field_validator

from comfyfleet import jobs, storage
from comfyfleet.api.background import wake_webhooks
from comfyfleet.api.bodies import Body, View, is_plain_text, page_request
from comfyfleet.api.policy import TenantCaller, TheHouse, TheOptions, home_of
from comfyfleet.api.tenant.job_views import JobView, view_jobs
from comfyfleet.api.tenant.ordering import Wanted, cancel, order, retry, wake_after
from comfyfleet.jobs import JobStatus
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import EffectId, JobId, UserId, VideoId
from comfyfleet.kernel.page import PageRequest
from comfyfleet.tenants import Caller, Home, Scope

router = APIRouter(prefix="/ai-jobs", tags=["jobs"])

Reader = Annotated[Caller, Depends(TenantCaller(Scope.READ))]
Writer = Annotated[Caller, Depends(TenantCaller(Scope.WRITE))]
Manager = Annotated[Caller, Depends(TenantCaller(Scope.MANAGE))]
Key = Annotated[
    str | None,
    Field(min_length=1, max_length=255, description="Sent again with the same body, it gets the first answer."),
]
WebhookUrl = Annotated[str | None, Field(max_length=2_000, description="Told of everything that happens to this job.")]


class OrderBody(Body):
    video_id: Annotated[VideoId | None, Field(description="What the effect works on, if it works on something.")] = None
    properties: dict[str, Any] = Field({}, max_length=200, description="Those that the effect leaves open.")
    idempotency_key: Key = None
    priority: Annotated[int, Field(ge=-100, le=100, description="Higher goes first among the tenant's own.")] = 0
    webhook_url: WebhookUrl = None

    @field_validator("properties")
    @classmethod
    def _values_can_be_kept(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name, each in value.items():
            if not is_plain_text(name) or (isinstance(each, str) and not is_plain_text(each)):
                raise ValueError(f"{name!r:.100} holds a NUL or half a character")
        return value

    def wanted(self, home: Home, user_id: UserId, effect: str | EffectId) -> Wanted:
        return Wanted(
            home,
            user_id,
            effect,
            properties=self.properties,
            video_id=self.video_id,
            idempotency_key=self.idempotency_key,
            priority=self.priority,
            webhook_url=self.webhook_url,
        )


class NewJobBody(OrderBody):
    """By `effect_id`, or by its slug as `effect`."""

    effect_id: EffectId | None = None
    effect: Annotated[str | None, Field(max_length=100)] = None

    def named(self) -> str | EffectId:
        if (self.effect_id is None) == (self.effect is None):
            raise InvalidInput("effect_id", "name the effect by effect_id or by effect, and not by both")
        return self.effect_id if self.effect_id is not None else str(self.effect)


class RetryBody(Body):
    idempotency_key: Key = None


class JobPage(View):
    jobs: list[JobView]
    next_cursor: str | None


class WebhookSecretView(View):
    secret: str


@router.post("", status_code=201)
async def create_job(body: NewJobBody, request: Request, caller: Writer, house: TheHouse) -> JobView:
    """Order an effect. Its price is set aside now, and comes back unless the job completes."""
    home = home_of(caller)
    wanted = body.wanted(home, caller.user_id, body.named())
    placed = await order(house, replace(wanted, traceparent=request.headers.get("traceparent")))
    wake_after(request, house, placed, home.pool)
    return JobView.of(placed.job)


@router.get("")
async def get_jobs(
    caller: Reader,
    house: TheHouse,
    options: TheOptions,
    page: Annotated[PageRequest, Depends(page_request)],
    status: JobStatus | None = None,
    effect_id: EffectId | None = None,
    video_id: Annotated[VideoId | None, Query(description="Those that worked on it.")] = None,
) -> JobPage:
    """Newest first."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await jobs.list_jobs(tx, caller.user_id, page, status=status, effect_id=effect_id, video_id=video_id)
    # As they were chosen: one that has moved on since must not stand in the wrong list.
    views = await view_jobs(house, caller, found.rows, expires_s=options.url_ttl_s, as_found=status is not None)
    return JobPage(jobs=views, next_cursor=found.next_cursor)


@router.get("/webhook-secret")
async def get_webhook_secret(caller: Manager, house: TheHouse) -> WebhookSecretView:
    """By which deliveries to a job's own `webhook_url` are signed."""
    return WebhookSecretView(secret=house.webhook_secret(home_of(caller).tenant_id).reveal())


@router.get("/{job_id}")
async def get_job(job_id: JobId, caller: Reader, house: TheHouse, options: TheOptions) -> JobView:
    """One job, with its place in the queue while it waits and how far it is while it runs.

    `completed`, `failed` and `cancelled` do not change any more: stop polling then."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await jobs.read_job(tx, job_id, caller.user_id)
    return (await view_jobs(house, caller, [found], expires_s=options.url_ttl_s))[0]


@router.post("/{job_id}/cancel")
async def cancel_job(job_id: JobId, request: Request, caller: Writer, house: TheHouse, options: TheOptions) -> JobView:
    """Queued: over and refunded at once. Running: its worker hears of it soon, and may be done first."""
    home = home_of(caller)
    job = await cancel(house, home, job_id, caller.user_id)
    wake_webhooks(request, home.pool)
    return (await view_jobs(house, caller, [job], expires_s=options.url_ttl_s))[0]


@router.post("/{job_id}/retry", status_code=201)
async def retry_job(job_id: JobId, body: RetryBody, request: Request, caller: Writer, house: TheHouse) -> JobView:
    """The same again, as a new job at the same price. The old one stays as it is."""
    home = home_of(caller)
    traceparent = request.headers.get("traceparent")
    placed = await retry(house, home, job_id, caller.user_id, body.idempotency_key, traceparent=traceparent)
    wake_after(request, house, placed, home.pool)
    return JobView.of(placed.job)


@router.delete("/{job_id}", status_code=204, response_class=Response)
async def delete_job(job_id: JobId, caller: Writer, house: TheHouse) -> None:
    """Throw away a job that has ended, with what it made, but for what a video shows: that goes with the video."""
    async with house.tenant_tx(home_of(caller)) as tx:
        files = await jobs.delete_job(tx, job_id, caller.user_id)
    for file in files:
        await storage.erase_object(house.store, file)
