"""`comfyfleet runs …`: start runs of pipelines, watch them, decide, keep the winners. Over the API."""

from __future__ import annotations

import asyncio
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comfyfleet.cli.browser import open_in_browser
from comfyfleet.cli.jobs import ROWS_MAX, Url, a_client
from comfyfleet.cli.jobs_run import require_folder
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, console, plain, print_json, print_one
from comfyfleet.cli.runs_screen import print_run, watch_run
from comfyfleet.cli.runs_values import parse_variables
from comfyfleet.cli.tables import ago, print_table
from comfyfleet.kernel.errors import IllegalMove

if TYPE_CHECKING:
    from comfyfleet import client as sdk
    from comfyfleet.client import Candidate, Client, Run
else:
    sdk = Late("comfyfleet.client")

app = typer.Typer()

RunId = Annotated[str, typer.Argument(help="Id of the run.")]
CandidateId = Annotated[str, typer.Argument(help="Id of the candidate.")]
StepArgument = Annotated[int, typer.Argument(min=1, help="Number of the step, from 1.")]
RESTS_BADLY = 1
ASKED_MAX = 8
SCORERS = ("sharpness", "exposure", "unique", "sharpness+unique", "exposure+unique")


@app.command("start")
def start(
    pipeline: Annotated[str, typer.Argument(help="Slug of the pipeline, or the id of one version.")],
    sets: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE: a variable; repeatable.")] = None,
    folder: Annotated[str | None, typer.Option(help="Target folder. Default: the pipeline's slug.")] = None,
    variants: Annotated[int, typer.Option("--variants", "-n", help="Candidates a parent, and of step 1.")] = 4,
    top: Annotated[int, typer.Option("--top", "-k", help="How many of a step's best go on.")] = 2,
    finals: Annotated[int | None, typer.Option(help="So many of the last step are enough.")] = None,
    concurrency: Annotated[int, typer.Option(help="Jobs under way at once.")] = 1,
    approve: Annotated[
        str,
        typer.Option(
            help="Who opens gates: person, all, votes:N, sharpness, exposure, unique (no two alike), sharpness+unique."
        ),
    ] = "person",
    tokens_max: Annotated[int | None, typer.Option(help="Budget: stops there.")] = None,
    jobs_max: Annotated[int | None, typer.Option(help="Budget: so many jobs.")] = None,
    hours_max: Annotated[float | None, typer.Option(help="Budget: so many hours.")] = None,
    seed: Annotated[int | None, typer.Option(help="Default: drawn.")] = None,
    fixed_seed: Annotated[bool, typer.Option("--fixed-seed", help="The same seed for every job.")] = False,
    name: Annotated[str | None, typer.Option(help="What it is called.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Stay, and show how it goes.")] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Start a run. It goes on without you, until a gate wants a person."""
    said: dict[str, Any] = {
        "name": name or pipeline,
        "target_folder": folder or pipeline,
        "variables": parse_variables(sets or []),
        "variants": variants,
        "top": top,
        "finals": finals,
        "concurrency": concurrency,
        "approval": read_approval(approve),
        "tokens_max": tokens_max,
        "jobs_max": jobs_max,
        "hours_max": hours_max,
        "seed": seed,
        "seed_policy": "fixed" if fixed_seed else "varied",
    }
    with a_client(url) as client:
        run = client.runs.start(pipeline, **said)
        if watch:
            _watch(client, run.id, as_json=as_json)
            return
    print_one(run, as_json=as_json, sentence=f"Started run {run.id}. Watch it: comfyfleet runs watch {run.id}")


@app.command("list")
def list_all(
    status: Annotated[str | None, typer.Option(help="Such as running or waiting_for_approval.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=ROWS_MAX, help="How many at most.")] = 20,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Your newest runs."""
    with a_client(url) as client:
        found = list(islice(client.runs.list(status=status), limit))
    if as_json:
        print_json([plain(run) for run in found])
        return
    columns = {
        "id": lambda run: run.id,
        "name": lambda run: run.name,
        "pipeline": lambda run: f"{run.pipeline} {run.pipeline_version}",
        "status": lambda run: run.status,
        "why": lambda run: run.status_reason,
        "made": lambda run: " · ".join(str(step.made) for step in run.steps),
        "in flight": lambda run: run.in_flight,
        "tokens": lambda run: run.tokens_spent,
        "started": lambda run: ago(run.created_at),
    }
    print_table("Runs", found, columns)


@app.command("show")
def show(run_id: RunId, url: Url = None, as_json: AsJson = False) -> None:
    """One run: its steps, its gates, its budget, and its tree."""
    with a_client(url) as client:
        run = client.runs.read(run_id)
        if as_json:
            print_json({**plain(run), "candidates": [plain(each) for each in client.runs.candidates(run_id)]})
            return
        print_run(client, run)


@app.command("watch")
def watch(run_id: RunId, url: Url = None, as_json: AsJson = False) -> None:
    """The tree as it grows, with a bar for each step, until the run rests. Ctrl-C leaves; the run goes on."""
    with a_client(url) as client:
        _watch(client, run_id, as_json=as_json)


def _watch(client: Client, run_id: str, *, as_json: bool) -> None:
    run = watch_run(client, run_id, quiet=as_json)
    print_one(run, as_json=as_json, sentence=_rests(run))
    if run.status == "failed":
        raise typer.Exit(RESTS_BADLY)


def _rests(run: Run) -> str:
    match run.status:
        case "waiting_for_approval":
            gate = next((step.position + 1 for step in run.steps if step.top is None and step.alive), 1)
            return f"It waits for you: comfyfleet runs vote {run.id} {gate}, comfyfleet runs approve {run.id} {gate}"
        case "paused" if (run.status_reason or "").startswith("effect_unavailable:"):
            reason = (run.status_reason or "").split(": ", 1)[-1]
            return f"It is paused: {reason} It goes on by itself once that is put right."
        case "paused":
            more = f"comfyfleet runs set-budget {run.id}, comfyfleet runs resume {run.id}"
            return f"It is paused ({run.status_reason}). To go on: {more}"
        case "completed":
            return f"Completed, for {run.tokens_spent} tokens. Keep it: comfyfleet runs export {run.id} out"
        case _:
            return f"The run is {run.status}. {run.status_reason or ''}".rstrip()


@app.command("approve")
def approve(
    run_id: RunId,
    step: StepArgument,
    top: Annotated[int | None, typer.Option("--top", "-k", help="How many go on. Default: the run's.")] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Open the gate behind a step, for its best. Once more, with another number, it is that one."""
    with a_client(url) as client:
        _require_step(client.runs.read(run_id), step)
        run = client.runs.approve(run_id, step - 1, top=top)
    best = min(run.steps[step - 1].top or 0, run.steps[step - 1].alive)
    sentence = f"The best of step {step} goes on." if best == 1 else f"The best {best} of step {step} go on."
    print_one(run, as_json=as_json, sentence=sentence)


def _require_step(run: Run, step: int) -> None:
    """Said here: the server counts from 0."""
    if step > len(run.steps):
        raise sdk.InvalidInput("STEP", f"must be from 1 to {len(run.steps)}: so many steps has this run")


@app.command("close-gate")
def close_gate(run_id: RunId, step: StepArgument, url: Url = None, as_json: AsJson = False) -> None:
    """Close the gate behind a step again: nothing new is made behind it. What is there stays."""
    with a_client(url) as client:
        _require_step(client.runs.read(run_id), step)
        run = client.runs.reopen(run_id, step - 1)
    print_one(run, as_json=as_json, sentence=f"The gate behind step {step} is closed.")


@app.command("vote")
def vote(
    run_id: RunId,
    step: StepArgument,
    winner: Annotated[str | None, typer.Option(help="Id of the better one; with --loser.")] = None,
    loser: Annotated[str | None, typer.Option(help="Id of the other.")] = None,
    browser: Annotated[bool, typer.Option(help="Open the page with the pictures, at a terminal.")] = True,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """A against B. Without --winner and --loser, you are shown pairs until you have enough."""
    if (winner is None) != (loser is None):
        raise sdk.InvalidInput("--winner", "goes with --loser")
    with a_client(url) as client:
        _require_step(client.runs.read(run_id), step)
        if winner is not None and loser is not None:
            cast = client.runs.vote(winner, loser)
            print_one(cast, as_json=as_json, sentence=f"Vote {cast.seq} of step {cast.position + 1} is counted.")
        elif as_json:
            print_json([plain(each) for each in client.runs.pair(run_id, step - 1)])
        else:
            _show_page(client, run_id, step, opens=browser and console.is_terminal)
            _compare(client, run_id, step - 1)


def _show_page(client: Client, run_id: str, step: int, *, opens: bool) -> None:
    """Where both pictures stand side by side, and can be voted on as well."""
    address = client.address_of(f"/runs/{run_id}/vote?step={step}")
    opened = opens and open_in_browser(address)
    console.print(f"See them side by side{' (opened)' if opened else ''}:", markup=False)
    console.print(f"   {address}", markup=False, soft_wrap=True)


def _compare(client: Client, run_id: str, position: int) -> None:
    skipped: set[frozenset[str]] = set()
    while pair := _next_pair(client, run_id, position, skipped):
        one, other = pair
        for letter, each in (("a", one), ("b", other)):
            _show(client, letter, each)
        answer = typer.prompt("Better: a, b, s to skip, q to stop", default="q").strip().lower()
        if answer == "q":
            return
        if answer in ("a", "b"):
            client.runs.vote(*((one.id, other.id) if answer == "a" else (other.id, one.id)))
        elif answer == "s":
            skipped.add(frozenset({one.id, other.id}))
    typer.echo("There are no two to compare." if not skipped else "There are no others to compare.")


def _next_pair(client: Client, run_id: str, position: int, skipped: set[frozenset[str]]) -> list[Candidate]:
    """The server draws: asked a few times, it comes up with another one if there is one."""
    for _ in range(ASKED_MAX if skipped else 1):
        pair = client.runs.pair(run_id, position)
        if frozenset(each.id for each in pair) not in skipped:
            return pair
    return []


def _show(client: Client, letter: str, candidate: Candidate) -> None:
    votes = f"{candidate.votes} vote{'s' if candidate.votes != 1 else ''}"
    console.print(f"[bold]{letter}[/]  Elo {candidate.elo:.0f}, {votes}  {candidate.id}", soft_wrap=True)
    if candidate.url is None:
        console.print("   its picture is gone")
        return
    # A signed address is longer than a line. The small one is short; it opens where its reader is logged in.
    address = client.address_of(candidate.thumb_url or candidate.url)
    console.print(f"   {address}", markup=False, soft_wrap=True)


@app.command("reject")
def reject(candidate_id: CandidateId, url: Url = None, as_json: AsJson = False) -> None:
    """Take a candidate out, with all that was made of it. What waits below it is cancelled and refunded."""
    with a_client(url) as client:
        found = client.runs.reject(candidate_id)
    sentence = f"Rejected: {found.gone} in all." if found.gone else "It was rejected before."
    print_one(found, as_json=as_json, sentence=sentence)


@app.command("pause")
def pause(run_id: RunId, url: Url = None, as_json: AsJson = False) -> None:
    """No new jobs; those under way end as they will."""
    with a_client(url) as client:
        print_one(client.runs.pause(run_id), as_json=as_json, sentence="Paused.")


@app.command("resume")
def resume(run_id: RunId, url: Url = None, as_json: AsJson = False) -> None:
    """Go on."""
    with a_client(url) as client:
        run = client.runs.resume(run_id)
    print_one(run, as_json=as_json, sentence=f"The run is {run.status}.")


@app.command("stop")
def stop(run_id: RunId, url: Url = None, as_json: AsJson = False) -> None:
    """For good. What waits is cancelled and refunded; what was made stays."""
    with a_client(url) as client:
        print_one(client.runs.stop(run_id), as_json=as_json, sentence="Stopped.")


@app.command("set-budget")
def set_budget(
    run_id: RunId,
    tokens_max: Annotated[int | None, typer.Option(help="New limit in tokens.")] = None,
    jobs_max: Annotated[int | None, typer.Option(help="New limit in jobs.")] = None,
    hours: Annotated[float | None, typer.Option(help="So many hours from now on.")] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """New limits. A run that was paused for want of budget goes on."""
    with a_client(url) as client:
        run = client.runs.budget(run_id, tokens_max=tokens_max, jobs_max=jobs_max, hours=hours)
    print_one(run, as_json=as_json, sentence=f"The run is {run.status}.")


@app.command("list-jobs")
def list_jobs(
    run_id: RunId,
    state: Annotated[str | None, typer.Option(help="in_flight, done, failed, retried or cancelled.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=ROWS_MAX, help="How many at most.")] = 50,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """A run's jobs, newest first: what became of each, and why one failed."""
    with a_client(url) as client:
        steps = {step.position: step.name for step in client.runs.read(run_id).steps}
        found = list(islice(client.runs.jobs(run_id, state=state), limit))
    if as_json:
        print_json([plain(job) for job in found])
        return
    columns = {
        "job id": lambda job: job.job_id,
        "step": lambda job: f"{job.position + 1} {steps.get(job.position, '')}",
        "state": lambda job: job.state,
        "error": lambda job: job.error,
        "begun": lambda job: ago(job.created_at),
    }
    print_table("Jobs", found, columns)


@app.command("retry")
def retry(
    run_id: RunId,
    job_id: Annotated[str | None, typer.Argument(help="Id of the job. Left away: all that failed.")] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Try failed jobs again: same graph, same seed, same place."""
    made: dict[str, str] = {}
    refused: dict[str, str] = {}
    with a_client(url) as client:
        if job_id is not None:
            made[job_id] = client.runs.retry(run_id, job_id)
        for each in client.runs.jobs(run_id, state="failed") if job_id is None else ():
            try:
                made[each.job_id] = client.runs.retry(run_id, each.job_id)
            except (sdk.InvalidInput, IllegalMove) as problem:
                # Its place may have been filled since: that is no reason to leave the others.
                refused[each.job_id] = problem.message
    if as_json:
        print_json({"retried": made, "refused": refused})
        return
    for old, new in made.items():
        typer.echo(f"{old} → {new}")
    for old, why in refused.items():
        typer.echo(f"{old}: {why}", err=True)
    typer.echo(f"{len(made)} tried again." if made or refused else "No job of this run has failed.")


@app.command("export")
def export(
    run_id: RunId,
    folder: Annotated[Path, typer.Argument(help="Where to.")],
    top: Annotated[int | None, typer.Option("--top", "-k", min=1, help="The best so many only.")] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """The winners by rank, a contact sheet of the whole tree, and how each was made (run.json)."""
    require_folder(folder)
    from comfyfleet.cli.runs_export import Exported, export_run

    async def exported() -> Exported:
        async with sdk.AsyncClient(url) as fleet:
            return await export_run(fleet, run_id, folder, top=top)

    done = asyncio.run(exported())
    if as_json:
        print_json(plain(done))
        return
    for path in [*done.files, *done.sheets, done.record]:
        typer.echo(str(path))
    for name, problem in done.missing.items():
        typer.echo(f"{name}: {problem}", err=True)
    pages = f"{len(done.sheets)} pages" if len(done.sheets) != 1 else "one page"
    typer.echo(f"{len(done.files)} winners; {pages} of the contact sheet.", err=True)


@app.command("replay")
def replay(candidate_id: CandidateId, url: Url = None, as_json: AsJson = False) -> None:
    """Make a candidate again from its stored graph and seed: an ordinary job, paid as one."""
    with a_client(url) as client:
        job = client.runs.replay(candidate_id)
    sentence = f"Made job {job.id} for {job.credits_cost} tokens. Watch it: comfyfleet jobs watch {job.id} --out out"
    print_one(job, as_json=as_json, sentence=sentence)


def read_approval(words: str) -> dict[str, Any]:
    kind, _, count = words.partition(":")
    if kind == "votes" and count.isdecimal():
        return {"kind": "votes", "after": int(count)}
    if words in ("person", "all"):
        return {"kind": words}
    if words in SCORERS:
        return {"kind": "scorer", "scorer": words}
    raise sdk.InvalidInput("--approve", f"{words!r} is none of person, all, votes:N, {', '.join(SCORERS)}")
