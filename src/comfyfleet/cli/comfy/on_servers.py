"""The options of `comfyfleet comfy doctor` and `comfyfleet comfy run`. What they do loads only where it is done."""

from pathlib import Path
from typing import Annotated

import typer

from comfyfleet.cli.output import AsJson

LOCAL = "http://127.0.0.1:8188"

WorkflowFile = Annotated[Path, typer.Argument(help="Workflow of either format, as ComfyUI saves or exports it.")]
Bearer = Annotated[
    str | None, typer.Option(envvar="COMFY_BEARER", help="A token, where a proxy before the server asks for one.")
]


def doctor(
    url: Annotated[str, typer.Argument(help="The server, such as http://127.0.0.1:8188.")],
    workflow: Annotated[Path | None, typer.Option(help="Is everything there that this workflow needs?")] = None,
    bearer: Bearer = None,
    as_json: AsJson = False,
) -> None:
    """Look a ComfyUI server over: version, devices, socket, who else can use it, what a workflow lacks. Only reads.

    Exit codes: 0 fine, 6 it cannot be reached, 7 something should be changed, 8 something will not work.
    """
    from comfyfleet.cli.comfy.doctor import run_doctor

    run_doctor(url, workflow=workflow, bearer=bearer, as_json=as_json)


def run(
    workflow: WorkflowFile,
    sets: Annotated[
        list[str] | None, typer.Option("--set", help="name=value; a placeholder, node.input or an input's name.")
    ] = None,
    files: Annotated[
        list[str] | None, typer.Option("--input", help="name=file; it is uploaded and put where the name says.")
    ] = None,
    server: Annotated[
        list[str] | None, typer.Option(help=f"URL, or 'cloud' for Comfy Cloud. Several: a pool. [default: {LOCAL}]")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("out"),
    output_node: Annotated[str | None, typer.Option(help="The node whose files come first.")] = None,
    deadline_s: Annotated[float, typer.Option(min=1, help="How long one attempt may take.")] = 3600,
    attempts: Annotated[int, typer.Option(min=1, help="How often it is tried, on another server if there is one.")] = 3,
    wait_s: Annotated[float, typer.Option(min=1, help="How long to wait when all servers are gone.")] = 120,
    bearer: Bearer = None,
    as_json: AsJson = False,
) -> None:
    """Run a workflow, with a progress bar, previews in OUT/previews and a manifest.json in OUT.

    Exit codes: 0 done, 1 it ran and failed, 2 refused (the workflow, a value, a file), 6 no server to run it,
    130 stopped by Ctrl-C, on the server too.
    """
    from comfyfleet.cli.comfy.run import run_workflow

    run_workflow(
        workflow,
        sets=sets or [],
        files=files or [],
        servers=server or [LOCAL],
        out=out,
        output_node=output_node,
        deadline_s=deadline_s,
        attempts_max=attempts,
        wait_s=wait_s,
        bearer=bearer,
        as_json=as_json,
    )
