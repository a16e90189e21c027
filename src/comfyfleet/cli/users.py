"""`comfyfleet users`"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from comfyfleet.cli.acting import record
from comfyfleet.cli.choices import RoleChoice
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, print_one, print_rows
from comfyfleet.cli.running import in_house
from comfyfleet.cli.shown_once import print_secret
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest
from comfyfleet.kernel.secret import Secret

if TYPE_CHECKING:
    from comfyfleet import settings, tenants
    from comfyfleet.house import House
    from comfyfleet.tenants import User, credentials
else:
    credentials = Late("comfyfleet.tenants.credentials")
    settings = Late("comfyfleet.settings")
    tenants = Late("comfyfleet.tenants")

app = typer.Typer()

COLUMNS = ["id", "email", "role", "status"]
Email = Annotated[str, typer.Argument(help="Email address.")]
PasswordStdin = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input.")]


@app.command("create")
def create(
    email: Email,
    tenant: Annotated[str | None, typer.Option(help="Slug or id; none for an operator.")] = None,
    role: Annotated[RoleChoice, typer.Option(help="What the user may do.")] = "member",
    password_stdin: PasswordStdin = False,
    as_json: AsJson = False,
) -> None:
    """Create a user. Without a password a one-time link is shown by which the user chooses one.

    The link is printed to a terminal; anywhere else it goes into a private file under the home.
    """
    invite_ttl_s = settings.load_settings().invite_ttl_s
    password = _read_password() if password_stdin else None

    async def work(house: House) -> tuple[User, str | None]:
        password_hash = await credentials.hash_password(password) if password else None
        async with house.control_tx() as tx:
            tenant_id = (await tenants.find_tenant(tx, tenant)).id if tenant else None
            user = await tenants.create_user(
                tx, email=email, role=tenants.Role(role), tenant_id=tenant_id, password_hash=password_hash
            )
            link = None if password else await credentials.make_link(tx, user, ttl_s=invite_ttl_s)
            await record(house, tx, "user.create", user.id, email=user.email, role=role, tenant_id=tenant_id)
        return user, house.links.url(link) if link else None

    user, url = in_house(work, makes_secret=password is None and not as_json)
    sentence = f"Created {user.role} {user.email} ({user.id})."
    if url is None:
        print_one(user, as_json=as_json, sentence=sentence)
    else:
        print_secret(user, as_json=as_json, sentence=sentence, file=f"link-{user.id}", link=url)


@app.command("list")
def list_all(
    tenant: Annotated[str | None, typer.Option(help="Slug or id; none lists the operators.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the newest hundred users of a tenant."""

    async def work(house: House) -> list[User]:
        async with house.control_tx(read_only=True) as tx:
            tenant_id = (await tenants.find_tenant(tx, tenant)).id if tenant else None
            return (await tenants.list_users(tx, tenant_id, PageRequest(rows=PAGE_ROWS_MAX))).rows

    print_rows("Users", in_house(work), COLUMNS, as_json=as_json)


@app.command("set-password")
def set_password(
    email: Email,
    password_stdin: PasswordStdin = False,
    revoke_keys: Annotated[bool, typer.Option("--revoke-keys", help="Also revoke all keys of the user.")] = False,
    as_json: AsJson = False,
) -> None:
    """Set a password (asked for, twice). All of the user's sessions end."""
    password = _read_password() if password_stdin else _ask_password()

    async def work(house: House) -> tuple[User, int]:
        password_hash = await credentials.hash_password(password)
        async with house.control_tx() as tx:
            user = await tenants.find_user(tx, email)
            changed, revoked = await credentials.replace_password(
                tx, user, password_hash=password_hash, revoke_keys=revoke_keys
            )
            await record(house, tx, "user.set_password", user.id, email=user.email, keys_revoked=revoked)
            return changed, revoked

    user, revoked = in_house(work)
    keys = f"; keys revoked: {revoked}" if revoke_keys else ""
    print_one(user, as_json=as_json, sentence=f"{user.email} has a new password; all sessions ended{keys}.")


@app.command("create-link")
def create_link(email: Email, as_json: AsJson = False) -> None:
    """Show a one-time link by which the user chooses a new password.

    It is printed to a terminal; anywhere else it goes into a private file under the home.
    """
    ttl_s = settings.load_settings().password_reset_ttl_s

    async def work(house: House) -> tuple[User, str]:
        async with house.control_tx() as tx:
            user = await tenants.find_user(tx, email)
            link = await credentials.make_link(tx, user, ttl_s=ttl_s)
            await record(house, tx, "user.reset_link", user.id, email=user.email)
            return user, house.links.url(link)

    user, url = in_house(work, makes_secret=not as_json)
    sentence = f"Works once, for {seconds_text(ttl_s)}:"
    print_secret(user, as_json=as_json, sentence=sentence, file=f"link-{user.id}", link=url)


@app.command("disable")
def disable(email: Email, as_json: AsJson = False) -> None:
    """Shut a user out: keys and sessions stop at once."""
    _change(email, tenants.disable_user, "user.disable", as_json=as_json)


@app.command("enable")
def enable(email: Email, as_json: AsJson = False) -> None:
    """Let a disabled user in again."""
    _change(email, tenants.enable_user, "user.enable", as_json=as_json)


def _change(email: str, verb: Callable[..., Awaitable[User]], action: str, *, as_json: bool) -> None:
    async def work(house: House) -> User:
        async with house.control_tx() as tx:
            user = await tenants.find_user(tx, email)
            changed = await verb(tx, user.id, within=user.tenant_id)
            await record(house, tx, action, user.id, email=user.email)
            return changed

    user = in_house(work)
    print_one(user, as_json=as_json, sentence=f"{user.email} is {user.status}.")


def _read_password() -> Secret:
    return Secret(sys.stdin.readline().rstrip("\r\n"))


def _ask_password() -> Secret:
    if not sys.stdin.isatty():
        raise InvalidInput("password", "there is no terminal to ask on; use --password-stdin")
    return Secret(typer.prompt("New password", hide_input=True, confirmation_prompt=True))
