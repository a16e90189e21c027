"""What a prompt made goes to the object store. Skeleton: the names stand, the work follows."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.model import OutputFile
from comfyfleet.wire.worker_v1 import Output, OutputUrl, WantedOutput
from comfyfleet.worker.transfer import Transfer

MintOutputs: TypeAlias = Callable[[Sequence[WantedOutput]], Awaitable[Sequence[OutputUrl]]]


async def deliver_outputs(
    outputs: Sequence[OutputFile], *, connector: Connector, transfer: Transfer, mint: MintOutputs, folder: Path
) -> list[Output]:
    """All of them, in their order (the output node's first), as `complete` names them. Nothing stays in `folder`."""
    raise NotImplementedError
