"""`comfyfleet comfy …`: one's own ComfyUI servers, without a control plane."""

from pathlib import Path
from typing import Annotated

import typer

from comfyfleet.cli.output import AsJson

app = typer.Typer(no_args_is_help=True, help="ComfyUI servers and workflows, without a control plane.")

WorkflowFile = Annotated[Path, typer.Argument(help="Workflow of either format, as ComfyUI saves or exports it.")]


@app.command("inspect")
def inspect(
    workflow: WorkflowFile,
    object_info: Annotated[
        str | None,
        typer.Option(help="A server's address, or a file with its GET /object_info: for ranges, and to convert."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what a workflow holds: nodes, model files, inputs, outputs, hashes."""
    from comfyfleet.cli.comfy.inspect import run_inspect  # an HTTP client loads only where one is used

    run_inspect(workflow, object_info=object_info, as_json=as_json)
