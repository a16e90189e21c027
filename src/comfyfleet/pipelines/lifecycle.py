"""What may happen to a run, and to a candidate."""

from enum import StrEnum

from comfyfleet.kernel.lifecycle import Lifecycle


class RunStatus(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    WAITING_FOR_APPROVAL = "waiting_for_approval"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"


class RunEvent(StrEnum):
    START = "start"
    WAIT = "wait"
    GO_ON = "go_on"
    PAUSE = "pause"
    RESUME = "resume"
    COMPLETE = "complete"
    FAIL = "fail"
    STOP = "stop"


_N, _R, _W, _P = RunStatus.PENDING, RunStatus.RUNNING, RunStatus.WAITING_FOR_APPROVAL, RunStatus.PAUSED

RUN = Lifecycle(
    "run",
    initial=_N,
    moves={
        (_N, RunEvent.START): _R,
        (_R, RunEvent.WAIT): _W,
        (_W, RunEvent.GO_ON): _R,
        # A job is tried again by hand, or a gate let more through: what seemed over is not.
        (RunStatus.COMPLETED, RunEvent.GO_ON): _R,
        (RunStatus.FAILED, RunEvent.GO_ON): _R,
        (_N, RunEvent.PAUSE): _P,
        (_R, RunEvent.PAUSE): _P,
        (_W, RunEvent.PAUSE): _P,
        # What it does next is found out again: it may turn out to wait, or to be over.
        (_P, RunEvent.RESUME): _R,
        (_R, RunEvent.COMPLETE): RunStatus.COMPLETED,
        (_R, RunEvent.FAIL): RunStatus.FAILED,
        (_N, RunEvent.STOP): RunStatus.STOPPED,
        (_R, RunEvent.STOP): RunStatus.STOPPED,
        (_W, RunEvent.STOP): RunStatus.STOPPED,
        (_P, RunEvent.STOP): RunStatus.STOPPED,
    },
)


# They ask for nothing more by themselves; but for the last, a person may make them go on.
ENDED = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.STOPPED)


class CandidateStatus(StrEnum):
    ACTIVE = "active"
    REJECTED = "rejected"


class CandidateEvent(StrEnum):
    REJECT = "reject"


CANDIDATE = Lifecycle(
    "candidate",
    initial=CandidateStatus.ACTIVE,
    moves={(CandidateStatus.ACTIVE, CandidateEvent.REJECT): CandidateStatus.REJECTED},
)
