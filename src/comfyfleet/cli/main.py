"""`comfyfleet …`"""

import sys
from typing import Annotated

import typer

from comfyfleet import __version__
from comfyfleet.cli import database, keys, serve, tenants, users, wallets
from comfyfleet.cli.errors import exit_code, print_error
from comfyfleet.kernel.errors import FleetError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Run ComfyUI as a fleet. Start with: comfyfleet up",
)
app.command("up")(serve.up)
app.command("serve")(serve.serve)
app.add_typer(database.app, name="db")
app.add_typer(tenants.app, name="tenant")
app.add_typer(users.app, name="user")
app.add_typer(keys.app, name="key")
app.add_typer(wallets.app, name="wallet")


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
