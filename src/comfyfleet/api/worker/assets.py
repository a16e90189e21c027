"""The files that a job takes, as requests that its worker can send: signed when it is leased, never kept."""

from typing import Any

import msgspec

from comfyfleet.storage import ObjectKey, ObjectStore

MARK = b'"is_primary_input":'  # in every asset; inside a text its quotes are escaped
MARGIN_S = 300
LIFE_S_MAX = 7 * 86_400


def needs_urls(payload: bytes) -> bool:
    """Most payloads are sent on as they are."""
    return MARK in payload


def url_life_s(deadline_s: float, *, at_least_s: int) -> int:
    """As long as the job may run: a worker that is slow to begin must still be able to fetch."""
    return min(max(at_least_s, int(deadline_s) + MARGIN_S), LIFE_S_MAX)


def sign_assets(store: ObjectStore, payload: bytes, *, expires_s: int) -> tuple[bytes, str | None]:
    """The payload with a URL for each asset, and that of the primary input. All else stays byte for byte."""
    parts: dict[str, Any] = msgspec.json.decode(payload, type=dict[str, msgspec.Raw])
    assets: list[dict[str, Any]] = msgspec.json.decode(parts.get("assets", b"[]"))
    input_url = None
    for asset in assets:
        signed = store.presign_get(ObjectKey(asset["path"]), media_type=asset["media_type"], expires_s=expires_s)
        asset["url"] = signed.url
        if asset.get("is_primary_input"):
            input_url = signed.url
    if not assets:
        return payload, None
    parts |= {"assets": assets, "input_url": input_url}
    return msgspec.json.encode(parts), input_url
