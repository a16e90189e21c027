"""`comfyfleet fleet-secrets`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from comfyfleet.cli.acting import record
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json, print_one
from comfyfleet.cli.running import in_house
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
        "made": lambda each: ago(each.created_at),
        "retired": lambda each: ago(each.retired_at),
    }
    print_table("Fleet secrets", found, columns)


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="What it is for, such as 'gpu room, autumn'.")],
    as_json: AsJson = False,
) -> None:
    """Make a secret. It is printed once; only its hash is kept."""

    async def work(house: House) -> tuple[FleetSecret, Secret]:
        async with house.control_tx() as tx:
            made, secret = await fleet.make_fleet_secret(tx, name=name)
            await record(house, tx, "fleet_secret.create", made.id, named=name)
            return made, secret

    made, secret = in_house(work)
    sentence = f"Fleet secret {name!r} ({made.id}); it is not shown again:"
    print_one(made, as_json=as_json, sentence=sentence, secret=secret.reveal())


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
