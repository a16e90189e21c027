"""One-time links: signed, so that a guess costs nothing to refuse; a row each, so that they work once."""

from dataclasses import dataclass
from uuid import UUID

from itsdangerous import BadSignature, URLSafeSerializer

from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import IllegalMove, LinkSpent
from comfyfleet.kernel.ids import LinkId, UserId
from comfyfleet.kernel.secret import Secret
from comfyfleet.tenants import sql as tenant_sql
from comfyfleet.tenants.credentials import sql
from comfyfleet.tenants.credentials.keys import revoke_all_keys
from comfyfleet.tenants.lifecycle import UserEvent, UserStatus
from comfyfleet.tenants.model import LinkPurpose, OneTimeLink, User


@dataclass(frozen=True)
class LinkSigner:
    signing_key: Secret
    public_url: str

    def url(self, link: OneTimeLink) -> str:
        # The token stands behind '#': browsers do not send that part, so no access log ever holds it.
        return f"{self.public_url}/set-password#token={self._serializer().dumps(str(link.id))}"

    def read(self, token: str) -> LinkId:
        try:
            return LinkId(UUID(self._serializer().loads(token)))
        except (BadSignature, ValueError, TypeError, AttributeError):
            raise LinkSpent from None

    def _serializer(self) -> URLSafeSerializer:
        return URLSafeSerializer(self.signing_key.reveal(), salt="comfyfleet.one-time-link")


async def make_link(tx: ControlTx, user: User, *, ttl_s: float) -> OneTimeLink:
    """An invited user gets an invitation, any other a password reset. A newer link replaces the older ones."""
    user = await _locked(tx, user.id)
    if user.status is UserStatus.DISABLED:
        raise IllegalMove("user", state=user.status, event="link")
    purpose = LinkPurpose.INVITE if user.status is UserStatus.INVITED else LinkPurpose.PASSWORD_RESET
    await tx.run(sql.spend_links_of(user.id))
    row = await tx.one(sql.insert_link(user_id=user.id, purpose=purpose, ttl_s=ttl_s))
    return OneTimeLink(row.id, row.user_id, purpose)


async def require_live_link(tx: ControlTx, link_id: LinkId) -> None:
    """Before the costly part, hashing a password; `spend_link` decides."""
    if await tx.maybe(sql.live_link(link_id)) is None:
        raise LinkSpent


async def spend_link(
    tx: ControlTx, link_id: LinkId, *, password_hash: str, revoke_keys: bool = False
) -> tuple[User, int]:
    """Set the password this link stands for. Of two at once, one succeeds. With it, how many keys were revoked."""
    row = await tx.maybe(sql.spend_link(link_id))
    if row is None:
        raise LinkSpent
    user = await _locked(tx, row.user_id)
    if user.status is UserStatus.DISABLED:
        raise LinkSpent
    return await replace_password(tx, user, password_hash=password_hash, revoke_keys=revoke_keys)


async def replace_password(
    tx: ControlTx, user: User, *, password_hash: str, revoke_keys: bool = False
) -> tuple[User, int]:
    """Every session and every older link ends. Keys stay, unless `revoke_keys`: programs log in with no password.

    With the user, how many keys were revoked.
    """
    await _locked(tx, user.id)
    await tx.one(tenant_sql.set_password_hash(user.id, password_hash))
    await close_account(tx, user.id)
    await tx.maybe(tenant_sql.move_user(user.id, UserEvent.ACCEPT))
    revoked = await revoke_all_keys(tx, user.id) if revoke_keys else 0
    return User.from_row(await tx.one(tenant_sql.user_by_id(user.id))), revoked


async def close_account(tx: ControlTx, user_id: UserId) -> None:
    """Whatever was open by session or link is open no more."""
    await tx.run(sql.end_sessions_of(user_id))
    await tx.run(sql.spend_links_of(user_id))


async def _locked(tx: ControlTx, user_id: UserId) -> User:
    return User.from_row(await tx.one(tenant_sql.lock_user(user_id)))
