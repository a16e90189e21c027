"""`comfyfleet workers`"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from comfyfleet.cli.acting import record
from comfyfleet.cli.choices import WorkerStatusChoice
from comfyfleet.cli.fleets import find
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json, print_one
from comfyfleet.cli.running import in_house
from comfyfleet.cli.show_worker import print_worker, read_worker
from comfyfleet.cli.shown_once import print_secret
from comfyfleet.cli.tables import ago, print_table
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest
from comfyfleet.kernel.secret import Secret

if TYPE_CHECKING:
    from comfyfleet import dispatch, fleet
    from comfyfleet.fleet import ListedWorker, WorkerEvent
    from comfyfleet.house import House
else:
    dispatch = Late("comfyfleet.dispatch")
    fleet = Late("comfyfleet.fleet")

app = typer.Typer()

Name = Annotated[str, typer.Argument(metavar="WORKER", help="As the worker calls itself.")]


@dataclass(frozen=True)
class Revoked:
    worker: ListedWorker
    leases_returned: int


@app.command("list")
def list_all(
    status: Annotated[WorkerStatusChoice | None, typer.Option(help="Only in this state.")] = None,
    of_fleet: Annotated[
        str | None, typer.Option("--fleet", help="Only of this fleet, such as video/production.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the newest hundred workers."""

    async def work(house: House) -> list[ListedWorker]:
        async with house.control_tx(read_only=True) as tx:
            fleet_id = (await find(tx, of_fleet)).id if of_fleet else None
            wanted = fleet.WorkerFilter(fleet.WorkerStatus(status) if status else None, fleet_id)
            return (await fleet.list_workers(tx, PageRequest(rows=PAGE_ROWS_MAX), wanted)).rows

    found = in_house(work)
    if as_json:
        print_json([plain(each) for each in found])
        return
    columns = {
        "worker": lambda each: each.worker_id,
        "fleet": lambda each: each.fleet,
        "status": lambda each: each.status,
        "leases": lambda each: each.open_leases,
        "load": lambda each: f"{each.current_load} of {each.max_concurrency}",
        "seen": lambda each: ago(each.last_seen_at),
    }
    print_table("Workers", found, columns)


@app.command("show")
def show(name: Name, as_json: AsJson = False) -> None:
    """One worker: what it may run, what it holds, what it is kept from, and its latest attempts."""
    found = in_house(lambda house: read_worker(house, name))
    if as_json:
        print_json(plain(found))
    else:
        print_worker(found)


@app.command("approve")
def approve(name: Name, as_json: AsJson = False) -> None:
    """Let a worker take work; one that was revoked may register again."""
    _move(name, fleet.WorkerEvent.APPROVE, as_json=as_json)


@app.command("drain")
def drain(name: Name, as_json: AsJson = False) -> None:
    """Let a worker finish what it holds, and give it nothing new."""
    _move(name, fleet.WorkerEvent.DRAIN, as_json=as_json)


@app.command("undrain")
def undrain(name: Name, as_json: AsJson = False) -> None:
    """End a drain: the worker takes work again."""
    _move(name, fleet.WorkerEvent.APPROVE, as_json=as_json)


@app.command("revoke")
def revoke(name: Name, as_json: AsJson = False) -> None:
    """Shut a worker out: its token is dead, and its leases go back to the queue at once."""

    async def work(house: House) -> Revoked:
        async with house.control_tx() as tx:
            worker = await fleet.move_worker(tx, name, fleet.WorkerEvent.REVOKE)
            returned = await dispatch.return_leases(tx, worker.id, "revoked")
            shown = (await fleet.show_worker(tx, name)).worker
            await record(house, tx, "worker.revoke", name, leases_returned=len(returned))
        house.desk.worker_changed(name)
        house.desk.taken_back(returned)
        return Revoked(shown, len(returned))

    done = in_house(work)
    sentence = f"Worker {name} is revoked; leases that went back to the queue: {done.leases_returned}."
    print_one(done, as_json=as_json, sentence=sentence)


@app.command("forget")
def forget(name: Name, as_json: AsJson = False) -> None:
    """Free the name of a worker that is away, for any fleet. Its attempts stay in the history of their jobs."""

    async def work(house: House) -> ListedWorker:
        async with house.control_tx() as tx:
            shown = (await fleet.show_worker(tx, name)).worker
            forgotten = await fleet.forget_worker(tx, name, rules=house.fleet_rules)
            returned = await dispatch.return_leases(tx, forgotten.id, "forgotten")
            await dispatch.forget_workerless_blocks(tx)
            await record(house, tx, "worker.forget", name, fleet=shown.fleet, leases_returned=len(returned))
        house.desk.worker_changed(name)
        house.desk.taken_back(returned)
        return shown

    print_one(in_house(work), as_json=as_json, sentence=f"Worker {name} is forgotten: its name is free.")


@app.command("rotate-token")
def rotate_token(name: Name, as_json: AsJson = False) -> None:
    """Give a worker a new token, shown once. The old one stops at once; its leases stay.

    Put the new token into the file worker.token of the worker's folder and start it again: it is back at once.
    It is printed to a terminal; anywhere else it goes into a private file under the home, or use --json.
    """

    async def work(house: House) -> tuple[ListedWorker, Secret]:
        async with house.control_tx() as tx:
            token = await fleet.rotate_token(tx, name)
            shown = (await fleet.show_worker(tx, name)).worker
            await record(house, tx, "worker.rotate_token", name)
            return shown, token

    worker, token = in_house(work, makes_secret=not as_json)
    sentence = f"New token of {name}; it is not shown again:"
    print_secret(worker, as_json=as_json, sentence=sentence, file=f"token-of-{name}", token=token.reveal())


def _move(name: str, event: WorkerEvent, *, as_json: bool) -> None:
    async def work(house: House) -> ListedWorker:
        async with house.control_tx() as tx:
            await fleet.move_worker(tx, name, event)
            shown = (await fleet.show_worker(tx, name)).worker
            await record(house, tx, f"worker.{event}", name)
        house.desk.worker_changed(name)
        return shown

    worker = in_house(work)
    rest = f" Leases it still holds: {worker.open_leases}." if event is fleet.WorkerEvent.DRAIN else ""
    print_one(worker, as_json=as_json, sentence=f"Worker {name} is {worker.status}.{rest}")
