"""What an outcome becomes in a report, and when a server is no longer to be trusted. Pure."""

import errno
import re
from dataclasses import dataclass, field, replace

from comfyfleet.comfy.errors import ServerTimedOut, ServerUnreachable
from comfyfleet.comfy.model import Cancelled, Completed, Failed, FailureClass, Outcome, Returned
from comfyfleet.comfy.verdict import ReturnReason, ServiceReason, service_reason, words_of_return
from comfyfleet.kernel.errors import FleetError, NothingDelivered
from comfyfleet.pool.refusals import ending_of
from comfyfleet.worker.transfer_errors import ContentMismatch, DiskTrouble, TransferRefused

ERROR_CHARS_MAX = 4_000
REASON_CHARS_MAX = 500
FAULTS_IN_A_ROW_MAX = 2
# Somebody else ended it: the attempt is given back.
NOT_COUNTED = frozenset({ReturnReason.INTERRUPTED})
# Its process is gone and its port refuses: nothing that the job did is known to be the cause.
NOT_ITS_FAULT = frozenset({ReturnReason.SERVER_GONE})
# The server went, and the prompt with it. What stood in its queue, behind another, had no part in that.
GONE_WITH_SERVER = frozenset(
    {ReturnReason.LOST, ReturnReason.SERVER_RESTARTED, ReturnReason.NEVER_QUEUED, ReturnReason.UNREACHABLE}
)
_CUDA = re.compile(r"cuda|hip error|cublas|cudnn|nccl|device-side assert|illegal memory access|nvml|gpu is lost", re.I)


@dataclass(frozen=True, slots=True)
class FailWith:
    """`service_reason`, here and below: what the server did, within the class."""

    failure: FailureClass
    error: str
    service_reason: ServiceReason | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class GiveBack:
    """Another worker, or this one later; the attempt does not count."""

    reason: str
    service_reason: ServiceReason | None = field(default=None, compare=False)


Report = FailWith | GiveBack


def report_outcome(outcome: Failed | Returned | Cancelled, *, begun: bool = True) -> Report:
    """`begun`: it was heard to run, or may have run while nobody listened."""
    return replace(_report(outcome, begun=begun), service_reason=service_reason(outcome))


def _report(outcome: Failed | Returned | Cancelled, *, begun: bool) -> Report:
    match outcome:
        case Failed():
            return FailWith(outcome.failure, _words(outcome))
        case Returned(reason=reason) if reason in NOT_COUNTED:
            return GiveBack(reason[:REASON_CHARS_MAX])
        case Returned(reason=reason) if reason in NOT_ITS_FAULT:
            return GiveBack(_reason_in_words(reason))
        case Returned(reason=reason) if reason in GONE_WITH_SERVER and not begun:
            return GiveBack(f"{reason}, before it had begun to run")
        case Returned(reason=reason):
            return FailWith(FailureClass.INFRA, _reason_in_words(reason))
        case Cancelled():
            return FailWith(FailureClass.CANCELLED, "Cancelled, as was asked for.")


def report_error(error: FleetError | OSError, *, posted: bool = True) -> Report:
    """Of whatever went wrong before the prompt ran, or after. A server that was not there has run nothing; nor has one
    to which nothing was posted."""
    if isinstance(error, OSError):
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE)
        failure = FailureClass.SERVER_FAULT if full else FailureClass.INFRA
        return FailWith(failure, f"the worker's disk: {error.strerror or type(error).__name__}"[:ERROR_CHARS_MAX])
    if isinstance(error, ServerUnreachable | ServerTimedOut) and not (posted and getattr(error, "sent", True)):
        return GiveBack(error.message[:REASON_CHARS_MAX])
    if isinstance(error, DiskTrouble):
        return FailWith(FailureClass.SERVER_FAULT, error.message[:ERROR_CHARS_MAX])
    if isinstance(error, TransferRefused | ContentMismatch):
        return FailWith(FailureClass.INFRA, error.message[:ERROR_CHARS_MAX])
    outcome = ending_of(error).outcome
    if isinstance(outcome, Completed):
        raise TypeError("an error is no success")
    return report_outcome(outcome)


def report_refusal(code: str, message: str) -> Report:
    """The control plane does not take the result. One without an output will be without it elsewhere, too."""
    failure = FailureClass.WORKFLOW_INVALID if code == NothingDelivered.code else FailureClass.INFRA
    return FailWith(failure, message[:ERROR_CHARS_MAX])


def _reason_in_words(reason: str) -> str:
    """The code for operators and programs, the sentence for people."""
    words = words_of_return(reason)
    return (words if words == reason else f"{reason}: {words}")[:ERROR_CHARS_MAX]


def _words(failed: Failed) -> str:
    where = f"node {failed.node} ({failed.node_class}): " if failed.node else ""
    kind = f"{failed.exception_type}: " if failed.exception_type else ""
    details = f"\n{failed.details}" if failed.details else ""
    return f"{where}{kind}{failed.message}{details}"[:ERROR_CHARS_MAX]


def is_cuda_fault(outcome: Outcome) -> bool:
    """The process has lost its card: nothing it is given will run before it is started again."""
    return (
        isinstance(outcome, Failed)
        and outcome.failure is FailureClass.SERVER_FAULT
        and bool(_CUDA.search(f"{outcome.exception_type or ''} {outcome.message}") or _is_torchs(outcome))
    )


def _is_torchs(failed: Failed) -> bool:
    return (failed.exception_type or "").rpartition(".")[2] == "AcceleratorError"


@dataclass(slots=True)
class ServerHealth:
    """What a server did lately, and what follows."""

    faults_in_a_row: dict[str, int] = field(default_factory=dict)

    def learn(self, server: str, outcome: Outcome) -> str | None:
        """Why it is unhealthy from now on; None: it goes on."""
        match outcome:
            case Completed():
                self.faults_in_a_row.pop(server, None)
                return None
            case Failed(failure=FailureClass.SERVER_FAULT, message=message):
                count = self.faults_in_a_row[server] = self.faults_in_a_row.get(server, 0) + 1
                if is_cuda_fault(outcome) or count >= FAULTS_IN_A_ROW_MAX:
                    self.faults_in_a_row.pop(server, None)
                    return message[:REASON_CHARS_MAX]
                return None
            case _:
                return None
