"""Who ran what, from when to when. Pure."""

from dataclasses import dataclass
from datetime import datetime

from msgspec import Struct

from comfyfleet.kernel.ids import DispatchId, WorkerId, WorkflowId


class Block(Struct, frozen=True):
    """One attempt. In seconds from the beginning that was asked for; no end, and no outcome: it runs. A `Struct`:
    there are fifty thousand of them."""

    dispatch_id: DispatchId
    epoch: int
    worker_id: WorkerId
    workflow_id: WorkflowId | None
    begins_s: float
    ends_s: float | None
    outcome: str | None

    @property
    def key(self) -> tuple[DispatchId, int]:
        return self.dispatch_id, self.epoch


@dataclass(frozen=True, slots=True)
class Timeline:
    """`at`: when it was read. `left_out`: there was more than is given; the latest is here."""

    begins_at: datetime
    ends_at: datetime
    at: datetime
    blocks: list[Block]
    left_out: bool
