"""`comfyfleet jobs run` and `watch`: a bar for people, JSON for programs, and a Ctrl-C that loses nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from comfyfleet.cli.jobs_bar import Bar
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import plain, print_json

if TYPE_CHECKING:
    from comfyfleet import client as sdk
    from comfyfleet.cli.comfy import values
    from comfyfleet.client import Client, Effect, Event, Job, SavedOutput, source
else:
    values = Late("comfyfleet.cli.comfy.values")
    sdk = Late("comfyfleet.client")
    source = Late("comfyfleet.client.source")

INTERRUPTED = 130
WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True, slots=True)
class Wanted:
    """The command line, read."""

    effect: str
    input: str | None
    sets: Sequence[str]
    out: Path
    no_wait: bool
    wait_s: float | None
    priority: int
    idempotency_key: str | None
    webhook_url: str | None


def run_job(client: Client, wanted: Wanted, *, cancel_on_interrupt: bool, as_json: bool) -> None:
    if not wanted.no_wait:
        require_folder(wanted.out)
    pairs = values.parse_pairs(wanted.sets, option="--set")
    properties = typed_properties(client.effect(wanted.effect), pairs) if pairs else {}
    with Bar(quiet=as_json) as bar, _interruptible(client, bar, cancel=cancel_on_interrupt) as hear:
        job = client.submit(
            wanted.effect,
            wanted.input,
            on_progress=hear,
            properties=properties,
            priority=wanted.priority,
            idempotency_key=wanted.idempotency_key,
            webhook_url=wanted.webhook_url,
        )
        if not wanted.no_wait:
            job = client.wait(job.id, on_progress=hear, wait_s=wanted.wait_s).job
            saved = client.save(job, wanted.out, on_progress=hear)
    if wanted.no_wait:
        _tell_made(job, as_json=as_json)
    else:
        tell_saved(job, saved, as_json=as_json)


def watch_job(
    client: Client,
    job_id: str,
    out: Path | None,
    *,
    wait_s: float | None,
    cancel_on_interrupt: bool,
    as_json: bool,
) -> None:
    if out is not None:
        require_folder(out)
    with Bar(quiet=as_json) as bar, _interruptible(client, bar, cancel=cancel_on_interrupt, job_id=job_id) as hear:
        job = client.wait(job_id, on_progress=hear, wait_s=wait_s).job
        saved = client.save(job, out, on_progress=hear) if out is not None else []
    tell_saved(job, saved, as_json=as_json)
    if out is None and not as_json:
        typer.echo(f"Save what it made: comfyfleet jobs download {job.id}", err=True)


def fetch(client: Client, job: Job, out: Path, *, as_json: bool) -> None:
    if not job.outputs:
        raise sdk.InvalidInput("job_id", f"the job {job.id} is {job.status}, and there is nothing of it to save")
    require_folder(out)
    with Bar(quiet=as_json) as bar:
        saved = client.save(job, out, on_progress=bar.show)
    tell_saved(job, saved, as_json=as_json)


@contextmanager
def _interruptible(
    client: Client, bar: Bar, *, cancel: bool, job_id: str | None = None
) -> Iterator[Callable[[Event], None]]:
    """Ctrl-C stops the watching. The job was paid for and goes on, unless it was asked to go, too."""
    made = job_id

    def hear(event: Event) -> None:
        nonlocal made
        if isinstance(event, sdk.Created):
            made = event.job_id
        bar.show(event)

    try:
        yield hear
    except KeyboardInterrupt:
        bar.stop()
        _tell_interrupted(client, made, cancel=cancel)
        raise typer.Exit(INTERRUPTED) from None


def _tell_interrupted(client: Client, job_id: str | None, *, cancel: bool) -> None:
    if job_id is None:
        words = "Stopped. If the job was made just before, `comfyfleet jobs list` shows it."
    elif cancel:
        words = _cancelled(client, job_id)
    else:
        words = (
            f"Stopped watching; the job goes on.\n  Watch it:   comfyfleet jobs watch {job_id}"
            f"\n  Cancel it:  comfyfleet jobs cancel {job_id}"
        )
    typer.echo(words, err=True)


def _cancelled(client: Client, job_id: str) -> str:
    try:
        return after_cancel(client.cancel(job_id))
    except sdk.FleetError as error:
        return f"The job {job_id} could not be cancelled: {error}"


def after_cancel(job: Job) -> str:
    if job.is_over:
        return f"The job {job.id} is cancelled; {job.credits_cost} tokens came back."
    return f"The job {job.id} runs: its worker hears of it soon, and may be done first."


def require_folder(out: Path) -> None:
    """Before anything runs: a result that has nowhere to go has cost as much as another."""
    nearest = next(each for each in (out, *out.absolute().parents) if each.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise sdk.InvalidInput("--out", f"{nearest} is no folder that can be written to")


def typed_properties(effect: Effect, pairs: dict[str, str]) -> dict[str, Any]:
    """As the effect wants them: numbers as numbers, files as files."""
    types = {each.name: each for each in effect.properties}
    if unknown := sorted(set(pairs) - set(types)):
        listed = ", ".join(sorted(types)) or "none"
        raise sdk.InvalidInput(f"--set {unknown[0]}", f"{effect.slug} has no property of that name. It has: {listed}")
    return {name: _typed(name, text, types[name].type, types[name].choices or ()) for name, text in pairs.items()}


def _typed(name: str, text: str, kind: str, choices: Sequence[object]) -> Any:
    match kind:
        case "integer" | "seed" if text != "random":
            return _number(name, text, int)
        case "number":
            return _number(name, text, float)
        case "boolean":
            if text.lower() not in WORDS:
                raise sdk.InvalidInput(f"--set {name}", f"{text!r} is neither true nor false")
            return WORDS[text.lower()]
        case "choice":
            return next((each for each in choices if str(each) == text), text)
        case "image" | "video":
            return text if source.as_video_id(text) is not None else Path(text)
        case _:
            return text


def _number(name: str, text: str, kind: type[int] | type[float]) -> int | float:
    try:
        return kind(text)
    except ValueError:
        raise sdk.InvalidInput(f"--set {name}", f"{text!r} is no {'whole ' if kind is int else ''}number") from None


def _tell_made(job: Job, *, as_json: bool) -> None:
    if as_json:
        print_json({"job": plain(job), "files": []})
    else:
        typer.echo(job.id)
        typer.echo(f"Watch it: comfyfleet jobs watch {job.id}", err=True)


def tell_saved(job: Job, saved: Sequence[SavedOutput], *, as_json: bool) -> None:
    if as_json:
        files = [{"path": str(each.path), "sha256": each.sha256, **_without_url(plain(each.output))} for each in saved]
        print_json({"job": plain(job), "files": files})
        return
    for each in saved:
        typer.echo(f"{each.path}\t{each.output.mime_type}\t{each.output.size} bytes")
    typer.echo(f"Completed, for {job.credits_cost} tokens.", err=True)


def _without_url(output: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in output.items() if name not in ("url", "sha256")}
