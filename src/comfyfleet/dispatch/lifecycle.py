"""What may happen to a dispatch: the one row that decides the outcome of a job."""

from enum import StrEnum

from comfyfleet.kernel.lifecycle import Lifecycle


class DispatchStatus(StrEnum):
    QUEUED = "queued"
    LEASED = "leased"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DELAYED = "delayed"


class DispatchEvent(StrEnum):
    LEASE = "lease"
    COMPLETE = "complete"
    FAIL = "fail"
    CANCEL = "cancel"
    DELAY = "delay"
    REQUEUE = "requeue"
    PROMOTE = "promote"


# What a worker says of a lease whose job no server works on yet. The first is written with the lease.
TAKEN = "leased"
ON_ITS_SERVER = "queued"
NOT_BEGUN = frozenset({TAKEN, "fetching", "waiting", "submitting", "submitted", "pending", ON_ITS_SERVER})

Q, L, D = DispatchStatus.QUEUED, DispatchStatus.LEASED, DispatchStatus.DELAYED

DISPATCH = Lifecycle(
    "dispatch",
    initial=Q,
    moves={
        (Q, DispatchEvent.LEASE): L,
        (L, DispatchEvent.COMPLETE): DispatchStatus.COMPLETED,
        # From the worker, from the sweeper when attempts are used up, or at the queue deadline.
        (L, DispatchEvent.FAIL): DispatchStatus.FAILED,
        (Q, DispatchEvent.FAIL): DispatchStatus.FAILED,
        (D, DispatchEvent.FAIL): DispatchStatus.FAILED,
        # A leased one is cancelled by its worker, which is told with what it says next.
        (L, DispatchEvent.CANCEL): DispatchStatus.CANCELLED,
        (Q, DispatchEvent.CANCEL): DispatchStatus.CANCELLED,
        (D, DispatchEvent.CANCEL): DispatchStatus.CANCELLED,
        # A retryable failure or an expired lease waits out a backoff; a returned one goes back at once.
        (L, DispatchEvent.DELAY): D,
        (L, DispatchEvent.REQUEUE): Q,
        (D, DispatchEvent.PROMOTE): Q,
    },
)
