"""How the processes of one installation find each other, and how one knows another."""

import base64
import hmac
import time
from dataclasses import dataclass
from uuid import UUID

from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import Forbidden
from comfyfleet.kernel.secret import Secret
from comfyfleet.live import sql
from comfyfleet.live.model import Replica

SEEN_WITHIN_S = 15.0
FORGOTTEN_AFTER_S = 3600.0
REPLICAS_MAX = 64
# Clocks of two machines may differ by so much.
SKEW_S = 300.0
AT_DIGITS_MAX = 12


async def announce_replica(tx: ControlTx, me: Replica) -> list[Replica]:
    """I am here; who else is?"""
    if await tx.maybe(sql.touch_replica(me.id)) is None:
        await tx.run(sql.add_replica(me.id, me.url))
        await tx.run(sql.forget_replicas(age_s=FORGOTTEN_AFTER_S))
    rows = await tx.all(sql.other_replicas(me.id, within_s=SEEN_WITHIN_S, rows=REPLICAS_MAX))
    return [Replica(row.id, row.url) for row in rows]


async def remove_replica(tx: ControlTx, me: Replica) -> None:
    await tx.run(sql.remove_replica(me.id))


@dataclass(frozen=True, slots=True)
class ReplicaSigner:
    """Replicas share the installation's key. A token is for one of them, from one of them, for a few minutes."""

    signing_key: Secret

    def token(self, *, caller: UUID, called: UUID, at: int | None = None) -> Secret:
        at = int(time.time()) if at is None else at
        return Secret(f"{caller.hex}.{at}.{self._mac(caller, called, at)}")

    def require(self, token: Secret, *, called: UUID) -> UUID:
        """Who calls."""
        caller, _, rest = token.reveal().partition(".")
        at, _, mac = rest.partition(".")
        if not (at.isascii() and at.isdecimal() and len(at) <= AT_DIGITS_MAX and len(caller) == 32):
            raise Forbidden
        try:
            known = UUID(hex=caller)
        except ValueError:
            raise Forbidden from None
        good = hmac.compare_digest(self._mac(known, called, int(at)).encode(), mac.encode())
        if not good or abs(time.time() - int(at)) > SKEW_S:
            raise Forbidden
        return known

    def _mac(self, caller: UUID, called: UUID, at: int) -> str:
        facts = f"comfyfleet.replica:{at}:".encode() + caller.bytes + called.bytes
        mac = hmac.digest(self.signing_key.reveal().encode(), facts, "sha256")
        return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()
