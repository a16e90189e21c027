"""Where a server is and how we show ourselves to it. What is secret goes into headers and never into a text."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit

import httpx2

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.secret import Secret

SCHEMES = {"http": "ws", "https": "wss"}


@dataclass(frozen=True, slots=True)
class Address:
    """`url` has no credentials in it, so that it may be logged; `str()` and `repr()` show no others."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        return self.url.split("://", 1)[1]

    def socket_url(self, client_id: str) -> str:
        scheme, rest = self.url.split("://", 1)
        return f"{SCHEMES[scheme]}://{rest}/ws?clientId={quote(client_id, safe='')}"

    def __str__(self) -> str:
        return self.name


def parse_address(url: str, *, bearer: Secret | str | None = None, headers: Mapping[str, str] | None = None) -> Address:
    """`http://user:password@host:8188/path`, or only `host:8188`. `bearer` and `headers` win over the URL's."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
        httpx2.URL(parts.geturl())
    except (ValueError, httpx2.InvalidURL):
        raise InvalidInput("server", "this is no URL") from None
    if parts.scheme not in SCHEMES or not host:
        raise InvalidInput("server", "a server's URL is http(s)://host[:port]")
    if parts.query or parts.fragment:
        raise InvalidInput("server", "leave away what follows '?' or '#'; a key goes into the bearer or headers option")
    named = f"[{host}]" if ":" in host else host
    clean = f"{parts.scheme}://{named}" + (f":{port}" if port else "") + parts.path.rstrip("/")
    return Address(clean, {**_basic(parts.username, parts.password), **_bearer(bearer), **(headers or {})})


def _basic(user: str | None, password: str | None) -> dict[str, str]:
    if user is None and password is None:
        return {}
    pair = f"{unquote(user or '')}:{unquote(password or '')}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def _bearer(bearer: Secret | str | None) -> dict[str, str]:
    if bearer is None:
        return {}
    return {"Authorization": f"Bearer {bearer.reveal() if isinstance(bearer, Secret) else bearer}"}
