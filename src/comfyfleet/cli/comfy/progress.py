"""What is seen while a workflow runs: a bar for people, and previews as files."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from comfyfleet.comfy.model import Preview
from comfyfleet.comfy.model import Progress as Told
from comfyfleet.comfy.verdict import words_of_return
from comfyfleet.pool.events import ClientState, JobPreview, JobProgress, JobRetrying, JobStarted, PoolEvent
from comfyfleet.pool.model import ServerState

ENDINGS: Mapping[str, str] = {"image/png": "png", "image/webp": "webp"}


class Bar:
    """On standard error, so that standard output holds the result alone; silent where nobody looks."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = Console(stderr=True, highlight=False, quiet=quiet)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[step]}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            disable=quiet or not self._console.is_terminal,
            transient=True,
        )
        self._task = self._progress.add_task("waiting", total=1.0, step="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

    def show(self, event: PoolEvent) -> None:
        match event:
            case JobStarted(job=job):
                self._progress.update(self._task, completed=0.0, description=f"queued on {job.server}", step="")
                if not self._console.is_terminal:
                    self.say(f"Running on {job.server}.")
            case JobProgress(progress=told):
                self._progress.update(self._task, **_seen(told))
            case JobRetrying(server=server, failure=failure):
                self.say(f"{server}: {words_of_return(failure.message)} Trying again.")
            case ClientState(server=server, state=ServerState.OFFLINE):
                self.say(f"The connection to {server} is lost. Waiting for it, or for another server …")
            case ClientState(server=server, before=ServerState.OFFLINE):
                self.say(f"{server} is back.")
            case _:
                pass


def _seen(told: Told) -> dict[str, Any]:
    steps = f"{told.step:g}/{told.steps:g}" if told.step is not None and told.steps else ""
    nodes = f"{told.nodes_done}/{told.nodes_total} nodes" if told.nodes_total else ""
    return {
        "completed": told.fraction,
        "description": told.node_class or "running",
        "step": " ".join(part for part in (steps, nodes) if part),
    }


class Previews:
    """Each under the node that sent it and in its order, so that a folder shows how the picture came to be."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.count = 0

    async def save(self, preview: Preview) -> None:
        self.count += 1
        node = "".join(sign if sign.isalnum() else "-" for sign in preview.node or "preview")
        name = f"{self.count:04}-{node}.{ENDINGS.get(preview.media_type, 'jpg')}"
        await asyncio.to_thread(self._write, name, preview.image)

    def _write(self, name: str, image: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / name).write_bytes(image)


async def follow(events: AsyncIterator[PoolEvent], bar: Bar, previews: Previews) -> None:
    async for event in events:
        bar.show(event)
        if isinstance(event, JobPreview):
            await previews.save(event.preview)
