"""`comfyfleet comfy …`: ComfyUI servers and workflows, without a fleet."""

import typer

from comfyfleet.cli.comfy.doctor import doctor
from comfyfleet.cli.comfy.run import run

app = typer.Typer(no_args_is_help=True, help="ComfyUI servers and workflows, without a fleet.")
app.command("doctor")(doctor)
app.command("run")(run)
