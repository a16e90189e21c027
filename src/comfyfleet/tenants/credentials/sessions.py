"""Web sessions live in the database, so that logging out, disabling and a new password end them at once."""

from dataclasses import dataclass, field

from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import Unauthenticated
from comfyfleet.kernel.ids import KeyId, SessionId, UserId
from comfyfleet.kernel.secret import Secret, new_secret
from comfyfleet.tenants import sql as tenant_sql
from comfyfleet.tenants.create import normal_email
from comfyfleet.tenants.credentials import sql
from comfyfleet.tenants.model import SCOPES, Caller, Role

LOGIN_ADDRESSES_MAX = 200


@dataclass(frozen=True, slots=True)
class Login:
    """What has to be proven: the caller must know the password behind this hash."""

    user_id: UserId
    password_hash: str | None = field(repr=False)


async def find_login(tx: ControlTx, email: str) -> Login | None:
    row = await tx.maybe(tenant_sql.user_by_email(normal_email(email)))
    return Login(row.id, row.password_hash) if row is not None else None


async def open_session(
    tx: ControlTx, user_id: UserId, *, password_hash: str, address: str, ttl_s: float
) -> Secret | None:
    """None: the user was disabled, or the password replaced, since it was checked."""
    secret = new_secret()
    statement = sql.insert_session(
        user_id=user_id, password_hash=password_hash, secret_hash=secret.digest(), address=address, ttl_s=ttl_s
    )
    return secret if await tx.maybe(statement) is not None else None


async def list_login_addresses(tx: ControlTx, email: str) -> set[str]:
    """From where this user logged in lately, ended sessions included."""
    rows = await tx.all(sql.login_addresses(normal_email(email), rows=LOGIN_ADDRESSES_MAX))
    return {row.address for row in rows}


async def authenticate_session(tx: ControlTx, presented: Secret) -> Caller:
    row = await tx.maybe(sql.live_session(presented.digest()))
    if row is None:
        raise Unauthenticated("The session has ended. Log in again.")
    return Caller.from_row(row, via="session", scopes=SCOPES[Role(row.role)])


async def still_lives(tx: ControlTx, caller: Caller) -> bool:
    """For streams, which outlive the check at their start."""
    statement = (
        sql.key_still_lives(KeyId(caller.credential))
        if caller.via == "key"
        else sql.session_still_lives(SessionId(caller.credential))
    )
    return await tx.maybe(statement) is not None


async def end_session(tx: ControlTx, session_id: SessionId) -> None:
    await tx.run(sql.end_session(session_id))
