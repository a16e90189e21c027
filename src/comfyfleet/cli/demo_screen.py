"""What is seen while the demo plays: a bar for each effect, then its files and the ledger."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from comfyfleet.cli.tables import Columns, print_table
from comfyfleet.client.events import (
    Created,
    Downloading,
    Event,
    InQueue,
    Progressed,
    StatusChanged,
    Uploading,
)
from comfyfleet.demo.catalogue import DemoEffect
from comfyfleet.demo.play import Played
from comfyfleet.kernel.durations import seconds_text

KIB = 1024
WORDS = {
    "queued": "waits in the queue",
    "processing": "has begun",
    "completed": "completed",
    "failed": "failed",
    "cancelled": "was cancelled",
}


class Screen:
    """On standard error, so that standard output holds the result alone. Without a terminal: a line for each turn."""

    def __init__(self, effects: Sequence[DemoEffect], *, quiet: bool) -> None:
        self._console = Console(stderr=True, highlight=False, quiet=quiet)
        self._progress = Progress(
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
            TextColumn("{task.fields[now]}", style="dim", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            disable=quiet or not self._console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {
            each.slug: self._progress.add_task(each.slug, total=1.0, now="draws a sample") for each in effects
        }

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def hear(self, effect: str, event: Event) -> None:
        task = self._tasks[effect]
        match event:
            case Progressed(fraction=fraction, node=node):
                self._progress.update(task, now=node or "runs", completed=fraction)
            case StatusChanged(status="completed"):
                self._progress.update(task, now="completed", completed=1.0)
            case _:
                self._progress.update(task, now=now_of(event))
        if not self._console.is_terminal and isinstance(event, (Created, StatusChanged)):
            self._console.print(f"{effect}: {now_of(event)}", markup=False, soft_wrap=True)


def now_of(event: Event) -> str:
    match event:
        case Uploading(sent_bytes=sent, total_bytes=total):
            return f"uploads {sent // KIB} of {total // KIB} KiB"
        case Created(credits_cost=cost):
            return f"ordered for {cost} tokens"
        case InQueue(estimated_start_s=None, waits_because=because):
            return f"waits. {because or 'No worker can run it at present.'}"
        case InQueue(position=position):
            return f"number {position} in the queue"
        case StatusChanged(status=status, error=error):
            return f"{WORDS.get(status, status)}{f': {error}' if error else ''}"
        case Downloading(got_bytes=got, total_bytes=total):
            return f"downloads {got // KIB} of {total // KIB} KiB"
        case _:
            return ""


def print_played(played: Sequence[Played]) -> None:
    columns: Columns = {
        "effect": lambda each: each.effect,
        "tokens": lambda each: each.credits_cost,
        "waited": lambda each: seconds_text(each.waited_s),
        "ran": lambda each: seconds_text(each.ran_s),
        "result": lambda each: each.error or ", ".join(str(file.path) for file in each.saved),
    }
    print_table("Results", played, columns)


def print_ledger(rows: Sequence[Mapping[str, Any]], *, balance: int, jobs: Mapping[str | None, str]) -> None:
    """What this demo has moved, oldest first, as it happened."""
    moved = [row for row in reversed(rows) if row.get("job_id") in jobs]
    columns: Columns = {
        "at": lambda row: str(row["created_at"])[11:19],
        "type": lambda row: row["type"],
        "tokens": lambda row: row["amount"],
        "for": lambda row: jobs[row["job_id"]],
    }
    print_table(f"\nLedger: {balance} tokens left", moved, columns)
