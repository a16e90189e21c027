"""Statements over keys, sessions and one-time links."""

from datetime import datetime
from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import now, seconds_from_now
from comfyfleet.db.direct import built_once
from comfyfleet.db.tables import api_keys, one_time_links, tenants, users, web_sessions
from comfyfleet.db.types import UtcTime
from comfyfleet.kernel.ids import KeyId, LinkId, SessionId, UserId, new_id
from comfyfleet.tenants.lifecycle import UserStatus

CALLER = (
    users.c.id.label("user_id"),
    users.c.email,
    users.c.role,
    tenants.c.id.label("tenant_id"),
    tenants.c.slug.label("tenant_slug"),
    tenants.c.pool.label("tenant_pool"),
    tenants.c.status.label("tenant_status"),
    tenants.c.priority_max.label("tenant_priority_max"),
    tenants.c.storage_bytes_max.label("tenant_storage_bytes_max"),
)


def insert_key(
    *,
    user_id: UserId,
    name: str,
    prefix: str,
    secret_hash: str,
    scopes: list[str],
    lifetime_s: float | None,
    not_after: datetime | None,
    made_via: str,
    made_by: UUID | None,
) -> sa.Insert:
    return (
        sa.insert(api_keys)
        .values(
            id=new_id(),
            user_id=user_id,
            name=name,
            prefix=prefix,
            secret_hash=secret_hash,
            scopes=scopes,
            expires_at=_earlier(lifetime_s, not_after),
            created_at=now(),
            made_via=made_via,
            made_by=made_by,
        )
        .returning(*api_keys.c)
    )


def _earlier(lifetime_s: float | None, not_after: datetime | None) -> Any:
    if lifetime_s is None:
        return not_after
    wanted = seconds_from_now(lifetime_s)
    if not_after is None:
        return wanted
    latest = sa.literal(not_after, UtcTime())
    return sa.case((wanted < latest, wanted), else_=latest)


@built_once
def live_key(*, touch_every_s: float) -> sa.Select[Any]:
    """The key and its caller, if the key is neither revoked nor expired and its user is not disabled.

    An invited user has chosen no password yet; a key that was made for them works all the same.
    """
    return (
        sa.select(
            api_keys.c.id,
            api_keys.c.secret_hash,
            api_keys.c.scopes,
            api_keys.c.expires_at,
            _untouched(touch_every_s).label("untouched"),
            *CALLER,
        )
        .join(users, users.c.id == api_keys.c.user_id)
        .outerjoin(tenants, tenants.c.id == users.c.tenant_id)
        .where(
            api_keys.c.prefix == sa.bindparam("prefix"),
            *_key_lives(),
        )
    )


def touch_key(key_id: KeyId, *, every_s: float) -> sa.Update:
    """At most one write in that time, however busy the key."""
    return sa.update(api_keys).where(api_keys.c.id == key_id, _untouched(every_s)).values(last_used_at=now())


def _untouched(every_s: float) -> sa.ColumnElement[bool]:
    return sa.or_(api_keys.c.last_used_at.is_(None), api_keys.c.last_used_at < seconds_from_now(-every_s))


def key_by_id(key_id: KeyId) -> sa.Select[Any]:
    return sa.select(*api_keys.c).where(api_keys.c.id == key_id)


def key_page(user_id: UserId, *, after: UUID | None, rows: int) -> sa.Select[Any]:
    page = sa.select(*api_keys.c).where(api_keys.c.user_id == user_id).order_by(api_keys.c.id.desc()).limit(rows + 1)
    return page.where(api_keys.c.id < after) if after else page


def made_by_keys(user_id: UserId) -> sa.Select[Any]:
    """Of a user's keys, those that keys have made: by which, and whether they still work."""
    works = sa.and_(
        api_keys.c.revoked_at.is_(None), sa.or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now())
    )
    return sa.select(api_keys.c.id, api_keys.c.made_by, works.label("works")).where(
        api_keys.c.user_id == user_id, api_keys.c.made_via == "key"
    )


def revoke_keys(key_ids: list[KeyId]) -> sa.Update:
    return (
        sa.update(api_keys)
        .where(api_keys.c.id.in_(key_ids), api_keys.c.revoked_at.is_(None))
        .values(revoked_at=now())
        .returning(api_keys.c.id)
    )


def revoke_keys_of(user_id: UserId) -> sa.Update:
    return (
        sa.update(api_keys)
        .where(api_keys.c.user_id == user_id, api_keys.c.revoked_at.is_(None))
        .values(revoked_at=now())
        .returning(api_keys.c.id)
    )


def insert_session(*, user_id: UserId, password_hash: str, secret_hash: str, address: str, ttl_s: float) -> sa.Insert:
    """Only if the user is still active and still has the password that was checked a moment ago."""
    user = sa.select(
        sa.literal(new_id(), sa.Uuid()),
        users.c.id,
        sa.literal(secret_hash, sa.Text()),
        sa.literal(address, sa.Text()),
        seconds_from_now(ttl_s),
        now(),
    ).where(users.c.id == user_id, users.c.status == UserStatus.ACTIVE, users.c.password_hash == password_hash)
    # Shared, so that logins do not wait for each other; a new password waits, and then ends this session too.
    user = user.with_for_update(read=True)
    columns = ["id", "user_id", "secret_hash", "address", "expires_at", "created_at"]
    return sa.insert(web_sessions).from_select(columns, user).returning(*web_sessions.c)


def login_addresses(email: str, *, rows: int) -> sa.Select[Any]:
    return (
        sa.select(web_sessions.c.address)
        .join(users, users.c.id == web_sessions.c.user_id)
        .where(users.c.email == email)
        .order_by(web_sessions.c.id.desc())
        .limit(rows)
    )


def live_session(secret_hash: str) -> sa.Select[Any]:
    return (
        sa.select(web_sessions.c.id, web_sessions.c.expires_at, *CALLER)
        .join(users, users.c.id == web_sessions.c.user_id)
        .outerjoin(tenants, tenants.c.id == users.c.tenant_id)
        .where(
            web_sessions.c.secret_hash == secret_hash,
            *_session_lives(),
        )
    )


def _key_lives() -> tuple[sa.ColumnElement[bool], ...]:
    return (
        api_keys.c.revoked_at.is_(None),
        sa.or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > now()),
        users.c.status != UserStatus.DISABLED,
    )


def _session_lives() -> tuple[sa.ColumnElement[bool], ...]:
    return (
        web_sessions.c.ended_at.is_(None),
        web_sessions.c.expires_at > now(),
        users.c.status == UserStatus.ACTIVE,
    )


def key_still_lives(key_id: KeyId) -> sa.Select[Any]:
    return (
        sa.select(api_keys.c.id)
        .join(users, users.c.id == api_keys.c.user_id)
        .where(
            api_keys.c.id == key_id,
            *_key_lives(),
        )
    )


def session_still_lives(session_id: SessionId) -> sa.Select[Any]:
    return (
        sa.select(web_sessions.c.id)
        .join(users, users.c.id == web_sessions.c.user_id)
        .where(
            web_sessions.c.id == session_id,
            *_session_lives(),
        )
    )


def end_session(session_id: SessionId) -> sa.Update:
    return (
        sa.update(web_sessions)
        .where(web_sessions.c.id == session_id, web_sessions.c.ended_at.is_(None))
        .values(ended_at=now())
    )


def end_sessions_of(user_id: UserId) -> sa.Update:
    return (
        sa.update(web_sessions)
        .where(web_sessions.c.user_id == user_id, web_sessions.c.ended_at.is_(None))
        .values(ended_at=now())
    )


def insert_link(*, user_id: UserId, purpose: str, ttl_s: float) -> sa.Insert:
    return (
        sa.insert(one_time_links)
        .values(id=new_id(), user_id=user_id, purpose=purpose, expires_at=seconds_from_now(ttl_s), created_at=now())
        .returning(*one_time_links.c)
    )


def live_link(link_id: LinkId) -> sa.Select[Any]:
    return sa.select(one_time_links.c.user_id).where(
        one_time_links.c.id == link_id, one_time_links.c.spent_at.is_(None), one_time_links.c.expires_at > now()
    )


def spend_link(link_id: LinkId) -> sa.Update:
    return (
        sa.update(one_time_links)
        .where(
            one_time_links.c.id == link_id,
            one_time_links.c.spent_at.is_(None),
            one_time_links.c.expires_at > now(),
        )
        .values(spent_at=now())
        .returning(*one_time_links.c)
    )


def spend_links_of(user_id: UserId) -> sa.Update:
    return (
        sa.update(one_time_links)
        .where(one_time_links.c.user_id == user_id, one_time_links.c.spent_at.is_(None))
        .values(spent_at=now())
    )
