"""Nothing outlives its job. Skeleton: the names stand, the work follows."""

from collections.abc import Collection
from pathlib import Path
from uuid import UUID

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.model import OutputFile
from comfyfleet.worker.prepare import Mark


class WorkFolders:
    """One folder a lease, under the worker's home."""

    def __init__(self, root: Path) -> None: ...

    def open(self, dispatch_id: UUID, epoch: int) -> Path:
        raise NotImplementedError

    async def discard(self, dispatch_id: UUID, epoch: int) -> None:
        raise NotImplementedError

    async def sweep(self, keep: Collection[tuple[UUID, int]] = ()) -> int:
        """At the start: what an earlier life left. How many folders went."""
        raise NotImplementedError


class ServerFiles:
    """The folders of a ComfyUI on this machine (`--comfyui-dir`); with None nothing can be deleted there."""

    def __init__(self, comfyui_dir: Path | None) -> None: ...

    async def remove(self, mark: Mark, outputs: Collection[OutputFile] = ()) -> None:
        """This attempt's inputs, outputs and previews."""
        raise NotImplementedError

    async def sweep(self, keep_nonces: Collection[str] = ()) -> int:
        """At the start: what an earlier life left on the server."""
        raise NotImplementedError


async def forget_prompt(connector: Connector, prompt_id: str) -> bool:
    """Our history entry, after delivery. A server that is away is no reason to fail a job that is done."""
    raise NotImplementedError
