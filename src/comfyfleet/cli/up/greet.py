"""What a person at a terminal is told when everything is up."""

import typer
from rich.console import Console

from comfyfleet.bootstrap import OPERATOR_KEY_FILE, write_private_file
from comfyfleet.cli.serve import facts_of, log_listening, panel, shown_address
from comfyfleet.cli.shown_once import on_terminal, show_command
from comfyfleet.cli.up.doors import Doors
from comfyfleet.cli.up.engine import INSTALL, engine_is_installed
from comfyfleet.cli.up.first_start import Furnished
from comfyfleet.cli.up.stocking import Asked
from comfyfleet.demo.choose import Choice
from comfyfleet.demo.seed import EMAIL
from comfyfleet.kernel.secret import Secret
from comfyfleet.settings import Settings

# What is written where there is no terminal; the links go again with the process.
LINKS_FILE = "login.links"
DEMO_PASSWORD_FILE = "demo.password"  # noqa: S105 the name of a file

NO_ENGINE = "not installed"
MISSING = f"""The built-in engine is not installed, so no job can run here yet. Either
  install it and start again:   {INSTALL}
  or name a ComfyUI that runs:  comfyfleet up --comfyui http://127.0.0.1:8188
Without it work: the API, the studio, the console, users and wallets, and workers on other machines. Uploads of pictures
and films need it, or the extra `media`: pip install 'comfyfleet[media]'
"""
NO_MEDIA = f"""Pictures and films cannot be uploaded: their libraries are not installed. Install them and start again:
  {INSTALL}
"""


def greet(
    settings: Settings, operator_key: Secret, furnished: Furnished | None, comfyui: str | None, doors: Doors
) -> None:
    log_listening(settings)
    facts = facts_of(settings)
    if settings.comfyui is not None:
        facts.add_row("[dim]ComfyUI[/]", settings.comfyui)
    elif settings.autoscale:
        facts.add_row("[dim]workers[/]", "none yet: the fleet scales with its queue; see Fleets, Demo in the console")
    elif settings.engine:
        facts.add_row(
            "[dim]engine[/]",
            comfyui or ("still starting; the worker starts after it" if engine_is_installed() else NO_ENGINE),
        )
    facts.add_row("[dim]operator key in[/]", str(settings.home / OPERATOR_KEY_FILE))
    if furnished is not None and furnished.demo_key is not None:
        facts.add_row("[dim]log in as[/]", f"{EMAIL} [dim]· its key in[/] {furnished.demo_key}")
        if comfyui is not None:
            facts.add_row("[dim]try[/]", "[bold]comfyfleet demo[/] [dim]in another terminal[/]")
    Console().print(panel(facts))
    password = furnished.demo_password if furnished is not None else None
    # Beside the box and past Rich: they must come out in one piece, whatever the width of the terminal.
    if on_terminal():
        forget_links(settings)
        typer.echo(f"operator key: {operator_key.reveal()}")
        if password is not None:
            typer.echo(f"password of {EMAIL}, shown only now: {password.reveal()}")
        typer.echo(_links(settings, doors))
        typer.echo("(each link logs in once; a start makes new ones)")
    else:
        _greet_a_journal(settings, password, doors)
    typer.echo("")


def forget_links(settings: Settings) -> None:
    """They live as long as the process that made them."""
    (settings.home / LINKS_FILE).unlink(missing_ok=True)


def _greet_a_journal(settings: Settings, password: Secret | None, doors: Doors) -> None:
    """What is printed here is kept by systemd, by a container's log or in a file: no secret, but where it is."""
    home = settings.home.resolve()
    write_private_file(home / LINKS_FILE, _links(settings, doors) + "\n")
    typer.echo("The output is no terminal, so nothing secret is printed. Files that only you can read have it:")
    typer.echo(f"links that log in once:  {show_command(home / LINKS_FILE)}")
    typer.echo(f"operator key:            {show_command(home / OPERATOR_KEY_FILE)}")
    if password is not None:
        write_private_file(home / DEMO_PASSWORD_FILE, password.reveal() + "\n")
    if (home / DEMO_PASSWORD_FILE).exists():
        typer.echo(f"first password of {EMAIL}:  {show_command(home / DEMO_PASSWORD_FILE)}")
    typer.echo("(each link works once, for a day; a start makes new ones)")


def _links(settings: Settings, doors: Doors) -> str:
    address = shown_address(settings)
    studio = [f"open the studio:  {address}{doors.studio}"] if doors.studio is not None else []
    return "\n".join([*studio, f"open the console: {address}{doors.console}"])


def tell_demo(settings: Settings, furnished: Furnished | None, asked: Asked) -> None:
    """What the demo has and what it has not, and why."""
    if settings.engine and settings.comfyui is None and not engine_is_installed():
        typer.echo(MISSING)
    elif settings.comfyui is not None and not engine_is_installed():
        typer.echo(NO_MEDIA)
    if furnished is None or furnished.demo_key is None:
        return
    if asked.choice is not None:
        tell_choice(asked.choice)
    elif asked.problem is not None:
        typer.echo(f"The ComfyUI does not answer: {asked.problem}")
        typer.echo("The demo's effects are made as soon as it does; until then nothing is offered.\n")


def tell_choice(choice: Choice) -> None:
    """Only where there is something to explain: the built-in engine runs them all."""
    if not choice.left_out:
        return
    typer.echo(f"demo effects that this ComfyUI can run: {', '.join(each.slug for each in choice.effects) or 'none'}")
    for each in choice.left_out:
        typer.echo(f"  left out: {each.effect} ({each.reason})")
    typer.echo("")
