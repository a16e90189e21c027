"""Secrets that cannot be printed by accident, and how they are made, stored and compared."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass

SECRET_BYTES = 32


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A value that must not reach a log, a traceback or a page: `reveal()` is the only way out."""

    _text: str

    def reveal(self) -> str:
        return self._text

    def digest(self) -> str:
        """What the database keeps. High entropy needs no slow hash."""
        return hashlib.sha256(self._text.encode()).hexdigest()

    def matches(self, digest: str) -> bool:
        return hmac.compare_digest(self.digest(), digest)

    def __repr__(self) -> str:
        return "Secret('**********')"

    __str__ = __repr__


def new_secret(*, prefix: str = "", size: int = SECRET_BYTES) -> Secret:
    return Secret(prefix + secrets.token_urlsafe(size))
