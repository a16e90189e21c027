"""Who is acting, as the audit log writes it down."""

from fastapi import Request

from comfyfleet.audit import Actor, ActorKind
from comfyfleet.tenants import Caller, Role


def actor_of(request: Request, caller: Caller) -> Actor:
    kind: ActorKind = "operator" if caller.role is Role.OPERATOR else "user"
    return Actor(kind, caller.email, address_of(request))


def shop_of(request: Request) -> Actor:
    """A shop has no name of its own here: it is known by the secret it signs with."""
    return Actor("payments", "payment webhook", address_of(request))


def address_of(request: Request) -> str | None:
    return request.client.host if request.client else None
