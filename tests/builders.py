"""Nouns with readable defaults."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

from comfyfleet import ledger, tenants, workflows
from comfyfleet.house import House
from comfyfleet.kernel.ids import JobId, WorkflowId, new_id
from comfyfleet.kernel.secret import Secret
from comfyfleet.ledger import Tokens
from comfyfleet.tenants import Role, Scope, Tenant, User, credentials
from comfyfleet.tenants.model import SCOPES
from comfyfleet.workflows import NewVersion, Property, Version, Workflow, effects
from comfyfleet.workflows.effects import Effect, NewEffect

_numbers = count(1)
PASSWORD = "correct horse battery staple"
GRAPH = b'{"1": {"class_type": "KSampler", "inputs": {}}}'


@dataclass(frozen=True)
class Member:
    """A user with a key, in a tenant of their own unless told otherwise."""

    tenant: Tenant
    user: User
    key: Secret

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key.reveal()}"}


async def a_tenant(house: House, slug: str | None = None, *, pool: str | None = None) -> Tenant:
    async with house.control_tx() as tx:
        slug = slug or f"tenant-{next(_numbers)}"
        return await tenants.create_tenant(tx, slug=slug, name=slug.title(), pool=pool or house.default_pool)


async def a_user(house: House, tenant: Tenant | None, role: Role = Role.ADMIN, *, password: str | None = None) -> User:
    password_hash = await credentials.hash_password(Secret(password)) if password else None
    async with house.control_tx() as tx:
        return await tenants.create_user(
            tx,
            email=f"user-{next(_numbers)}@example.com",
            role=role,
            tenant_id=tenant.id if tenant else None,
            password_hash=password_hash,
        )


async def a_key(house: House, user: User, *scopes: Scope, lifetime_s: float | None = None) -> Secret:
    async with house.control_tx() as tx:
        chosen = frozenset(scopes) or SCOPES[user.role]
        return (await credentials.create_key(tx, user, name="test", scopes=chosen, lifetime_s=lifetime_s)).secret


async def a_member(
    house: House, *, tenant: Tenant | None = None, role: Role = Role.ADMIN, tokens: int = 0, password: str | None = None
) -> Member:
    tenant = tenant or await a_tenant(house)
    user = await a_user(house, tenant, role, password=password)
    if tokens:
        await credit(house, tenant, user, tokens)
    return Member(tenant, user, await a_key(house, user))


async def an_operator_key(house: House) -> dict[str, str]:
    key = await a_key(house, await a_user(house, None, Role.OPERATOR))
    return {"Authorization": f"Bearer {key.reveal()}"}


async def credit(house: House, tenant: Tenant, user: User, tokens: int) -> None:
    async with house.tenant_tx(tenant) as tx:
        await ledger.credit_wallet(tx, user.id, Tokens(tokens), provider_transaction_id=f"pay-{next(_numbers)}")


async def balance(house: House, tenant: Tenant, user: User) -> int:
    async with house.tenant_tx(tenant, read_only=True) as tx:
        return (await ledger.get_wallet(tx, user.id)).balance


def a_job_id() -> JobId:
    return JobId(new_id())


def a_version(graph: bytes | Mapping[str, Any] = GRAPH, **given: Any) -> NewVersion:
    """Checked, and not yet anywhere."""
    return workflows.prepare_version(graph if isinstance(graph, bytes) else json.dumps(graph).encode(), **given)


def as_version(new: NewVersion, *, version: int = 1) -> Version:
    """As it would be read back."""
    said = {name: getattr(new, name) for name in NewVersion.__dataclass_fields__ if name != "graph"}
    long_ago = datetime(2026, 1, 1, tzinfo=UTC)
    return Version(WorkflowId(new_id()), version, graph_bytes=len(new.graph), created_at=long_ago, **said)


async def a_workflow(
    house: House,
    slug: str | None = None,
    *,
    graph: bytes | Mapping[str, Any] = GRAPH,
    properties: Sequence[Property] = (),
    **given: Any,
) -> Workflow:
    """As operators register it, graph in the store and all, but for the audit."""
    slug = slug or f"workflow-{next(_numbers)}"
    new = a_version(graph, properties=properties, **given)
    await workflows.keep_graph(house.store, new)
    async with house.control_tx() as tx:
        return await workflows.add_workflow(tx, new, slug=slug, name=slug.title())


async def an_effect(
    house: House, slug: str | None = None, *, workflow: str | None = None, is_published: bool = True, **given: Any
) -> Effect:
    slug = slug or f"effect-{next(_numbers)}"
    runs = workflow or (await a_workflow(house)).slug
    async with house.control_tx() as tx:
        # Most tests order before there is a worker, or without one.
        new = NewEffect(slug, slug.title(), **{"waits_for_worker": True, **given})
        made = await effects.add_effect(tx, new, workflow=runs)
        return await effects.publish_effect(tx, slug) if is_published else made
