"""What may happen to a job of the pool."""

from enum import StrEnum

from comfyfleet.kernel.lifecycle import Lifecycle


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class JobMove(StrEnum):
    START = "start"
    RETRY = "retry"
    COMPLETE = "complete"
    FAIL = "fail"
    CANCEL = "cancel"


Q, R = JobState.QUEUED, JobState.RUNNING

POOL_JOB = Lifecycle(
    "job of the pool",
    initial=Q,
    moves={
        (Q, JobMove.START): R,
        (R, JobMove.RETRY): Q,
        (R, JobMove.COMPLETE): JobState.COMPLETED,
        (R, JobMove.FAIL): JobState.FAILED,
        (Q, JobMove.FAIL): JobState.FAILED,  # every server that is left has refused its graph
        (Q, JobMove.CANCEL): JobState.CANCELLED,
        (R, JobMove.CANCEL): JobState.CANCELLED,
    },
)
