"""Log in and out, and set a password by a one-time link. The same door for tenants' users and operators."""

from typing import Annotated

import structlog
from fastapi import APIRouter, BackgroundTasks, Depends, Request, Response
from pydantic import ConfigDict, Field, SecretStr, StrictBool, StringConstraints

from comfyfleet import tenants
from comfyfleet.api.bodies import Body, View
from comfyfleet.api.cookies import clear_session_cookie, require_same_origin, session_secret, set_session_cookie
from comfyfleet.api.limits import RateLimits, client_network, network_of
from comfyfleet.api.options import ApiOptions
from comfyfleet.api.passes import Passes
from comfyfleet.api.policy import AnyCaller, Public, TheHouse, TheLimits, TheOptions
from comfyfleet.api.views import InviteView, UserView
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError, LimitReached, LinkSpent, NotFound, Unauthenticated
from comfyfleet.kernel.ids import SessionId, TenantId, UserId
from comfyfleet.kernel.secret import Secret
from comfyfleet.tenants import Caller, Postbox, Role, Scope, User, credentials
from comfyfleet.tenants.lifecycle import UserStatus

router = APIRouter(prefix="/api/auth", tags=["auth"])
log = structlog.get_logger()

# Behind one network many people may log in; from many networks one person hardly does.
EMAILS_PER_NETWORK = 5
NETWORKS_PER_EMAIL = 10

Email = Annotated[str, StringConstraints(strip_whitespace=True, min_length=3, max_length=254)]
Password = Annotated[SecretStr, Field(min_length=1, max_length=1024)]


class PasswordBody(Body):
    """A password is taken as it was typed: its spaces count."""

    model_config = ConfigDict(str_strip_whitespace=False)


class LoginBody(PasswordBody):
    email: Email
    password: Password


class LoginView(View):
    user_id: UserId
    warning: str | None


class MeView(View):
    user_id: UserId
    email: str
    role: Role
    scopes: list[Scope]
    tenant_id: TenantId | None
    tenant_slug: str | None


class SessionView(View):
    """`me`: nobody, where there is no session or it has ended."""

    me: MeView | None


class EnterBody(Body):
    token: Annotated[SecretStr, Field(min_length=1, max_length=500)]


class ResetRequestBody(Body):
    email: Email


class SetPasswordBody(PasswordBody):
    token: Annotated[str, Field(min_length=1, max_length=500)]
    password: Password
    revoke_keys: StrictBool = False


class PasswordSetView(View):
    user_id: UserId
    keys_revoked: int


@router.post("/login", dependencies=[Depends(Public())])
async def log_in(
    body: LoginBody, request: Request, response: Response, house: TheHouse, options: TheOptions, limits: TheLimits
) -> LoginView:
    """Sets the session cookie. Unknown email and wrong password get one answer, after the same time."""
    address = request.client.host if request.client else "unknown"
    _require_own_page(request)
    # The one spelling that is looked up: another way to write it must not be another count.
    email = tenants.normal_email(body.email)
    await _throttle(request, house, limits, options.logins_per_minute, email)
    async with house.control_tx(read_only=True) as tx:
        login = await credentials.find_login(tx, email)
    held = await credentials.check_password(
        Secret(body.password.get_secret_value()), login.password_hash if login else None
    )
    secret = None
    if login and login.password_hash and held:
        async with house.control_tx() as tx:
            secret = await credentials.open_session(
                tx, login.user_id, password_hash=login.password_hash, address=address, ttl_s=options.session_ttl_s
            )
    if login is None or secret is None:
        raise Unauthenticated("Email or password is wrong.")
    warning = set_session_cookie(request, response, secret, ttl_s=options.session_ttl_s)
    return LoginView(user_id=login.user_id, warning=warning)


async def _throttle(request: Request, house: House, limits: RateLimits, per_minute: int, email: str) -> None:
    """Nobody is locked out by strangers: tries are counted by email and network together. Many networks that try one
    email share a larger count, which does not hold for networks its user has logged in from."""
    network = client_network(request)
    await limits.spend(per_minute, "login-email-network", email, network)
    await limits.spend(per_minute * EMAILS_PER_NETWORK, "login-network", network)
    try:
        await limits.spend(per_minute * NETWORKS_PER_EMAIL, "login-email", email)
    except LimitReached:
        async with house.control_tx(read_only=True) as tx:
            known = await credentials.list_login_addresses(tx, email)
        if network not in {network_of(each) for each in known}:
            raise


@router.post("/logout", status_code=204, dependencies=[Depends(Public())])
async def log_out(request: Request, response: Response, house: TheHouse) -> None:
    """Ends the session, here and everywhere. Without one there is nothing to do."""
    presented = session_secret(request)
    if presented is not None:
        require_same_origin(request)
        async with house.control_tx() as tx:
            try:
                caller = await credentials.authenticate_session(tx, presented)
                await credentials.end_session(tx, SessionId(caller.credential))
            except Unauthenticated:
                pass
    clear_session_cookie(request, response)


@router.post("/enter", dependencies=[Depends(Public())])
async def enter(
    body: EnterBody, request: Request, response: Response, house: TheHouse, options: TheOptions, limits: TheLimits
) -> LoginView:
    """Log in by a pass that `comfyfleet up` printed. It works once."""
    _require_own_page(request)
    await limits.spend(options.logins_per_minute, "pass-address", client_network(request))
    passes: Passes = request.app.state.passes
    email = passes.spend(Secret(body.token.get_secret_value()))
    if email is None:
        raise LinkSpent
    async with house.control_tx() as tx:
        login = await credentials.find_login(tx, email)
        if login is None or login.password_hash is None:
            raise LinkSpent
        secret = await credentials.open_session(
            tx,
            login.user_id,
            password_hash=login.password_hash,
            address=request.client.host if request.client else "unknown",
            ttl_s=options.session_ttl_s,
        )
    if secret is None:
        raise LinkSpent
    warning = set_session_cookie(request, response, secret, ttl_s=options.session_ttl_s)
    return LoginView(user_id=login.user_id, warning=warning)


@router.get("/session", dependencies=[Depends(Public())])
async def get_session(request: Request, house: TheHouse) -> SessionView:
    """Who is logged in with this browser, if anybody: what a page asks before it shows a login."""
    presented = session_secret(request)
    if presented is None:
        return SessionView(me=None)
    async with house.control_tx(read_only=True) as tx:
        try:
            return SessionView(me=_me(await credentials.authenticate_session(tx, presented)))
        except Unauthenticated:
            return SessionView(me=None)


@router.get("/me")
async def me(caller: Annotated[Caller, Depends(AnyCaller())]) -> MeView:
    """Who the credential belongs to."""
    return _me(caller)


def _me(caller: Caller) -> MeView:
    return MeView(
        user_id=caller.user_id,
        email=caller.email,
        role=caller.role,
        scopes=sorted(caller.scopes),
        tenant_id=caller.home.tenant_id if caller.home else None,
        tenant_slug=caller.home.slug if caller.home else None,
    )


@router.post("/password-reset", status_code=202, dependencies=[Depends(Public())])
async def request_password_reset(
    body: ResetRequestBody,
    request: Request,
    work: BackgroundTasks,
    house: TheHouse,
    options: TheOptions,
    limits: TheLimits,
) -> None:
    """Sends a link if there is such a user and mail is configured. The answer never tells."""
    await limits.spend(options.logins_per_minute, "reset-address", client_network(request))
    email = tenants.normal_email(body.email)
    try:
        await limits.spend(options.logins_per_minute, "reset-email", email)
    except LimitReached:
        # A stranger may have asked: that must not refuse the owner, who has this minute's letters already.
        return
    # After the answer: how long the letter takes would tell whether there is somebody to write to.
    work.add_task(_send_reset, house, email, options.password_reset_ttl_s)


@router.post("/password", dependencies=[Depends(Public())])
async def set_password(
    body: SetPasswordBody, request: Request, house: TheHouse, options: TheOptions, limits: TheLimits
) -> PasswordSetView:
    """Spend an invitation or a reset link. All sessions of the user end; with `revoke_keys` all their keys, too."""
    await limits.spend(options.logins_per_minute, "link-address", client_network(request))
    link_id = house.links.read(body.token)
    async with house.control_tx(read_only=True) as tx:
        await credentials.require_live_link(tx, link_id)
    password_hash = await credentials.hash_password(Secret(body.password.get_secret_value()))
    async with house.control_tx() as tx:
        user, revoked = await credentials.spend_link(
            tx, link_id, password_hash=password_hash, revoke_keys=body.revoke_keys
        )
    house.live.people_changed()
    return PasswordSetView(user_id=user.id, keys_revoked=revoked)


def link_ttl_s(options: ApiOptions, user: User) -> int:
    """An invitation may lie for a while; a way to a new password should not."""
    return options.invite_ttl_s if user.status is UserStatus.INVITED else options.password_reset_ttl_s


async def send_or_show_link(house: House, user: User, link_url: str) -> InviteView:
    """By mail where that works; otherwise the link itself, for the one who asked to hand on."""
    shown = InviteView(user=UserView.model_validate(user), link=link_url)
    if house.postbox is None:
        return shown
    try:
        await _send_link(house.postbox, user, link_url)
    except FleetError as error:
        log.error("auth.letter_failed", cause=str(error.__cause__ or error))
        return shown
    return shown.model_copy(update={"link": None})


async def _send_link(postbox: Postbox, user: User, link_url: str) -> None:
    invited = user.status is UserStatus.INVITED
    subject = "You are invited to comfyfleet" if invited else "Your new comfyfleet password"
    await postbox.send_link(to=user.email, subject=subject, link=link_url)


async def _send_reset(house: House, email: str, ttl_s: int) -> None:
    if house.postbox is None:
        log.warning("auth.reset_without_mail", hint="set smtp_url, or run `comfyfleet users create-link EMAIL`")
        return
    try:
        async with house.control_tx() as tx:
            user = await tenants.find_user(tx, email)
            if user.status is UserStatus.DISABLED:
                return
            link = await credentials.make_link(tx, user, ttl_s=ttl_s)
        await _send_link(house.postbox, user, house.links.url(link))
    except NotFound:
        return
    except FleetError as error:
        log.error("auth.letter_failed", cause=str(error.__cause__ or error))


def _require_own_page(request: Request) -> None:
    """A foreign page must not log its visitor into somebody else's account. Programs send no such header."""
    if request.headers.get("sec-fetch-site") or request.headers.get("origin"):
        require_same_origin(request)
