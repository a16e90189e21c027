"""`comfyfleet demo pipeline`: a run with nobody awake, from a few words to ranked finals and a contact sheet."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from comfyfleet.api.logs import configure_logs
from comfyfleet.cli.demo import FAILED, demo_access
from comfyfleet.cli.output import plain, print_json
from comfyfleet.cli.runs_export import Exported, export_run
from comfyfleet.cli.runs_screen import watch_run
from comfyfleet.cli.runs_values import parse_variables
from comfyfleet.client import AsyncClient, Client, Run
from comfyfleet.client.model import Effect
from comfyfleet.demo.catalogue import EVERY_EFFECT
from comfyfleet.demo.choose import why_not_offered
from comfyfleet.demo.plan import NOTHING_OFFERED
from comfyfleet.kernel.errors import InvalidInput, Unavailable

# The first that can run: on the built-in engine, or on a ComfyUI with a checkpoint.
PIPELINES = ("painted-postcard", "dreamt-postcard")
VARIABLES = {"scene": "a lake below mountains at dawn", "mood": "golden autumn"}
# Their effects, where they were not made.
NEEDS = {PIPELINES[0]: ("paint", "repaint", "glow"), PIPELINES[1]: ("dream", "pencil", "glow")}
KNOWN = {each.slug: each for each in EVERY_EFFECT}
READY_WITHIN_S = 30.0
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
            _pipeline(client),
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


class NoPipelineRuns(Unavailable):
    """None of the demo's pipelines can run here now."""

    code = "no_pipeline_runs"
    text = "No pipeline of the demo can run here. {reasons}"


def _pipeline(client: Client) -> str:
    """Raises NoPipelineRuns, which says what each lacks."""
    until = time.monotonic() + READY_WITHIN_S
    while True:
        offered = {each.slug: each for each in client.effects()}
        reasons = [_missing(client, slug, offered) for slug in PIPELINES]
        for slug, reason in zip(PIPELINES, reasons, strict=True):
            if reason is None:
                return slug
        if time.monotonic() > until or (offered and all(each.unavailable_because is None for each in offered.values())):
            said = " ".join(f"{reason}." for reason in reasons if reason)
            raise NoPipelineRuns(reasons=said if offered else NOTHING_OFFERED)
        time.sleep(1.0)


def _missing(client: Client, slug: str, offered: Mapping[str, Effect]) -> str | None:
    needed: Sequence[str] = NEEDS[slug]
    found = next(iter(client.pipelines.list(slug=slug)), None)
    if found is not None:
        needed = list(dict.fromkeys(step.effect for step in found.steps))
    lacking = []
    for each in needed:
        if each not in offered:
            lacking.append(f"{each} ({why_not_offered(KNOWN[each])})" if each in KNOWN else each)
        elif reason := offered[each].why_not_now:
            lacking.append(f"{each} ({reason})")
    if lacking:
        return f"{slug} lacks {', '.join(lacking)}"
    return None if found is not None else f"{slug} was archived, or never made"


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
