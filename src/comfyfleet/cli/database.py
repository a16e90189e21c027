"""`comfyfleet db`: bring the schema up to date, over the central database and every pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, print_rows
from comfyfleet.cli.running import in_house
from comfyfleet.kernel.errors import SchemaTrouble

if TYPE_CHECKING:
    from comfyfleet import bootstrap
    from comfyfleet.db import migrate
    from comfyfleet.house import House
else:
    bootstrap = Late("comfyfleet.bootstrap")
    migrate = Late("comfyfleet.db.migrate")

app = typer.Typer()

COLUMNS = ["database", "history", "state", "detail"]


@dataclass(frozen=True)
class Line:
    database: str
    history: str
    state: str
    detail: str

    @property
    def failed(self) -> bool:
        return self.state in ("failed", "differs", "behind")


@app.command("upgrade")
def upgrade_all(as_json: AsJson = False, quiet: Annotated[bool, typer.Option(help="No progress bar.")] = False) -> None:
    """Run what is pending. A database that does not answer is named at the end; the others are upgraded."""
    lines = in_house(lambda house: upgrade_databases(house, show=not (as_json or quiet)), any_schema=True)
    _finish("Upgrade", lines, as_json=as_json)


@app.command("show")
def show_current(as_json: AsJson = False) -> None:
    """Which revision each database is at."""
    lines = in_house(_current, any_schema=True)
    _finish("Revisions", lines, as_json=as_json)


@app.command("check")
def check_all(as_json: AsJson = False) -> None:
    """Compare each database with the tables in this code."""
    lines = in_house(_check, any_schema=True)
    _finish("Schema", lines, as_json=as_json)


async def upgrade_databases(house: House, *, show: bool) -> list[Line]:
    """One after another: a pool that is down costs its own time-out and nothing else."""
    lines = []
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not show) as progress:
        task = progress.add_task("upgrading", total=len(bootstrap.databases_of(house)))
        for database, history in bootstrap.databases_of(house):
            progress.update(task, description=f"upgrading {database.name}")
            try:
                done = await migrate.upgrade(database, history)
                detail = f"{done.before or 'empty'} → {done.after}" if done.moved else f"at {done.after}"
                lines.append(Line(database.name, history.name, "upgraded" if done.moved else "current", detail))
            except SchemaTrouble as trouble:
                lines.append(Line(database.name, history.name, "failed", str(trouble.facts["problem"])))
            progress.advance(task)
    return lines


async def _current(house: House) -> list[Line]:
    lines = []
    for database, history in bootstrap.databases_of(house):
        try:
            found = await migrate.current(database, history)
            state = "current" if found == history.head() else "behind"
            lines.append(Line(database.name, history.name, state, f"{found or 'empty'} (newest {history.head()})"))
        except SchemaTrouble as trouble:
            lines.append(Line(database.name, history.name, "failed", str(trouble.facts["problem"])))
    return lines


async def _check(house: House) -> list[Line]:
    lines = []
    for database, history in bootstrap.databases_of(house):
        try:
            found = await migrate.differences(database, history)
            lines.append(Line(database.name, history.name, "differs" if found else "same", "\n".join(found)))
        except SchemaTrouble as trouble:
            lines.append(Line(database.name, history.name, "failed", str(trouble.facts["problem"])))
    return lines


def _finish(title: str, lines: list[Line], *, as_json: bool) -> None:
    print_rows(title, lines, COLUMNS, as_json=as_json)
    if any(line.failed for line in lines):
        raise typer.Exit(6)
