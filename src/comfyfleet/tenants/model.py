"""Who there is: tenants, their users, the keys and sessions by which they are known."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Self
from uuid import UUID

from comfyfleet.kernel.ids import KeyId, LinkId, TenantId, UserId
from comfyfleet.tenants.lifecycle import TenantStatus, UserStatus


class Role(StrEnum):
    MEMBER = "member"
    ADMIN = "admin"
    OPERATOR = "operator"


class Scope(StrEnum):
    """What a credential may do; never more than its user's role allows."""

    READ = "read"
    WRITE = "write"
    MANAGE = "manage"
    OPERATE = "operate"


SCOPES: dict[Role, frozenset[Scope]] = {
    Role.MEMBER: frozenset({Scope.READ, Scope.WRITE}),
    Role.ADMIN: frozenset({Scope.READ, Scope.WRITE, Scope.MANAGE}),
    Role.OPERATOR: frozenset({Scope.READ, Scope.OPERATE}),
}


class LinkPurpose(StrEnum):
    INVITE = "invite"
    PASSWORD_RESET = "password_reset"  # noqa: S105 a purpose, no password


@dataclass(frozen=True, slots=True)
class Tenant:
    id: TenantId
    slug: str
    name: str
    pool: str
    weight: int
    status: TenantStatus
    created_at: datetime
    priority_max: int | None = None  # none: as the settings say
    storage_bytes_max: int | None = None  # likewise

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            slug=row.slug,
            name=row.name,
            pool=row.pool,
            weight=row.weight,
            status=TenantStatus(row.status),
            created_at=row.created_at,
            priority_max=row.priority_max,
            storage_bytes_max=row.storage_bytes_max,
        )


@dataclass(frozen=True, slots=True)
class User:
    id: UserId
    tenant_id: TenantId | None
    email: str
    role: Role
    status: UserStatus
    has_password: bool
    created_at: datetime

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            tenant_id=row.tenant_id,
            email=row.email,
            role=Role(row.role),
            status=UserStatus(row.status),
            has_password=row.password_hash is not None,
            created_at=row.created_at,
        )


MadeVia = Literal["key", "session", "command_line"]


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as it is listed. The key itself is shown once, when it is made.

    `made_by`: the id of the key or session that made it. None, as `made_via`: made before this was noted.
    """

    id: KeyId
    user_id: UserId
    name: str
    prefix: str
    scopes: frozenset[Scope]
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    created_at: datetime
    made_via: MadeVia | None
    made_by: UUID | None

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            user_id=row.user_id,
            made_via=row.made_via,
            made_by=row.made_by,
            name=row.name,
            prefix=row.prefix,
            scopes=frozenset(Scope(scope) for scope in row.scopes),
            expires_at=row.expires_at,
            revoked_at=row.revoked_at,
            last_used_at=row.last_used_at,
            created_at=row.created_at,
        )


@dataclass(frozen=True, slots=True)
class OneTimeLink:
    id: LinkId
    user_id: UserId
    purpose: LinkPurpose


@dataclass(frozen=True, slots=True)
class Home:
    """The tenant a caller belongs to, and the pool its rows live in."""

    tenant_id: TenantId
    slug: str
    pool: str
    status: TenantStatus
    priority_max: int | None = None
    storage_bytes_max: int | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is asking, known by a key or a session. The tenant comes from the credential, never from the request."""

    user_id: UserId
    email: str
    role: Role
    scopes: frozenset[Scope]
    home: Home | None
    via: Literal["key", "session"]
    credential: UUID
    expires_at: datetime | None  # of the credential

    @classmethod
    def from_row(cls, row: Any, *, via: Literal["key", "session"], scopes: frozenset[Scope]) -> Self:
        role = Role(row.role)
        home = None
        if row.tenant_id is not None:
            status = TenantStatus(row.tenant_status)
            home = Home(
                row.tenant_id,
                row.tenant_slug,
                row.tenant_pool,
                status,
                row.tenant_priority_max,
                row.tenant_storage_bytes_max,
            )
        return cls(row.user_id, row.email, role, scopes & SCOPES[role], home, via, row.id, row.expires_at)
