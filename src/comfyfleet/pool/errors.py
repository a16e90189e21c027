"""What a pool may refuse or report.

Refused       QueueFull  RunFailed  RunCancelled
Unavailable   PoolClosed
"""

from comfyfleet.comfy.model import Failed
from comfyfleet.kernel.errors import Refused, Unavailable


class QueueFull(Refused):
    """Too many jobs wait already."""

    code = "queue_full"
    text = "{limit} jobs wait already, and no more are taken."

    def __init__(self, *, limit: int) -> None:
        super().__init__(limit=limit)


class PoolClosed(Unavailable):
    """The pool is not open: not yet, or no longer. The job has not run to its end."""

    code = "pool_closed"
    text = "The pool is not open."


class RunFailed(Refused):
    """The job has failed for good. `failure` is the last attempt's."""

    code = "run_failed"
    text = "Job {job_id} failed after {attempts} attempts, {failure_class} on {server}: {problem}"

    def __init__(self, job_id: str, *, failure: Failed, server: str, attempts: int) -> None:
        self.failure = failure
        self.server = server
        super().__init__(
            job_id=job_id,
            failure_class=failure.failure.value,
            server=server,
            attempts=attempts,
            problem=failure.message,
        )


class RunCancelled(Refused):
    """Somebody cancelled the job."""

    code = "run_cancelled"
    text = "Job {job_id} was cancelled: {reason}."

    def __init__(self, job_id: str, *, reason: str) -> None:
        super().__init__(job_id=job_id, reason=reason)
