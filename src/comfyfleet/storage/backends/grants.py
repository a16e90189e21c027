"""What a signed URL of the local store allows, and the token that says so. Any replica can check it."""

import hashlib
from dataclasses import dataclass
from typing import Any

from itsdangerous import BadData, URLSafeSerializer

from comfyfleet.kernel.errors import SignatureRefused
from comfyfleet.kernel.secret import Secret
from comfyfleet.storage.model import ObjectKey, check_key

# The key signs other things too; with a salt of its own no token of theirs is one of ours.
SALT = "comfyfleet.storage.local"


@dataclass(frozen=True, slots=True)
class GetGrant:
    """GET (and HEAD, which tells less)."""

    key: ObjectKey
    media_type: str
    download_name: str | None
    expires_at_s: int


@dataclass(frozen=True, slots=True)
class PutGrant:
    """Without `size_bytes`, of any length."""

    key: ObjectKey
    media_type: str
    size_bytes: int | None
    expires_at_s: int


@dataclass(frozen=True, slots=True)
class PartGrant:
    key: ObjectKey
    multipart_id: str
    number: int
    size_bytes: int
    expires_at_s: int


Grant = GetGrant | PutGrant | PartGrant

METHODS = {GetGrant: "GET", PutGrant: "PUT", PartGrant: "PUT PART"}
KINDS: dict[str, type[Grant]] = {method: kind for kind, method in METHODS.items()}


class GrantSigner:
    def __init__(self, signing_key: Secret) -> None:
        self._serializer = URLSafeSerializer(
            signing_key.reveal(),
            salt=SALT,
            signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
        )

    def sign(self, grant: Grant) -> str:
        # By hand: `asdict` takes half the time of a signature, and every lease is given one.
        fields = {name: getattr(grant, name) for name in grant.__slots__}
        token = self._serializer.dumps([METHODS[type(grant)], fields])
        return token if isinstance(token, str) else token.decode()

    def open(self, token: str, *, now_s: float) -> Grant:
        try:
            method, fields = self._serializer.loads(token)
        except BadData:
            raise SignatureRefused("The signature of this URL does not hold. Ask for a new one.") from None
        grant = _read(method, fields)
        if now_s >= grant.expires_at_s:
            raise SignatureRefused("This URL has expired. Ask for a new one.")
        return grant


def _read(method: str, fields: dict[str, Any]) -> Grant:
    try:
        grant = KINDS[method](**fields)
    except (KeyError, TypeError):
        # Signed by us, but by another release that wrote other fields.
        raise SignatureRefused("This URL is of another version. Ask for a new one.") from None
    check_key(grant.key)
    return grant
