"""One-time links: signed, so that a guess costs nothing to refuse; a row each, so that they work once."""

from dataclasses import dataclass
from uuid import UUID

from itsdangerous import BadSignature, URLSafeSerializer

from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import LinkSpent
from comfyfleet.kernel.ids import LinkId, UserId
from comfyfleet.kernel.secret import Secret
from comfyfleet.tenants import sql as tenant_sql
from comfyfleet.tenants.credentials import sql
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
    purpose = LinkPurpose.INVITE if user.status is UserStatus.INVITED else LinkPurpose.PASSWORD_RESET
    await tx.run(sql.spend_links_of(user.id))
    row = await tx.one(sql.insert_link(user_id=user.id, purpose=purpose, ttl_s=ttl_s))
    return OneTimeLink(row.id, row.user_id, purpose)


async def spend_link(tx: ControlTx, link_id: LinkId, *, password_hash: str) -> User:
    """Set the password this link stands for. Of two at once, one succeeds."""
    row = await tx.maybe(sql.spend_link(link_id))
    if row is None:
        raise LinkSpent
    return await replace_password(tx, await _user(tx, row.user_id), password_hash=password_hash)


async def replace_password(tx: ControlTx, user: User, *, password_hash: str) -> User:
    """Everything the old password opened is closed: sessions end, older links are void."""
    await tx.one(tenant_sql.set_password_hash(user.id, password_hash))
    await tx.run(sql.end_sessions_of(user.id))
    await tx.run(sql.spend_links_of(user.id))
    if user.status is UserStatus.INVITED:
        await tx.maybe(tenant_sql.move_user(user.id, UserEvent.ACCEPT))
    return await _user(tx, user.id)


async def _user(tx: ControlTx, user_id: UserId) -> User:
    return User.from_row(await tx.one(tenant_sql.user_by_id(user_id)))
