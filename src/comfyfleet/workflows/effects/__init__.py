"""Effects: what users pick. A workflow with some properties set, assets of its own, and a price."""

from comfyfleet.workflows.effects.assets import check_asset, describe_asset, drop_asset, keep_asset, put_asset
from comfyfleet.workflows.effects.availability import show_availability, take_runnable, take_runnables
from comfyfleet.workflows.effects.model import PREVIEW, Effect, ListedOffer, NewEffect, Offer
from comfyfleet.workflows.effects.read import find_offer, find_published, list_offers, take_offer, take_offers
from comfyfleet.workflows.effects.register import (
    CREDITS_COST_MAX,
    EffectChange,
    add_effect,
    change_effect,
    delete_effect,
    note_timing,
    publish_effect,
    unpublish_effect,
)

__all__ = [
    "CREDITS_COST_MAX",
    "PREVIEW",
    "Effect",
    "EffectChange",
    "ListedOffer",
    "NewEffect",
    "Offer",
    "add_effect",
    "change_effect",
    "check_asset",
    "delete_effect",
    "describe_asset",
    "drop_asset",
    "find_offer",
    "find_published",
    "keep_asset",
    "list_offers",
    "note_timing",
    "publish_effect",
    "put_asset",
    "show_availability",
    "take_offer",
    "take_offers",
    "take_runnable",
    "take_runnables",
    "unpublish_effect",
]
