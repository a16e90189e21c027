"""What a failure means in a pool: where the job goes next, and what its server is kept from for a while. Pure."""

from dataclasses import dataclass
from typing import Literal

from comfyfleet.comfy.model import FailureClass

Where = Literal["nowhere", "elsewhere", "anywhere"]
Blocks = Literal["nothing", "pair", "server"]


@dataclass(frozen=True, slots=True)
class FailurePolicy:
    """`pair`: this server leaves this workflow structure alone; `server`: it leaves all of them alone."""

    retried: Where
    blocks: Blocks


POLICIES: dict[FailureClass, FailurePolicy] = {
    FailureClass.USER_INPUT: FailurePolicy(retried="nowhere", blocks="nothing"),
    FailureClass.WORKFLOW_INVALID: FailurePolicy(retried="nowhere", blocks="nothing"),
    FailureClass.EXECUTION_ERROR: FailurePolicy(retried="elsewhere", blocks="pair"),
    FailureClass.OUT_OF_MEMORY: FailurePolicy(retried="elsewhere", blocks="pair"),
    FailureClass.SERVER_FAULT: FailurePolicy(retried="elsewhere", blocks="server"),
    FailureClass.INFRA: FailurePolicy(retried="anywhere", blocks="nothing"),
    FailureClass.INTERRUPTED: FailurePolicy(retried="anywhere", blocks="nothing"),
    FailureClass.TIMEOUT: FailurePolicy(retried="nowhere", blocks="nothing"),
    FailureClass.CANCELLED: FailurePolicy(retried="nowhere", blocks="nothing"),
}
