"""The values the HTTP edge needs, taken from the settings by `bootstrap`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from comfyfleet.kernel.secret import Secret
from comfyfleet.webhooks.addresses import Network


@dataclass(frozen=True)
class SettingInForce:
    """As operators see it. `value` of a secret is none; `is_set` says whether there is one."""

    name: str
    value: Any
    source: str
    description: str
    is_secret: bool
    is_set: bool


@dataclass(frozen=True)
class ApiOptions:
    # Tell browsers to come by HTTPS only.
    hsts: bool = False
    cors_origins: list[str] = field(default_factory=list)
    body_bytes_max: int = 1024**2
    upload_bytes_max: int = 5 * 1024**3
    effect_asset_bytes_max: int = 32 * 1024**2
    url_ttl_s: int = 900
    session_ttl_s: int = 14 * 86_400
    invite_ttl_s: int = 7 * 86_400
    password_reset_ttl_s: int = 3600
    requests_per_minute_per_key: int = 600
    requests_per_minute_per_tenant: int = 3000
    thumbs_per_minute_per_key: int = 6000
    logins_per_minute: int = 10
    get_tokens_text: str | None = None
    get_tokens_url: str | None = None
    payment_webhook_secrets: list[Secret] = field(default_factory=list)
    # Networks that webhooks may reach although they are not public.
    webhook_networks: Sequence[Network] = ()
    settings: Sequence[SettingInForce] = ()
