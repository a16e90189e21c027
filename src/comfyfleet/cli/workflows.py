"""`comfyfleet workflows`"""

from pathlib import Path
from typing import Annotated

import typer

from comfyfleet import workflows
from comfyfleet.cli.acting import record
from comfyfleet.cli.output import AsJson, plain, print_json, print_one
from comfyfleet.cli.running import in_house
from comfyfleet.cli.tables import ago, print_table, short
from comfyfleet.house import House
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest
from comfyfleet.workflows import Workflow

app = typer.Typer(no_args_is_help=True, help="Workflows: registered ComfyUI graphs.")

Slug = Annotated[str, typer.Argument(help="Short name, such as face-swap.")]


@app.command("list")
def list_all(as_json: AsJson = False) -> None:
    """List the newest hundred workflows."""

    async def work(house: House) -> list[Workflow]:
        async with house.control_tx(read_only=True) as tx:
            return (await workflows.list_workflows(tx, PageRequest(rows=PAGE_ROWS_MAX))).rows

    found = in_house(work)
    if as_json:
        print_json([plain(each) for each in found])
        return
    columns = {
        "slug": lambda each: each.slug,
        "name": lambda each: each.name,
        "active": lambda each: "yes" if each.is_active else "no",
        "run deadline": lambda each: f"{each.run_deadline_s:g} s" if each.run_deadline_s else None,
        "structure": lambda each: short(each.structure_hash),
        "made": lambda each: ago(each.created_at),
    }
    print_table("Workflows", found, columns)


@app.command("add")
def add(
    slug: Slug,
    graph: Annotated[Path, typer.Argument(help="File written by ComfyUI's 'Save (API format)'.")],
    name: Annotated[str | None, typer.Option(help="Full name. Default: the slug.")] = None,
    structure_hash: Annotated[str | None, typer.Option(help="Default: made from the whole graph.")] = None,
    run_deadline_s: Annotated[int | None, typer.Option(min=1, help="Default: the setting of that name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Register a graph. No worker gets it before it is assigned to a fleet."""
    written = _read(graph)

    async def work(house: House) -> Workflow:
        async with house.control_tx() as tx:
            made = await workflows.add_workflow(
                tx,
                slug=slug,
                name=name or slug,
                graph=written,
                structure_hash=structure_hash,
                run_deadline_s=run_deadline_s,
            )
            await record(house, tx, "workflow.add", slug, structure_hash=made.structure_hash)
            return made

    made = in_house(work)
    sentence = f"Added workflow {slug}. Next: comfyfleet fleets assign FLEET {slug}"
    print_one(made, as_json=as_json, sentence=sentence)


@app.command("activate")
def activate(slug: Slug, as_json: AsJson = False) -> None:
    """Give it to workers again."""
    _set_active(slug, is_active=True, as_json=as_json)


@app.command("deactivate")
def deactivate(slug: Slug, as_json: AsJson = False) -> None:
    """Give it to no worker; what waits for it waits on."""
    _set_active(slug, is_active=False, as_json=as_json)


def _set_active(slug: str, *, is_active: bool, as_json: bool) -> None:
    verb = "activate" if is_active else "deactivate"

    async def work(house: House) -> Workflow:
        async with house.control_tx() as tx:
            changed = await workflows.set_workflow_active(tx, slug, is_active=is_active)
            await record(house, tx, f"workflow.{verb}", slug)
            return changed

    print_one(in_house(work), as_json=as_json, sentence=f"Workflow {slug} is {'active' if is_active else 'inactive'}.")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InvalidInput("graph", f"cannot read {path} ({problem.strerror})") from None
