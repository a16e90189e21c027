"""What may happen to a worker."""

from enum import StrEnum

from comfyfleet.kernel.lifecycle import Lifecycle


class WorkerStatus(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    DRAINING = "draining"
    REVOKED = "revoked"
    GONE = "gone"


class WorkerEvent(StrEnum):
    APPROVE = "approve"
    DRAIN = "drain"
    REVOKE = "revoke"
    LEAVE = "leave"


P, A, D = WorkerStatus.PENDING, WorkerStatus.APPROVED, WorkerStatus.DRAINING

WORKER = Lifecycle(
    "worker",
    initial=P,
    moves={
        (P, WorkerEvent.APPROVE): A,
        # Also the end of a drain, an operator's second thought, and the return of one that had left.
        (D, WorkerEvent.APPROVE): A,
        (WorkerStatus.REVOKED, WorkerEvent.APPROVE): A,
        (WorkerStatus.GONE, WorkerEvent.APPROVE): A,
        (A, WorkerEvent.DRAIN): D,
        (P, WorkerEvent.REVOKE): WorkerStatus.REVOKED,
        (A, WorkerEvent.REVOKE): WorkerStatus.REVOKED,
        (D, WorkerEvent.REVOKE): WorkerStatus.REVOKED,
        # It is away now, and must not come back.
        (WorkerStatus.GONE, WorkerEvent.REVOKE): WorkerStatus.REVOKED,
        # By its own word when it stops, or by silence.
        (P, WorkerEvent.LEAVE): WorkerStatus.GONE,
        (A, WorkerEvent.LEAVE): WorkerStatus.GONE,
        (D, WorkerEvent.LEAVE): WorkerStatus.GONE,
    },
)

LIVE = (P, A, D)
