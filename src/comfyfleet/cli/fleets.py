"""`comfyfleet fleets`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from comfyfleet.cli.acting import record
from comfyfleet.cli.fleet_scaling import resume_launches, scale, show_scaling
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json, print_one
from comfyfleet.cli.running import in_house
from comfyfleet.cli.shown_once import keep_secret, on_terminal, tell_file
from comfyfleet.cli.tables import ago, print_facts, print_table
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import new_id
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest

if TYPE_CHECKING:
    from comfyfleet import fleet, workflows
    from comfyfleet.db import ControlTx
    from comfyfleet.fleet import Fleet, FleetDetail
    from comfyfleet.house import House
else:
    fleet = Late("comfyfleet.fleet")
    workflows = Late("comfyfleet.workflows")

app = typer.Typer()

Name = Annotated[str, typer.Argument(metavar="FLEET", help="Slug and stage, such as video/production.")]
WorkflowSlug = Annotated[str, typer.Argument(help="Slug of the workflow.")]


@app.command("list")
def list_all(as_json: AsJson = False) -> None:
    """List the newest hundred fleets: what each may run, and how many workers are at work."""

    async def work(house: House) -> list[FleetDetail]:
        async with house.control_tx(read_only=True) as tx:
            found = (await fleet.list_fleets(tx, PageRequest(rows=PAGE_ROWS_MAX))).rows
            return [await fleet.show_fleet(tx, each.id) for each in found]

    found = in_house(work)
    if as_json:
        print_json([plain(each) for each in found])
        return
    columns = {
        "fleet": lambda each: full_name(each.fleet),
        "name": lambda each: each.fleet.name,
        "workers": _counted,
        "workflows": lambda each: ", ".join(one.workflow for one in each.assignments if one.is_active),
        "made": lambda each: ago(each.fleet.created_at),
    }
    print_table("Fleets", found, columns)


@app.command("show")
def show(name: Name, as_json: AsJson = False) -> None:
    """One fleet, with every workflow that is or was assigned to it."""

    async def work(house: House) -> FleetDetail:
        async with house.control_tx(read_only=True) as tx:
            return await fleet.show_fleet(tx, (await find(tx, name)).id)

    found = in_house(work)
    if as_json:
        print_json(plain(found))
        return
    print_facts(
        {
            "fleet": full_name(found.fleet),
            "name": found.fleet.name,
            "id": found.fleet.id,
            "workers": _counted(found),
            "scales from zero": "yes" if found.fleet.scales_from_zero else "no",
            "made": ago(found.fleet.created_at),
        }
    )
    columns = {
        "workflow": lambda each: each.workflow,
        "assigned": lambda each: "yes" if each.is_active else "no",
        "workflow is active": lambda each: "yes" if each.workflow_is_active else "no",
    }
    print_table("\nWorkflows", found.assignments, columns)


@app.command("create")
def create(
    name: Name,
    title: Annotated[str | None, typer.Option("--name", help="Full name. Default: the slug.")] = None,
    scales_from_zero: Annotated[
        bool,
        typer.Option("--scales-from-zero", help="Its machines are started when there is work: sell its effects now."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Create a fleet."""
    slug, stage = split(name)

    async def work(house: House) -> Fleet:
        async with house.control_tx() as tx:
            made = await fleet.create_fleet(
                tx, slug=slug, stage=stage, name=title or slug, scales_from_zero=scales_from_zero
            )
            await record(house, tx, "fleet.create", full_name(made))
            return made

    made = in_house(work)
    sentence = f"Created fleet {full_name(made)}. Next: comfyfleet fleets assign {full_name(made)} WORKFLOW"
    print_one(made, as_json=as_json, sentence=sentence)


@app.command("assign")
def assign(name: Name, workflow: WorkflowSlug, as_json: AsJson = False) -> None:
    """Let the fleet's workers run a workflow, from their next poll on."""
    made = _assign(name, workflow, is_active=True)
    print_one(made, as_json=as_json, sentence=f"Workers of {full_name(made)} may run {workflow}.")


@app.command("unassign")
def unassign(name: Name, workflow: WorkflowSlug, as_json: AsJson = False) -> None:
    """Give a workflow to the fleet's workers no more. What runs already runs on."""
    made = _assign(name, workflow, is_active=False)
    print_one(made, as_json=as_json, sentence=f"Workers of {full_name(made)} get {workflow} no more.")


@app.command("set-scaling")
def set_scaling(
    name: Name,
    from_zero: Annotated[
        bool, typer.Option("--from-zero/--not-from-zero", help="Whether machines are started when there is work.")
    ],
    as_json: AsJson = False,
) -> None:
    """Say whether the fleet scales from zero: then its effects are sold while it has no worker.

    What its last machines could run is sold; their jobs wait until a machine has started.
    """

    async def work(house: House) -> Fleet:
        async with house.control_tx() as tx:
            found = await find(tx, name)
            made = await fleet.set_scaling(tx, found.id, scales_from_zero=from_zero)
            await record(house, tx, "fleet.scaling", full_name(made), scales_from_zero=from_zero)
        house.desk.assignments_changed()
        return made

    made = in_house(work)
    verb = "scales" if from_zero else "does not scale"
    print_one(made, as_json=as_json, sentence=f"Fleet {full_name(made)} {verb} from zero.")


app.command("scale")(scale)
app.command("show-scaling")(show_scaling)
app.command("resume-launches")(resume_launches)


@app.command("show-command")
def show_command(
    name: Name,
    new_secret: Annotated[
        bool, typer.Option("--new-secret", help="Make a secret of this fleet and fill it in.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print the exact command that starts a worker for a fleet."""

    async def work(house: House) -> str:
        async with house.control_tx(read_only=not new_secret) as tx:
            found, secret = await find(tx, name), None
            if new_secret:
                made, secret = await fleet.make_fleet_secret(tx, name=f"for {full_name(found)}", fleet_id=found.id)
                await record(house, tx, "fleet_secret.create", made.id, named=made.name, fleet=made.fleet)
        return fleet.start_command(found, control_plane_url=house.links.public_url, secret=secret)

    line = in_house(work, makes_secret=new_secret and not as_json)
    if as_json:
        print_json({"command": line})
    elif new_secret and not on_terminal():
        typer.echo(f"The command for {name} holds its new secret.")
        tell_file(keep_secret(line, f"command-{name}-{new_id()}"))
    else:
        # Not through Rich: it must come out in one piece, to be copied.
        typer.echo(line)


def _assign(name: str, workflow: str, *, is_active: bool) -> Fleet:
    async def work(house: House) -> Fleet:
        async with house.control_tx() as tx:
            found = await find(tx, name)
            chosen = await workflows.find_workflow(tx, workflow)
            await fleet.assign_workflow(tx, found.id, chosen.id, is_active=is_active)
            verb = "assign" if is_active else "unassign"
            await record(house, tx, f"fleet.{verb}", full_name(found), workflow=workflow)
        house.desk.assignments_changed()
        return found

    return in_house(work)


def _counted(found: FleetDetail) -> str:
    return ", ".join(f"{count} {status}" for status, count in found.workers.items() if count)


def full_name(found: Fleet) -> str:
    return f"{found.slug}/{found.stage}"


def split(name: str) -> tuple[str, str]:
    slug, slash, stage = name.partition("/")
    if not slash:
        raise InvalidInput("fleet", f"name it by slug and stage, such as {slug or 'video'}/production")
    return slug, stage


async def find(tx: ControlTx, name: str) -> Fleet:
    return await fleet.find_fleet_named(tx, name)
