"""API keys: `cf_<prefix>_<secret>`. The prefix finds the row, the secret's hash proves the key."""

import secrets
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import InvalidInput, NotFound, Unauthenticated
from comfyfleet.kernel.ids import KeyId, UserId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.kernel.secret import Secret, new_secret
from comfyfleet.tenants import sql as tenant_sql
from comfyfleet.tenants.credentials import sql
from comfyfleet.tenants.model import SCOPES, ApiKey, Caller, MadeVia, Scope, User

KEY_MARK = "cf"
PREFIX_BYTES = 8
NAME_CHARS_MAX = 100
TOUCH_EVERY_S = 60


@dataclass(frozen=True, slots=True)
class NewKey:
    key: ApiKey
    secret: Secret


async def create_key(
    tx: ControlTx,
    user: User,
    *,
    name: str,
    scopes: frozenset[Scope],
    lifetime_s: float | None = None,
    not_after: datetime | None = None,
    made_via: MadeVia = "command_line",
    made_by: UUID | None = None,
) -> NewKey:
    """`made_by`: the key or session that makes it. What a key makes goes with it when it is revoked."""
    if not 0 < len(name) <= NAME_CHARS_MAX:
        raise InvalidInput("name", f"must have 1 to {NAME_CHARS_MAX} characters")
    if beyond := scopes - SCOPES[user.role]:
        raise InvalidInput("scopes", f"a {user.role} cannot have {', '.join(sorted(beyond))}")
    if not scopes:
        raise InvalidInput("scopes", "name at least one")
    if made_via == "key" and made_by is not None:
        await _require_maker(tx, user, KeyId(made_by))
    prefix = secrets.token_hex(PREFIX_BYTES)
    secret = new_secret(prefix=f"{KEY_MARK}_{prefix}_")
    row = await tx.one(
        sql.insert_key(
            user_id=user.id,
            name=name,
            prefix=prefix,
            secret_hash=secret.digest(),
            scopes=sorted(scopes),
            lifetime_s=lifetime_s,
            not_after=not_after,
            made_via=made_via,
            made_by=made_by,
        )
    )
    return NewKey(ApiKey.from_row(row), secret)


async def _require_maker(tx: ControlTx, user: User, key_id: KeyId) -> None:
    """Held until the new key is there: a revocation that comes meanwhile waits, and then finds it."""
    await tx.one(tenant_sql.lock_user(user.id))
    if (await get_key(tx, key_id)).revoked_at is not None:
        raise Unauthenticated("The key is not valid: it was revoked just now.")


class KeyProof(NamedTuple):
    caller: Caller
    untouched: bool  # its last use is older than TOUCH_EVERY_S: worth a write


async def authenticate_key(tx: ControlTx, presented: Secret) -> KeyProof:
    """Unknown, wrong, expired, revoked, disabled: one answer for all."""
    mark, _, rest = presented.reveal().partition("_")
    prefix, _, _ = rest.partition("_")
    row = (
        await tx.maybe(sql.live_key(touch_every_s=TOUCH_EVERY_S), prefix=prefix)
        if mark == KEY_MARK and _is_hex(prefix)
        else None
    )
    if row is None or not presented.matches(row.secret_hash):
        raise Unauthenticated("The key is not valid: it is malformed, unknown, expired or revoked.")
    caller = Caller.from_row(row, via="key", scopes=frozenset(Scope(scope) for scope in row.scopes))
    return KeyProof(caller, bool(row.untouched))


async def touch_key(tx: ControlTx, key_id: KeyId) -> None:
    await tx.run(sql.touch_key(key_id, every_s=TOUCH_EVERY_S))


async def list_keys(tx: ControlTx, user_id: UserId, request: PageRequest) -> Page[ApiKey]:
    rows = await tx.all(sql.key_page(user_id, after=request.after, rows=request.rows))
    return Page.cut([ApiKey.from_row(row) for row in rows], [row.id for row in rows], request)


async def get_key(tx: ControlTx, key_id: KeyId) -> ApiKey:
    row = await tx.maybe(sql.key_by_id(key_id))
    if row is None:
        raise NotFound("key", key_id)
    return ApiKey.from_row(row)


@dataclass(frozen=True, slots=True)
class RevokedKey:
    """`also_revoked`: how many other keys, made with it or with those, went with it."""

    key: ApiKey
    also_revoked: int


async def revoke_key(tx: ControlTx, key_id: KeyId, *, owner: UserId | None = None) -> RevokedKey:
    """With all keys that were made with it, and with those. Revoked twice is revoked once. With `owner`, somebody
    else's key is as unknown as none."""
    key = await get_key(tx, key_id)
    if owner is not None and key.user_id != owner:
        raise NotFound("key", key_id)
    await tx.one(tenant_sql.lock_user(key.user_id))
    family = [key_id, *(child.id for child in _made_with(key_id, await tx.all(sql.made_by_keys(key.user_id))))]
    revoked = {row.id for row in await tx.all(sql.revoke_keys(family))}
    return RevokedKey(await get_key(tx, key_id), len(revoked - {key_id}))


async def revoke_all_keys(tx: ControlTx, user_id: UserId) -> int:
    """How many still worked, or had expired."""
    await tx.one(tenant_sql.lock_user(user_id))
    return len(await tx.all(sql.revoke_keys_of(user_id)))


async def count_made_with(tx: ControlTx, user_id: UserId, key_ids: Collection[KeyId]) -> dict[KeyId, int]:
    """How many keys that still work go with each of these when it is revoked."""
    rows = await tx.all(sql.made_by_keys(user_id))
    return {key_id: sum(row.works for row in _made_with(key_id, rows)) for key_id in key_ids}


def _made_with(key_id: KeyId, rows: Sequence[Any]) -> list[Any]:
    """Children, their children, and so on; also through one that was revoked alone, before keys went together."""
    children: dict[UUID, list[Any]] = defaultdict(list)
    for row in rows:
        children[row.made_by].append(row)
    found: list[Any] = []
    left: list[UUID] = [key_id]
    while left:
        made = children.pop(left.pop(), [])
        found += made
        left += [row.id for row in made]
    return found


def _is_hex(prefix: str) -> bool:
    return len(prefix) == 2 * PREFIX_BYTES and all(digit in "0123456789abcdef" for digit in prefix)
