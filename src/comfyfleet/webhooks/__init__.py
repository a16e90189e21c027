"""Webhooks: events written with what caused them, delivered at least once, signed, logged, and sent again by hand."""

from comfyfleet.webhooks.deliver import forget_events, note_sent, take_due
from comfyfleet.webhooks.endpoints import (
    add_endpoint,
    change_endpoint,
    check_url,
    delete_endpoint,
    endpoint_of_url,
    find_endpoint,
    forget_unnamed,
    list_endpoints,
    list_unnamed,
    rotate_secret,
)
from comfyfleet.webhooks.lifecycle import DELIVERY, DeliveryStatus
from comfyfleet.webhooks.model import Attempt, Delivery, Due, Endpoint, Sent, SignedMessage, WebhookType
from comfyfleet.webhooks.read import (
    DeliveryStory,
    list_deliveries,
    list_deliveries_about,
    read_delivery,
    replay_delivery,
)
from comfyfleet.webhooks.record import record_event, send_test
from comfyfleet.webhooks.send import a_sender, send, send_signed

__all__ = [
    "DELIVERY",
    "Attempt",
    "Delivery",
    "DeliveryStatus",
    "DeliveryStory",
    "Due",
    "Endpoint",
    "Sent",
    "SignedMessage",
    "WebhookType",
    "a_sender",
    "add_endpoint",
    "change_endpoint",
    "check_url",
    "delete_endpoint",
    "endpoint_of_url",
    "find_endpoint",
    "forget_events",
    "forget_unnamed",
    "list_deliveries",
    "list_deliveries_about",
    "list_endpoints",
    "list_unnamed",
    "note_sent",
    "read_delivery",
    "record_event",
    "replay_delivery",
    "rotate_secret",
    "send",
    "send_signed",
    "send_test",
    "take_due",
]
