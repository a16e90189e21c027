"""`comfyfleet blocks`"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from comfyfleet.cli.acting import record
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json, print_one
from comfyfleet.cli.running import in_house
from comfyfleet.cli.show_worker import BLOCKS
from comfyfleet.cli.tables import print_table, short
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import WorkerId
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest

if TYPE_CHECKING:
    from comfyfleet import dispatch, fleet
    from comfyfleet.db import ControlTx
    from comfyfleet.dispatch import ListedBlock, matching
    from comfyfleet.house import House
else:
    dispatch = Late("comfyfleet.dispatch")
    fleet = Late("comfyfleet.fleet")
    matching = Late("comfyfleet.dispatch.matching")

app = typer.Typer()


@dataclass(frozen=True)
class Cleared:
    worker: str
    structure_hash: str


@app.command("list")
def list_all(
    worker: Annotated[str | None, typer.Option(help="Only of this worker.")] = None, as_json: AsJson = False
) -> None:
    """List the blocks of a hundred workers."""

    async def work(house: House) -> list[ListedBlock]:
        async with house.control_tx(read_only=True) as tx:
            worker_id = (await fleet.get_worker(tx, worker)).id if worker else None
            return (await dispatch.list_blocks(tx, PageRequest(rows=PAGE_ROWS_MAX), worker_id=worker_id)).rows

    found = in_house(work)
    if as_json:
        print_json([plain(each) for each in found])
    else:
        print_table("Blocks", found, {"worker": lambda each: each.worker, **BLOCKS})


@app.command("clear")
def clear(
    worker: Annotated[str, typer.Argument(help="As the worker calls itself.")],
    structure_hash: Annotated[str, typer.Argument(help="As listed, or its first letters; '*' is every one.")],
    as_json: AsJson = False,
) -> None:
    """Let a worker have a structure again from its next poll on; its failures are forgotten."""

    async def work(house: House) -> Cleared:
        async with house.control_tx() as tx:
            row_id = (await fleet.get_worker(tx, worker)).id
            meant = await _meant(tx, row_id, structure_hash)
            await dispatch.clear_block(tx, row_id, meant)
            await record(house, tx, "block.clear", worker, structure_hash=meant)
            return Cleared(worker, meant)

    cleared = in_house(work)
    what = "all its structures" if cleared.structure_hash == matching.EVERY_STRUCTURE else short(cleared.structure_hash)
    print_one(cleared, as_json=as_json, sentence=f"Worker {worker} gets {what} again.")


async def _meant(tx: ControlTx, worker_id: WorkerId, said: str) -> str:
    """The one block whose structure starts with what was typed."""
    page = await dispatch.list_blocks(tx, PageRequest(rows=PAGE_ROWS_MAX), worker_id=worker_id)
    found = [each.structure_hash for each in page.rows if each.structure_hash.startswith(said)]
    if said in found or not found:
        return said
    if len(found) > 1:
        raise InvalidInput("structure_hash", f"{said!r} starts {len(found)} of this worker's blocks; type more of it")
    return found[0]
