"""What may happen to a job. It follows its dispatch: the row in the central queue decides, this one tells."""

from enum import StrEnum

from comfyfleet.kernel.lifecycle import Lifecycle


class JobStatus(StrEnum):
    QUEUED = "queued"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class JobEvent(StrEnum):
    START = "start"
    COMPLETE = "complete"
    FAIL = "fail"
    CANCEL = "cancel"


Q, P = JobStatus.QUEUED, JobStatus.PROCESSING

JOB = Lifecycle(
    "job",
    initial=Q,
    moves={
        (Q, JobEvent.START): P,
        # The start is told as best it goes: a job may end that was never seen to start.
        (Q, JobEvent.COMPLETE): JobStatus.COMPLETED,
        (P, JobEvent.COMPLETE): JobStatus.COMPLETED,
        (Q, JobEvent.FAIL): JobStatus.FAILED,
        (P, JobEvent.FAIL): JobStatus.FAILED,
        (Q, JobEvent.CANCEL): JobStatus.CANCELLED,
        (P, JobEvent.CANCEL): JobStatus.CANCELLED,
    },
)
