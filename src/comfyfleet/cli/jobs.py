"""`comfyfleet jobs …`: what a user of a fleet does, over its API. Needs COMFYFLEET_API_KEY, and no settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from comfyfleet.cli.jobs_run import Wanted, after_cancel, fetch, run_job, watch_job
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json, print_one
from comfyfleet.cli.tables import ago, print_facts, print_table
from comfyfleet.kernel.durations import seconds_text

if TYPE_CHECKING:
    from comfyfleet import client as sdk
    from comfyfleet.client import Client, Job
else:
    sdk = Late("comfyfleet.client")

app = typer.Typer()

JobId = Annotated[str, typer.Argument(help="Id of the job.")]
Url = Annotated[str | None, typer.Option(help="Address of the fleet. Default: COMFYFLEET_URL, or this machine.")]
Out = Annotated[Path, typer.Option(help="Folder for what was made.")]
WaitS = Annotated[float | None, typer.Option(min=0.1, help="Stop waiting after so many seconds; the job goes on.")]
CancelOnInterrupt = Annotated[bool, typer.Option("--cancel-on-interrupt", help="Ctrl-C cancels the job, too.")]
ROWS_MAX = 10_000


@contextmanager
def a_client(url: str | None) -> Iterator[Client]:
    with sdk.Client(url) as client:
        yield client


@app.command("run")
def run(
    effect: Annotated[str, typer.Argument(help="Slug of the effect.")],
    input: Annotated[str | None, typer.Argument(help="A picture or a film, or the id of a video.")] = None,
    sets: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE: a property; a file by its path.")] = None,
    out: Out = Path("out"),
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Make the job and leave.")] = False,
    wait_s: WaitS = None,
    priority: Annotated[int, typer.Option(help="Higher goes first among your own.")] = 0,
    idempotency_key: Annotated[str | None, typer.Option(help="The same key and order again is the same job.")] = None,
    webhook_url: Annotated[str | None, typer.Option(help="Told of everything that happens to the job.")] = None,
    cancel_on_interrupt: CancelOnInterrupt = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Upload, order, wait, and save what was made."""
    wanted = Wanted(effect, input, tuple(sets or ()), out, no_wait, wait_s, priority, idempotency_key, webhook_url)
    with a_client(url) as client:
        run_job(client, wanted, cancel_on_interrupt=cancel_on_interrupt, as_json=as_json)


@app.command("watch")
def watch(
    job_id: JobId,
    out: Annotated[Path | None, typer.Option(help="Save what it made here.")] = None,
    wait_s: WaitS = None,
    cancel_on_interrupt: CancelOnInterrupt = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Wait for a job that was made before."""
    with a_client(url) as client:
        watch_job(client, job_id, out, wait_s=wait_s, cancel_on_interrupt=cancel_on_interrupt, as_json=as_json)


@app.command("list")
def list_all(
    status: Annotated[str | None, typer.Option(help="queued, processing, completed, failed or cancelled.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=ROWS_MAX, help="How many at most.")] = 20,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Your newest jobs."""
    with a_client(url) as client:
        found = list(islice(client.jobs.list(status=status, limit=min(limit, 100)), limit))
    if as_json:
        print_json([plain(job) for job in found])
        return
    columns = {
        "id": lambda job: job.id,
        "status": _status,
        "effect": lambda job: job.effect,
        "tokens": lambda job: job.credits_cost,
        "made": lambda job: ago(job.created_at),
        "took": _took,
        "error": lambda job: job.error,
    }
    print_table("Jobs", found, columns)


@app.command("show")
def show(job_id: JobId, url: Url = None, as_json: AsJson = False) -> None:
    """One job, with what it was given and what it made."""
    with a_client(url) as client:
        job = client.job(job_id)
        if as_json:
            print_json(plain(job))
            return
    print_facts(
        {
            "id": job.id,
            "status": _status(job),
            "effect": job.effect,
            "tokens": job.credits_cost,
            "video": job.video_id,
            "retry of": job.retry_of,
            "made": ago(job.created_at),
            "took": _took(job),
            "worker": job.outputs[0].metadata.get("worker") if job.outputs else None,
            "error": job.error,
            **{f"property {name}": value for name, value in job.properties.items()},
        }
    )
    if job.outputs:
        columns = {
            "output": lambda each: each.name,
            "type": lambda each: each.mime_type,
            "bytes": lambda each: each.size,
            "node": lambda each: each.metadata.get("node"),
        }
        print_table("Outputs", job.outputs, columns)


@app.command("cancel")
def cancel(job_id: JobId, url: Url = None, as_json: AsJson = False) -> None:
    """Stop a job. One that waits is over and refunded at once; one that runs may be done first."""
    with a_client(url) as client:
        job = client.cancel(job_id)
    print_one(job, as_json=as_json, sentence=after_cancel(job))


@app.command("retry")
def retry(job_id: JobId, url: Url = None, as_json: AsJson = False) -> None:
    """The same again, as a new job."""
    with a_client(url) as client:
        job = client.retry(job_id)
    sentence = f"Made job {job.id} for {job.credits_cost} tokens. Watch it: comfyfleet jobs watch {job.id}"
    print_one(job, as_json=as_json, sentence=sentence)


@app.command("download")
def download(job_id: JobId, out: Out = Path("out"), url: Url = None, as_json: AsJson = False) -> None:
    """Save what a job made."""
    with a_client(url) as client:
        fetch(client, client.job(job_id), out, as_json=as_json)


def _status(job: Job) -> str:
    return f"{job.status}, to be cancelled" if job.cancel_requested and not job.is_over else job.status


def _took(job: Job) -> str | None:
    if job.started_at is None or job.completed_at is None:
        return None
    return seconds_text((job.completed_at - job.started_at).total_seconds())
