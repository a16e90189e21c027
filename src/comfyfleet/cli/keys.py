"""`comfyfleet keys`"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from comfyfleet.cli.acting import record
from comfyfleet.cli.choices import ScopeChoice
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, print_one, print_rows
from comfyfleet.cli.running import in_house
from comfyfleet.cli.shown_once import print_secret
from comfyfleet.kernel.ids import KeyId
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest

if TYPE_CHECKING:
    from comfyfleet import tenants
    from comfyfleet.house import House
    from comfyfleet.tenants import ApiKey, credentials, model
    from comfyfleet.tenants.credentials import NewKey, RevokedKey
else:
    credentials = Late("comfyfleet.tenants.credentials")
    model = Late("comfyfleet.tenants.model")
    tenants = Late("comfyfleet.tenants")

app = typer.Typer()

COLUMNS = ["id", "name", "scopes", "made_via", "made_by", "revoked_at", "last_used_at"]
Email = Annotated[str, typer.Argument(help="Email of the user the key acts for.")]


@app.command("create")
def create(
    email: Email,
    name: Annotated[str, typer.Option(help="What it is for.")] = "command line",
    scope: Annotated[list[ScopeChoice] | None, typer.Option(help="Repeatable. Default: all the role allows.")] = None,
    expires_in_days: Annotated[float | None, typer.Option(min=0.001, max=3650, help="Default: never.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key. It is shown once; only its hash is kept.

    It is printed to a terminal; anywhere else it goes into a private file under the home, or use --json.
    """

    async def work(house: House) -> NewKey:
        async with house.control_tx() as tx:
            user = await tenants.find_user(tx, email)
            scopes = frozenset(map(tenants.Scope, scope)) if scope else model.SCOPES[user.role]
            lifetime_s = expires_in_days * 86_400 if expires_in_days is not None else None
            made = await credentials.create_key(tx, user, name=name, scopes=scopes, lifetime_s=lifetime_s)
            await record(house, tx, "key.create", made.key.id, email=email, scopes=sorted(scopes))
            return made

    made = in_house(work, makes_secret=not as_json)
    sentence = f"Key {made.key.prefix} for {email}; it is not shown again:"
    file = f"key-{made.key.prefix}"
    print_secret(made.key, as_json=as_json, sentence=sentence, file=file, secret=made.secret.reveal())


@app.command("list")
def list_all(email: Email, as_json: AsJson = False) -> None:
    """List the newest hundred keys of a user."""

    async def work(house: House) -> list[ApiKey]:
        async with house.control_tx(read_only=True) as tx:
            user = await tenants.find_user(tx, email)
            return (await credentials.list_keys(tx, user.id, PageRequest(rows=PAGE_ROWS_MAX))).rows

    print_rows(f"Keys of {email}", in_house(work), COLUMNS, as_json=as_json)


@app.command("revoke")
def revoke(
    key_id: Annotated[UUID, typer.Argument(help="Id, as listed.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask, whatever goes with it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop a key, and every key that was made with it, at once and for good."""

    async def look(house: House) -> int:
        async with house.control_tx(read_only=True) as tx:
            key = await credentials.get_key(tx, KeyId(key_id))
            return (await credentials.count_made_with(tx, key.user_id, [key.id]))[key.id]

    async def work(house: House) -> RevokedKey:
        async with house.control_tx() as tx:
            revoked = await credentials.revoke_key(tx, KeyId(key_id))
            await record(house, tx, "key.revoke", key_id, also_revoked=revoked.also_revoked)
            return revoked

    if not yes and not as_json and sys.stdin.isatty() and (count := in_house(look)):
        typer.confirm(f"Keys that were made with it and go with it: {count}. Revoke?", default=True, abort=True)
    done = in_house(work)
    rest = f" Keys made with it that are revoked, too: {done.also_revoked}." if done.also_revoked else ""
    sentence = f"Key {done.key.prefix} ({done.key.name}) is revoked.{rest}"
    print_one(done.key, as_json=as_json, sentence=sentence, also_revoked=str(done.also_revoked))
