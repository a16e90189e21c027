"""What a failure means: whether it is tried again, and whether the worker is kept from that workflow for a while."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

# What a dispatch says of itself when no other worker is worth a try, to operators and programs.
FAILED_EVERYWHERE = "workflow_failed_everywhere"


class FailureClass(StrEnum):
    """The closed list. Programs and people match on these words."""

    USER_INPUT = "user_input"
    WORKFLOW_INVALID = "workflow_invalid"
    EXECUTION_ERROR = "execution_error"
    OUT_OF_MEMORY = "out_of_memory"
    SERVER_FAULT = "server_fault"
    INFRA = "infra"
    INTERRUPTED = "interrupted"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    retried: bool
    # `hash`: this worker leaves this workflow structure alone; `server`: it leaves all it has lanes for alone.
    blocks: Literal["nothing", "hash", "server"]


POLICIES: dict[FailureClass, FailurePolicy] = {
    FailureClass.USER_INPUT: FailurePolicy(retried=False, blocks="nothing"),
    FailureClass.WORKFLOW_INVALID: FailurePolicy(retried=False, blocks="nothing"),
    FailureClass.EXECUTION_ERROR: FailurePolicy(retried=True, blocks="hash"),
    FailureClass.OUT_OF_MEMORY: FailurePolicy(retried=True, blocks="hash"),
    FailureClass.SERVER_FAULT: FailurePolicy(retried=True, blocks="server"),
    FailureClass.INFRA: FailurePolicy(retried=True, blocks="nothing"),
    FailureClass.INTERRUPTED: FailurePolicy(retried=True, blocks="nothing"),
    FailureClass.TIMEOUT: FailurePolicy(retried=False, blocks="nothing"),
    FailureClass.CANCELLED: FailurePolicy(retried=False, blocks="nothing"),
}
