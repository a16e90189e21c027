"""`comfyfleet …`"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from comfyfleet import __version__
from comfyfleet.cli import (
    audit_log,
    blocks,
    comfy,
    database,
    dispatches,
    effects,
    fleet_secrets,
    fleets,
    keys,
    settlements,
    tenants,
    users,
    wallets,
    workers,
    workflows,
)
from comfyfleet.cli.audit import run_audit
from comfyfleet.cli.errors import exit_code, print_error
from comfyfleet.cli.output import AsJson
from comfyfleet.kernel.errors import FleetError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Run ComfyUI as a fleet. Start with: comfyfleet up",
)
app.add_typer(database.app, name="db")
app.add_typer(tenants.app, name="tenant")
app.add_typer(users.app, name="user")
app.add_typer(keys.app, name="key")
app.add_typer(wallets.app, name="wallet")
app.add_typer(fleets.app, name="fleets")
app.add_typer(fleet_secrets.app, name="fleet-secrets")
app.add_typer(workers.app, name="workers")
app.add_typer(workflows.app, name="workflows")
app.add_typer(effects.app, name="effects")
app.add_typer(dispatches.app, name="dispatches")
app.add_typer(blocks.app, name="blocks")
app.add_typer(settlements.app, name="settlements")
app.add_typer(audit_log.app, name="audit-log")
app.add_typer(comfy.app, name="comfy")


Host = Annotated[str | None, typer.Option(help="Address to listen on.")]
Port = Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")]
Home = Annotated[Path | None, typer.Option(help="Folder for all files.")]


@app.command("up")
def up(
    host: Host = None,
    port: Port = None,
    home: Home = None,
    comfyui: Annotated[
        str | None, typer.Option(help="A ComfyUI to use instead of the built-in engine: its URL.")
    ] = None,
    engine_port: Annotated[
        int | None, typer.Option(help="Port of the built-in engine; a free one if not said.")
    ] = None,
    engine: Annotated[bool | None, typer.Option("--engine/--no-engine", help="Off: the control plane alone.")] = None,
) -> None:
    """Start everything on embedded defaults, set up on the first start."""
    from comfyfleet.cli.up import run_embedded  # the web stack loads only where it runs

    run_embedded(host=host, port=port, home=home, comfyui=comfyui, engine_port=engine_port, engine=engine)


@app.command("serve")
def serve(host: Host = None, port: Port = None) -> None:
    """Start one control-plane replica on the configured databases and object store."""
    from comfyfleet.cli.serve import run_replica

    run_replica(host=host, port=port)


@app.command("engine")
def engine(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one and prints it.")] = 8188,
    folder: Annotated[Path, typer.Option("--dir", help="Folder for input, output and temp.")] = Path("engine"),
) -> None:
    """Start the built-in ComfyUI-compatible server: pictures and films on the CPU, no GPU needed."""
    from comfyfleet.cli.engine import run_engine

    run_engine(host=host, port=port, folder=folder)


@app.command("audit")
def audit(as_json: AsJson = False) -> None:
    """Check on the live system that nothing is wrong: every invariant, in every database. Reads only."""
    run_audit(as_json=as_json)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"comfyfleet {__version__}")
        raise typer.Exit


@app.callback()
def main(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Settings come from COMFYFLEET_* variables and comfyfleet.toml."""


def run() -> None:
    try:
        app()
    except FleetError as error:
        print_error(error, as_json="--json" in sys.argv)
        sys.exit(exit_code(error))
