"""`comfyfleet demo pipeline`: a run with nobody awake, from a few words to ranked finals and a contact sheet."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import typer

from comfyfleet.api.logs import configure_logs
from comfyfleet.cli.demo import FAILED, demo_access
from comfyfleet.cli.output import plain, print_json
from comfyfleet.cli.runs_export import Exported, export_run
from comfyfleet.cli.runs_screen import watch_run
from comfyfleet.cli.runs_values import parse_variables
from comfyfleet.client import AsyncClient, Client, Run
from comfyfleet.kernel.errors import InvalidInput

PIPELINE = "painted-postcard"
VARIABLES = {"scene": "a lake below mountains at dawn", "mood": "golden autumn"}
CONCURRENCY = 4
# The last pictures are scored after the run has ended.
SCORED_WITHIN_S = 60.0


def run_demo_pipeline(
    *, url: str | None, home: Path | None, out: Path, sets: Sequence[str], variants: int, top: int, as_json: bool
) -> None:
    configure_logs("auto", "critical")
    address, key = demo_access(url, home)
    variables = {**VARIABLES, **parse_variables(sets)}
    if unknown := sorted(variables.keys() - VARIABLES.keys()):
        raise InvalidInput("--set", f"{unknown[0]!r} is none of {', '.join(VARIABLES)}")
    with Client(address, key) as client:
        run = client.runs.start(
            PIPELINE,
            name="Demo",
            target_folder="demo",
            variables=variables,
            variants=variants,
            top=top,
            concurrency=CONCURRENCY,
            approval={"kind": "scorer", "scorer": "sharpness+unique"},
        )
        run = watch_run(client, run.id, quiet=as_json)
        if run.status == "completed":
            _await_scores(client, run)
    done = asyncio.run(_export(address, key, run, out))
    _tell(done, as_json=as_json)
    if done.run.status != "completed":
        raise typer.Exit(FAILED)


def _await_scores(client: Client, run: Run) -> None:
    until = time.monotonic() + SCORED_WITHIN_S
    last = len(run.steps) - 1
    while time.monotonic() < until and any(
        each.scores is None for each in client.runs.candidates(run.id, position=last)
    ):
        time.sleep(0.5)


async def _export(url: str, key: str, run: Run, out: Path) -> Exported:
    async with AsyncClient(url, key) as fleet:
        return await export_run(fleet, run.id, out)


def _tell(done: Exported, *, as_json: bool) -> None:
    if as_json:
        print_json(plain(done))
        return
    run = done.run
    typer.echo(
        f"{run.status}: {run.jobs_started} jobs for {run.tokens_spent} tokens. {run.status_reason or ''}".rstrip()
    )
    for rank, path in enumerate(done.files, 1):
        typer.echo(f"#{rank}  {path}")
    for path in done.sheets:
        typer.echo(f"Contact sheet: {path}")
    typer.echo(f"How each was made: {done.record}")
