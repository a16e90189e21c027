"""Operators' notifications: alerts, the channels they are sent to, and the log of what was sent."""

from datetime import datetime
from typing import Annotated, Self

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from comfyfleet import notifications
from comfyfleet.api.background import wake_notifications
from comfyfleet.api.bodies import Body, View
from comfyfleet.api.operator.policies import SEE, Acting, Pages
from comfyfleet.api.policy import TheHouse
from comfyfleet.kernel.ids import AlertId, ChannelId, NotificationId
from comfyfleet.notifications import (
    ActingOperator,
    Alert,
    AlertState,
    Channel,
    ChannelKind,
    NewChannel,
    NotificationKind,
    Severity,
)
from comfyfleet.webhooks import DeliveryStatus

router = APIRouter()


class AlertView(View):
    """`text`: what was read last. `since`: when the condition began to hold."""

    id: AlertId
    condition: str
    subject: str | None
    state: AlertState
    severity: Severity
    summary: str
    text: str
    since: datetime
    changed_at: datetime
    runbook: str

    @classmethod
    def of(cls, alert: Alert) -> Self:
        about = alert.about
        return cls(
            id=alert.id,
            condition=alert.condition,
            subject=alert.subject or None,
            state=alert.state,
            severity=about.severity,
            summary=about.summary,
            text=alert.text,
            since=alert.began_at,
            changed_at=alert.changed_at,
            runbook=about.runbook,
        )


class AlertsView(View):
    alerts: list[AlertView]


class NewChannelBody(Body):
    """`target`: a URL for `webhook`, mail addresses with commas for `mail`. `only_pages`: no tickets."""

    name: Annotated[str, Field(max_length=64)]
    kind: ChannelKind
    target: Annotated[str, Field(max_length=2_000)]
    only_pages: bool = False


class ChannelView(View):
    """`target`: of a webhook without its path, which may be a secret."""

    id: ChannelId
    name: str
    kind: ChannelKind
    target: str
    only_pages: bool
    is_active: bool
    disabled_reason: str | None
    created_at: datetime

    @classmethod
    def of(cls, channel: Channel) -> Self:
        return cls(
            id=channel.id,
            name=channel.name,
            kind=channel.kind,
            target=channel.shown_target,
            only_pages=channel.only_pages,
            is_active=channel.is_active,
            disabled_reason=channel.disabled_reason,
            created_at=channel.created_at,
        )


class ChannelsView(View):
    channels: list[ChannelView]


class NewChannelView(View):
    """`secret`: verifies the signature of each webhook, as the Standard Webhooks describe. Shown once."""

    channel: ChannelView
    secret: str | None


class NotificationView(View):
    """`id`: the message's; a receiver sees it as `webhook-id` or `Message-ID`. `condition`: empty for a test."""

    id: NotificationId
    channel_id: ChannelId
    channel: str
    channel_kind: ChannelKind
    kind: NotificationKind
    condition: str
    subject: str
    status: DeliveryStatus
    attempts: int
    next_try_at: datetime | None
    response_status: int | None
    last_error: str | None
    created_at: datetime
    ended_at: datetime | None


class NotificationPage(View):
    notifications: list[NotificationView]
    next_cursor: str | None


class SentTestView(View):
    notification_id: NotificationId


@router.get("/alerts", dependencies=SEE)
async def get_alerts(
    house: TheHouse,
    state: Annotated[list[AlertState] | None, Query(max_length=3, description="Only in these states.")] = None,
) -> AlertsView:
    """Alerts of the fleet and the control plane: those that changed last come first, at most 200."""
    async with house.control_tx(read_only=True) as tx:
        found = await notifications.list_alerts(tx, states=state or tuple(AlertState))
    return AlertsView(alerts=[AlertView.of(each) for each in found])


@router.get("/notification-channels", dependencies=SEE)
async def get_notification_channels(house: TheHouse) -> ChannelsView:
    """Where operators are notified, by name."""
    async with house.control_tx(read_only=True) as tx:
        return ChannelsView(channels=[ChannelView.of(each) for each in await notifications.list_channels(tx)])


@router.post("/notification-channels", status_code=201)
async def create_notification_channel(body: NewChannelBody, house: TheHouse, actor: Acting) -> NewChannelView:
    """From now on each change of an alert is sent there."""
    new = NewChannel(body.name, body.kind, body.target, body.only_pages)
    by = ActingOperator(actor, house.chain)
    async with house.control_tx() as tx:
        made = await notifications.create_channel(tx, new, rules=house.channel_rules, by=by)
    return NewChannelView(channel=ChannelView.of(made), secret=made.secret.reveal() if made.secret else None)


@router.post("/notification-channels/{channel_id}/enable")
async def enable_notification_channel(channel_id: ChannelId, house: TheHouse, actor: Acting) -> ChannelView:
    """Send there again, from the next change of an alert on."""
    async with house.control_tx() as tx:
        found = await notifications.find_channel(tx, channel_id)
        return ChannelView.of(await notifications.enable_channel(tx, found, by=ActingOperator(actor, house.chain)))


@router.post("/notification-channels/{channel_id}/disable")
async def disable_notification_channel(channel_id: ChannelId, house: TheHouse, actor: Acting) -> ChannelView:
    """Send nothing there; what waits for it is dropped."""
    async with house.control_tx() as tx:
        found = await notifications.find_channel(tx, channel_id)
        return ChannelView.of(await notifications.disable_channel(tx, found, by=ActingOperator(actor, house.chain)))


@router.post("/notification-channels/{channel_id}/test", status_code=202)
async def test_notification_channel(
    channel_id: ChannelId, house: TheHouse, actor: Acting, request: Request
) -> SentTestView:
    """Send a message that says that it is a test; the log shows what became of it."""
    by = ActingOperator(actor, house.chain)
    async with house.control_tx() as tx:
        found = await notifications.find_channel(tx, channel_id)
        sent = await notifications.send_channel_test(tx, found, rules=house.channel_rules, by=by)
    wake_notifications(request)
    return SentTestView(notification_id=sent)


@router.delete("/notification-channels/{channel_id}", status_code=204, response_class=Response)
async def delete_notification_channel(channel_id: ChannelId, house: TheHouse, actor: Acting) -> None:
    """Nothing more is sent there; what waits is dropped, and the log stays."""
    async with house.control_tx() as tx:
        found = await notifications.find_channel(tx, channel_id)
        await notifications.delete_channel(tx, found, by=ActingOperator(actor, house.chain))


@router.get("/notifications", dependencies=SEE)
async def get_notifications(house: TheHouse, page: Pages) -> NotificationPage:
    """What was sent, to which channel, and what became of it; newest first."""
    async with house.control_tx(read_only=True) as tx:
        found = await notifications.list_notifications(tx, page)
    rows = [NotificationView.model_validate(each) for each in found.rows]
    return NotificationPage(notifications=rows, next_cursor=found.next_cursor)
