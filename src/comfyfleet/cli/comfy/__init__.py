"""`comfyfleet comfy …`: ComfyUI servers and workflows, without a fleet."""

import typer

from comfyfleet.cli.comfy.inspect import inspect

app = typer.Typer(no_args_is_help=True, help="ComfyUI servers and workflows, without a fleet.")


@app.callback()
def comfy() -> None:
    """A group, however many commands it has: with one alone typer would leave its name away."""


app.command("inspect")(inspect)
