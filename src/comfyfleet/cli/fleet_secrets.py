"""`comfyfleet fleet-secrets`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from comfyfleet.cli.acting import record
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json, print_one
from comfyfleet.cli.running import in_house
from comfyfleet.cli.shown_once import print_secret
from comfyfleet.cli.tables import ago, print_table
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest
from comfyfleet.kernel.secret import Secret

if TYPE_CHECKING:
    from comfyfleet import fleet
    from comfyfleet.fleet import FleetSecret
    from comfyfleet.house import House
else:
    fleet = Late("comfyfleet.fleet")

app = typer.Typer()


@app.command("list")
def list_all(as_json: AsJson = False) -> None:
    """List the newest hundred, by name only."""

    async def work(house: House) -> list[FleetSecret]:
        async with house.control_tx(read_only=True) as tx:
            return (await fleet.list_fleet_secrets(tx, PageRequest(rows=PAGE_ROWS_MAX))).rows

    found = in_house(work)
    if as_json:
        print_json([plain(each) for each in found])
        return
    columns = {
        "id": lambda each: each.id,
        "name": lambda each: each.name,
        "fleet": lambda each: each.fleet or "any",
        "own workflows": lambda each: "yes" if each.allows_workflows else "no",
        "made": lambda each: ago(each.created_at),
        "retired": lambda each: ago(each.retired_at),
    }
    print_table("Fleet secrets", found, columns)
    if unscoped := [each.name for each in found if not each.has_scope and each.retired_at is None]:
        typer.echo(
            f"Made before secrets had a scope: {', '.join(unscoped)}. Each opens every fleet and every workflow. "
            "Make one for each fleet (--fleet), give it to the machines, and retire the old one."
        )


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="What it is for, such as 'gpu room, autumn'.")],
    of_fleet: Annotated[
        str | None, typer.Option("--fleet", help="The fleet that it opens, such as video/production.")
    ] = None,
    any_fleet: Annotated[bool, typer.Option("--any-fleet", help="It opens every fleet.")] = False,
    allow_workflows: Annotated[
        bool,
        typer.Option(
            "--allow-workflows", help="Its workers may name workflows of their own (`comfyfleet worker --workflow`)."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a secret for one fleet, or for any. It is shown once; only its hash is kept.

    It is printed to a terminal; anywhere else it goes into a private file under the home, or use --json.
    """

    async def work(house: House) -> tuple[FleetSecret, Secret]:
        async with house.control_tx() as tx:
            made, secret = await fleet.make_fleet_secret(
                tx,
                name=name,
                fleet_id=await fleet.secret_scope(tx, fleet=of_fleet, any_fleet=any_fleet),
                allows_workflows=allow_workflows,
            )
            facts = {"named": made.name, "fleet": made.fleet or "any", "allows_workflows": made.allows_workflows}
            await record(house, tx, "fleet_secret.create", made.id, **facts)
            return made, secret

    made, secret = in_house(work, makes_secret=not as_json)
    opens = made.fleet or "any fleet"
    sentence = f"Fleet secret {name!r} for {opens} ({made.id}); it is not shown again:"
    file = f"fleet-secret-{made.id}"
    print_secret(made, as_json=as_json, sentence=sentence, file=file, secret=secret.reveal())


@app.command("retire")
def retire(
    secret_id: Annotated[UUID, typer.Argument(metavar="ID", help="Id, as listed.")], as_json: AsJson = False
) -> None:
    """No more registrations by it. Workers that are registered keep their own tokens."""

    async def work(house: House) -> FleetSecret:
        async with house.control_tx() as tx:
            retired = await fleet.retire_fleet_secret(tx, secret_id)
            await record(house, tx, "fleet_secret.retire", secret_id, named=retired.name)
            return retired

    retired = in_house(work)
    print_one(retired, as_json=as_json, sentence=f"Fleet secret {retired.name!r} is retired.")
