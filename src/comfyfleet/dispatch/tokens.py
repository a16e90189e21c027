"""Lease tokens: made from what the attempt's row holds, so a lost reply can be answered again, and never stored."""

import base64
import hmac
from dataclasses import dataclass
from uuid import UUID

from comfyfleet.kernel.secret import Secret

EPOCH_DIGITS_MAX = 18


@dataclass(frozen=True, slots=True)
class LeaseSigner:
    signing_key: Secret

    def token(self, dispatch_id: UUID, *, epoch: int, nonce: str, worker_id: UUID, incarnation: int) -> Secret:
        facts = f"comfyfleet.lease:{epoch}:{incarnation}:{nonce}".encode() + dispatch_id.bytes + worker_id.bytes
        mac = hmac.digest(self.signing_key.reveal().encode(), facts, "sha256")
        return Secret(f"{epoch}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}")


def epoch_of(token: Secret) -> int:
    """The epoch a token claims; 0, which no lease ever has, for anything that is no token."""
    digits, _, _ = token.reveal().partition(".")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > EPOCH_DIGITS_MAX:
        return 0
    return int(digits)
