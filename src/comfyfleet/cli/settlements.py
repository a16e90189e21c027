"""`comfyfleet settlements`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from comfyfleet.cli.acting import record
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json
from comfyfleet.cli.running import in_house
from comfyfleet.cli.tables import ago, print_table
from comfyfleet.kernel.ids import SettlementId
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest

if TYPE_CHECKING:
    from comfyfleet.dispatch import settlements
    from comfyfleet.dispatch.settlements import Settlement
    from comfyfleet.house import House
else:
    settlements = Late("comfyfleet.dispatch.settlements")

app = typer.Typer()

BECAUSE_CHARS = 80


@app.command("list")
def list_all(as_json: AsJson = False) -> None:
    """List the newest hundred that are parked."""

    async def work(house: House) -> list[Settlement]:
        async with house.control_tx(read_only=True) as tx:
            return (await settlements.list_parked(tx, PageRequest(rows=PAGE_ROWS_MAX))).rows

    found = in_house(work)
    if as_json:
        print_json([plain(each) for each in found])
        return
    columns = {
        "id": lambda each: each.id,
        "dispatch": lambda each: each.dispatch_id,
        "outcome": lambda each: each.outcome,
        "pool": lambda each: each.pool,
        "tries": lambda each: each.tries,
        "parked": lambda each: ago(each.parked_at),
        "because": lambda each: each.last_error and each.last_error[:BECAUSE_CHARS],
    }
    print_table("Parked settlements", found, columns)


@app.command("replay")
def replay(
    settlement_id: Annotated[UUID, typer.Argument(metavar="ID", help="Id, as listed.")], as_json: AsJson = False
) -> None:
    """Try a parked settlement again, once what was in its way is gone."""

    async def work(house: House) -> None:
        async with house.control_tx() as tx:
            await settlements.replay_parked(tx, SettlementId(settlement_id))
            await record(house, tx, "settlement.replay", settlement_id)

    in_house(work)
    if as_json:
        print_json({"id": str(settlement_id), "replayed": True})
    else:
        typer.echo(f"Settlement {settlement_id} is due again; the server applies it within seconds.")
