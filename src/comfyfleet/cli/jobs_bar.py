"""What is seen while a job is on its way."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from comfyfleet.cli.late import Late
from comfyfleet.kernel.durations import seconds_text

if TYPE_CHECKING:
    from comfyfleet import client as sdk
    from comfyfleet.client import (
        Event,
        InQueue,
    )
else:
    sdk = Late("comfyfleet.client")

STATUSES = {"queued": "Waiting for a worker.", "processing": "Running."}


class Bar:
    """On standard error, so that standard output holds the result alone. Without a terminal: a line a stage."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = Console(stderr=True, highlight=False, quiet=quiet)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[more]}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            disable=quiet or not self._console.is_terminal,
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=None, more="")
        self._part: float | None = None

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self._progress.stop()

    def show(self, event: Event) -> None:
        match event:
            case sdk.Uploading(name, sent, total) | sdk.Downloading(name, sent, total):
                verb = "uploading" if isinstance(event, sdk.Uploading) else "saving"
                self._see(verb, part=sent / total if total else None, more=f"{name}, {size_of(total)}")
            case sdk.Created(job_id, credits_cost):
                self._say(f"Job {job_id}, {credits_cost} tokens.")
            case sdk.StatusChanged(_, status):
                # That it runs may be told after how far it is: two ways, and the shorter one is the worker's.
                self._part = self._part if status == "processing" else None
                self._see(status, part=self._part, more="")
                if status in STATUSES and not self._console.is_terminal:
                    self._say(STATUSES[status])
            case sdk.InQueue():
                self._see("waiting", part=None, more=words_of(event))
            case sdk.Progressed(_, fraction, node):
                # Not every report says how far it is: then the bar stays where it was.
                self._part = self._part if fraction is None else fraction
                self._see("running", part=self._part, more=f"node {node}" if node else "")
            case sdk.Missed(_, reason):
                self._say(f"Something was missed: {reason}.")
            case _:
                pass

    def _see(self, what: str, *, part: float | None, more: str) -> None:
        total = None if part is None else 1.0
        self._progress.update(self._task, description=what, completed=part or 0.0, total=total, more=more)

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)


def words_of(event: InQueue) -> str:
    place = f"{'at least ' if event.is_at_least else ''}number {event.position}"
    if event.estimated_start_s is None:
        return f"{place}. {event.waits_because or 'No worker can run it at present.'}"
    return f"{place}, starts in about {seconds_text(event.estimated_start_s)}"


def size_of(size_bytes: int) -> str:
    return f"{size_bytes / 1024**2:.1f} MiB" if size_bytes >= 1024**2 else f"{size_bytes / 1024:.1f} KiB"
