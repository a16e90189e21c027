"""What a person at a terminal is told when everything is up."""

import typer
from rich.console import Console

from comfyfleet.cli.serve import facts_of, log_listening, panel, shown_address
from comfyfleet.cli.up.doors import Doors
from comfyfleet.cli.up.engine import engine_is_installed
from comfyfleet.cli.up.first_start import Furnished
from comfyfleet.demo.seed import EMAIL
from comfyfleet.kernel.secret import Secret
from comfyfleet.settings import Settings

NO_ENGINE = "not installed: pip install 'comfyfleet\\[engine]', or --comfyui URL"


def greet(
    settings: Settings, operator_key: Secret, furnished: Furnished | None, comfyui: str | None, doors: Doors
) -> None:
    log_listening(settings)
    facts = facts_of(settings)
    if settings.comfyui is not None:
        facts.add_row("[dim]ComfyUI[/]", settings.comfyui)
    elif settings.engine:
        facts.add_row("[dim]engine[/]", comfyui or ("still starting" if engine_is_installed() else NO_ENGINE))
    facts.add_row("[dim]operator key in[/]", str(settings.home / "operator.key"))
    if furnished is not None and furnished.demo_key is not None:
        facts.add_row("[dim]log in as[/]", f"{EMAIL} [dim]· its key in[/] {furnished.demo_key}")
        facts.add_row("[dim]try[/]", "[bold]comfyfleet demo[/] [dim]in another terminal[/]")
    Console().print(panel(facts))
    # Beside the box and past Rich: they must come out in one piece, whatever the width of the terminal.
    typer.echo(f"operator key: {operator_key.reveal()}")
    if furnished is not None and furnished.demo_password is not None:
        typer.echo(f"password of {EMAIL}, shown only now: {furnished.demo_password.reveal()}")
    address = shown_address(settings)
    if doors.studio is not None:
        typer.echo(f"open the studio:  {address}{doors.studio}")
    typer.echo(f"open the console: {address}{doors.console}")
    typer.echo("(each link logs in once; a start makes new ones)")
    typer.echo("")
