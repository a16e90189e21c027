"""`comfyfleet comfy …`: ComfyUI servers and workflows, without a fleet."""

import typer

from comfyfleet.cli.comfy.inspect import inspect
from comfyfleet.cli.comfy.on_servers import doctor, run

app = typer.Typer()


@app.callback()
def comfy() -> None:
    """A group, however many commands it has: with one alone typer would leave its name away."""


app.command("inspect")(inspect)
app.command("doctor")(doctor)
app.command("run")(run)
