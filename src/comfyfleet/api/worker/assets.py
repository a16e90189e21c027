"""The files that a job takes, as requests that its worker can send: signed when it is leased, never kept."""

from typing import Any

import msgspec

from comfyfleet.storage import ObjectKey, ObjectStore

MARK = b'"is_primary_input":'  # in every asset; inside a text its quotes are escaped


def needs_urls(payload: bytes) -> bool:
    """Most payloads are sent on as they are."""
    return MARK in payload


def sign_assets(store: ObjectStore, payload: bytes, *, expires_s: int) -> tuple[bytes, str | None]:
    """The payload with a URL for each asset, and that of the primary input. All else stays byte for byte."""
    parts: dict[str, Any] = msgspec.json.decode(payload, type=dict[str, msgspec.Raw])
    assets: list[dict[str, Any]] = msgspec.json.decode(parts.get("assets", b"[]"))
    input_url = None
    for asset in assets:
        asset["url"] = _signed(store, asset, expires_s=expires_s)
        if asset.get("is_primary_input"):
            input_url = asset["url"]
    if not assets:
        return payload, None
    parts |= {"assets": assets, "input_url": input_url}
    return msgspec.json.encode(parts), input_url


def fresh_urls(store: ObjectStore, payload: bytes, *, expires_s: int) -> dict[str, str]:
    """For a worker that holds the payload already: a URL for each asset, by its name."""
    if not needs_urls(payload):
        return {}
    parts = msgspec.json.decode(payload, type=dict[str, msgspec.Raw])
    assets: list[dict[str, Any]] = msgspec.json.decode(parts.get("assets", b"[]"))
    return {str(asset["name"]): _signed(store, asset, expires_s=expires_s) for asset in assets}


def _signed(store: ObjectStore, asset: dict[str, Any], *, expires_s: int) -> str:
    key, media_type = ObjectKey(asset["path"]), str(asset["media_type"])
    return store.presign_get(key, media_type=media_type, expires_s=expires_s).url
