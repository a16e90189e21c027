"""Who may call a route. Every route names a policy, or the application does not start."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Annotated, Any
from uuid import UUID

from fastapi import BackgroundTasks, Depends, Request, Security
from fastapi.dependencies.models import Dependant
from fastapi.routing import RouteContext
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from starlette.exceptions import WebSocketException
from starlette.websockets import WebSocket

from comfyfleet.api.cookies import COOKIES, require_same_origin, session_secret
from comfyfleet.api.limits import RateLimits
from comfyfleet.api.options import ApiOptions
from comfyfleet.house import House
from comfyfleet.kernel.errors import DatabaseUnavailable, Forbidden, TenantSuspended, Unauthenticated
from comfyfleet.kernel.ids import KeyId
from comfyfleet.kernel.secret import Secret
from comfyfleet.tenants import Caller, Home, Role, Scope
from comfyfleet.tenants.credentials import authenticate_key, authenticate_session, still_lives, touch_key
from comfyfleet.tenants.lifecycle import TenantStatus

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
POLICY_VIOLATION = 1008
VIEWERS_AT_ONCE = 5  # of one tenant, each at the limit for small pictures

_key = HTTPBearer(auto_error=False, scheme_name="key", description="An API key: `cf_…`.")
_cookie = APIKeyCookie(name=COOKIES[0], auto_error=False, scheme_name="session", description="A web login.")


# Not plain functions: FastAPI would send each of them through a thread, in every request.
async def get_house(request: Request) -> House:
    house: House = request.app.state.house
    return house


async def get_options(request: Request) -> ApiOptions:
    options: ApiOptions = request.app.state.options
    return options


async def get_limits(request: Request) -> RateLimits:
    limits: RateLimits = request.app.state.limits
    return limits


TheHouse = Annotated[House, Depends(get_house)]
TheOptions = Annotated[ApiOptions, Depends(get_options)]
TheLimits = Annotated[RateLimits, Depends(get_limits)]


class Policy:
    """A dependency that lets a request pass, or raises."""


class Public(Policy):
    """Anybody. Say it out loud on each such route."""

    async def __call__(self) -> None:
        return None


class SignedUrl(Policy):
    """Whoever holds the URL: its signature is checked by the route, and is the only credential."""

    async def __call__(self) -> None:
        return None


class PeerReplica(Policy):
    """Another process of this installation, which shows that it holds the installation's key."""

    async def __call__(self, websocket: WebSocket) -> UUID:
        house: House = websocket.app.state.house
        scheme, _, token = websocket.headers.get("authorization", "").partition(" ")
        try:
            if scheme != "Replica":
                raise Forbidden
            return house.live.signer.require(Secret(token), called=house.live.me.id)
        except Forbidden:
            raise WebSocketException(POLICY_VIOLATION) from None


class Known:
    """Who is asking, by key or session; counted, so that nobody asks too often."""

    def __init__(self, counted_as: str, per_minute: Callable[[ApiOptions], int]) -> None:
        self.counted_as = counted_as
        self.per_minute = per_minute

    async def __call__(
        self,
        request: Request,
        house: TheHouse,
        options: TheOptions,
        limits: TheLimits,
        later: BackgroundTasks,
        key: Annotated[HTTPAuthorizationCredentials | None, Security(_key)] = None,
        _session: Annotated[str | None, Security(_cookie)] = None,
    ) -> Caller:
        caller = await _authenticate(request, house, key, later)
        await limits.spend(self.per_minute(options), self.counted_as, str(caller.credential))
        return caller


KnownCaller = Annotated[Caller, Depends(Known("caller", lambda options: options.requests_per_minute_per_key))]
# Counted apart: one page of pictures asks for a thousand small ones, and must not use up what everything else needs.
KnownViewer = Annotated[Caller, Depends(Known("viewer", lambda options: options.thumbs_per_minute_per_key))]


class AnyCaller(Policy):
    """Anybody who is known: a tenant's user or an operator."""

    async def __call__(self, caller: KnownCaller) -> Caller:
        return caller


class TenantCaller(Policy):
    """A user of a tenant whose credential has the scope."""

    def __init__(self, scope: Scope, *, even_suspended: bool = False) -> None:
        self.scope = scope
        self.even_suspended = even_suspended

    async def __call__(self, request: Request, caller: KnownCaller, options: TheOptions, limits: TheLimits) -> Caller:
        home = home_of(caller)
        await limits.spend(options.requests_per_minute_per_tenant, "tenant", str(home.tenant_id))
        _require(caller, self.scope)
        changes = request.method not in SAFE_METHODS and not self.even_suspended
        if changes and home.status is TenantStatus.SUSPENDED:
            raise TenantSuspended
        return caller


class TenantViewer(Policy):
    """A user of a tenant who looks at small pictures."""

    async def __call__(self, caller: KnownViewer, options: TheOptions, limits: TheLimits) -> Caller:
        per_minute = options.thumbs_per_minute_per_key * VIEWERS_AT_ONCE
        await limits.spend(per_minute, "viewers", str(home_of(caller).tenant_id))
        _require(caller, Scope.READ)
        return caller


class OperatorCaller(Policy):
    """An operator of the installation."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    async def __call__(self, caller: KnownCaller) -> Caller:
        if caller.role is not Role.OPERATOR:
            raise Forbidden("This is for operators of the installation.")
        _require(caller, self.scope)
        return caller


def home_of(caller: Caller) -> Home:
    if caller.home is None:
        raise Forbidden("Operators have no wallet and no files. Use a tenant user's key.")
    return caller.home


def _require(caller: Caller, scope: Scope) -> None:
    if scope not in caller.scopes:
        has = ", ".join(sorted(caller.scopes)) or "none"
        raise Forbidden(f"This needs the scope {scope.value!r}; the credential has: {has}.")


async def is_still_valid(house: House, caller: Caller) -> bool:
    async with house.control_tx(read_only=True) as tx:
        return await still_lives(tx, caller)


async def _authenticate(
    request: Request, house: House, key: HTTPAuthorizationCredentials | None, later: BackgroundTasks
) -> Caller:
    if key is not None:
        async with house.control_tx(read_only=True) as tx:
            proof = await authenticate_key(tx, Secret(key.credentials))
        if proof.untouched:
            later.add_task(_touch, house, KeyId(proof.caller.credential))
        return proof.caller
    presented = session_secret(request)
    if presented is None:
        raise Unauthenticated
    if request.method not in SAFE_METHODS:
        require_same_origin(request)
    async with house.control_tx(read_only=True) as tx:
        return await authenticate_session(tx, presented)


async def _touch(house: House, key_id: KeyId) -> None:
    """When a key was last used is good to know, and no reason to keep anybody waiting or to fail."""
    with suppress(DatabaseUnavailable):
        async with house.control_tx() as tx:
            await touch_key(tx, key_id)


class UnguardedRoute(Exception):
    """A programming error: a route without a policy."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__(f"these routes have no policy: {', '.join(paths)}. Add Depends(Public()) or a caller to each.")


def require_policies(routes: Iterable[RouteContext], *, open_paths: frozenset[str]) -> None:
    """Default deny: refuses an application in which a route, hidden ones included, has no policy."""
    unguarded = [str(route.path) for route in routes if route.path not in open_paths and not _has_policy(route)]
    if unguarded:
        raise UnguardedRoute(unguarded)


def _has_policy(route: RouteContext) -> bool:
    """A mount or a plain route has no dependencies, and so no policy."""
    dependant: Dependant | None = getattr(route, "dependant", None)
    return dependant is not None and any(isinstance(call, Policy) for call in _calls(dependant))


def _calls(dependant: Dependant) -> Iterator[Any]:
    for inner in dependant.dependencies:
        yield inner.call
        yield from _calls(inner)
