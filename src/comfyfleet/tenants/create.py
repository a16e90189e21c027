"""New tenants and users."""

import re
from uuid import UUID

from email_validator import SPECIAL_USE_DOMAIN_NAMES, EmailNotValidError, validate_email

from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import AlreadyExists, InvalidInput
from comfyfleet.kernel.ids import TenantId
from comfyfleet.tenants import sql
from comfyfleet.tenants.model import Role, Tenant, User

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
NAME_CHARS_MAX = 200
WEIGHT_MAX = 1000

# Installations live in offices too: ada@studio.local is a fine login. The library offers this list for the purpose.
SPECIAL_USE_DOMAIN_NAMES.clear()


async def create_tenant(tx: ControlTx, *, slug: str, name: str, pool: str, weight: int = 1) -> Tenant:
    """`pool` says in which tenant database the tenant's rows will live; it must be one of the settings'."""
    if not SLUG.fullmatch(slug) or _is_an_id(slug):
        raise InvalidInput("slug", "use 1 to 63 lower-case letters, digits and inner hyphens, such as 'acme-films'")
    if not 0 < len(name) <= NAME_CHARS_MAX:
        raise InvalidInput("name", f"must have 1 to {NAME_CHARS_MAX} characters")
    if not 1 <= weight <= WEIGHT_MAX:
        raise InvalidInput("weight", f"must be from 1 to {WEIGHT_MAX}")
    row = await tx.maybe(sql.insert_tenant(slug=slug, name=name, pool=pool, weight=weight))
    if row is None:
        raise AlreadyExists("tenant", slug)
    return Tenant.from_row(row)


async def create_user(
    tx: ControlTx, *, email: str, role: Role, tenant_id: TenantId | None, password_hash: str | None = None
) -> User:
    """Without a password the user is invited, and becomes active by choosing one."""
    if (role is Role.OPERATOR) != (tenant_id is None):
        raise InvalidInput("role", "members and admins belong to a tenant, operators to none: give both or neither")
    email = normal_email(email)
    row = await tx.maybe(sql.insert_user(tenant_id=tenant_id, email=email, role=role, password_hash=password_hash))
    if row is None:
        raise AlreadyExists("user", email)
    return User.from_row(row)


def _is_an_id(slug: str) -> bool:
    """Tenants are found by slug or id: the one must never look like the other."""
    try:
        UUID(slug)
    except ValueError:
        return False
    return True


def normal_email(text: str) -> str:
    """One address, one spelling: people do not remember which letters they wrote large."""
    try:
        found = validate_email(text, check_deliverability=False, globally_deliverable=False)
    except EmailNotValidError as problem:
        raise InvalidInput("email", str(problem)) from None
    return found.normalized.lower()
