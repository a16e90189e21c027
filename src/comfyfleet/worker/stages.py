"""Where a job stands on this worker, and what may stop it."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Stage(StrEnum):
    LEASED = "leased"
    FETCHING = "fetching"
    WAITING = "waiting"  # for a place on a server
    SUBMITTING = "submitting"  # its prompt id is written down; the server may have it
    QUEUED = "queued"  # on the server, behind another
    RUNNING = "running"
    UPLOADING = "uploading"  # outputs come from the server and go to the store
    ENDING = "ending"


ON_SERVER = frozenset({Stage.SUBMITTING, Stage.QUEUED, Stage.RUNNING})
DELIVERING = frozenset({Stage.UPLOADING, Stage.ENDING})
NOT_BEGUN = frozenset({Stage.LEASED, Stage.FETCHING, Stage.WAITING, Stage.SUBMITTING, Stage.QUEUED})


class Force(IntEnum):
    """The stronger one wins."""

    RETURN = 1  # what has finished may still be delivered
    RETURN_NOW = 2
    CANCEL = 3
    LOST = 4


@dataclass(frozen=True, slots=True)
class Stop:
    force: Force
    reason: str
