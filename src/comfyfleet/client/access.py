"""Where the API is, and the key to it. The key leaves here in one header only."""

import os
from urllib.parse import urlsplit

import httpx2

from comfyfleet.client.errors import KeyMissing
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.secret import Secret

URL_VARIABLE, KEY_VARIABLE = "COMFYFLEET_URL", "COMFYFLEET_API_KEY"
DEFAULT_URL = "http://localhost:8700"


class Access:
    def __init__(self, url: str | None = None, key: str | None = None) -> None:
        self.url = _checked_url(url or os.environ.get(URL_VARIABLE) or DEFAULT_URL)
        self._key = _checked_key(key or os.environ.get(KEY_VARIABLE) or "")
        self.host = urlsplit(self.url).netloc

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key.reveal()}"}

    def absolute(self, url: str) -> str:
        """The local store's URLs are paths, for the server to be reached by whatever name."""
        return url if url.startswith(("http://", "https://")) else self.url + url

    def __repr__(self) -> str:
        return f"Access({self.url!r})"


def _checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
        httpx2.URL(url)
    except (ValueError, httpx2.InvalidURL):
        named = False
    if not named:
        raise InvalidInput("url", "must be an address such as https://fleet.example.com")
    if parts.username is not None:
        raise InvalidInput("url", f"holds a name or a password; leave them away, the key goes into {KEY_VARIABLE}")
    return url.rstrip("/")


def _checked_key(key: str) -> Secret:
    if not key.strip():
        raise KeyMissing
    if not key.strip().isascii() or not key.strip().isprintable() or " " in key.strip():
        raise InvalidInput("key", "holds signs that no key has; was it copied whole, and nothing else?")
    return Secret(key.strip())
