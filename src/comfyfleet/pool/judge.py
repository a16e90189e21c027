"""What becomes of a job after an attempt. Pure: chance and the servers at hand come in."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from comfyfleet.comfy.model import Cancelled, Completed, Failed, FailureClass, Outcome, Returned
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.pool.failures import POLICIES
from comfyfleet.pool.model import QueuedJob

RETURNS_MAX = 20  # a job that is given back for ever ends some day
BACKOFF_BASE_S = 0.5
BACKOFF_CEILING_S = 30.0

Stop = Literal["cancel", "give back"]


@dataclass(frozen=True, slots=True)
class Complete:
    done: Completed


@dataclass(frozen=True, slots=True)
class Retry:
    job: QueuedJob
    failure: Failed
    delay_s: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    failure: Failed


@dataclass(frozen=True, slots=True)
class Cancel:
    pass


Verdict: TypeAlias = Complete | Retry | GiveUp | Cancel


@dataclass(frozen=True, slots=True)
class Ending:
    """How one attempt ended. `lacks`: the server refused the prompt for want of a node or a weight it does not have."""

    outcome: Outcome
    lacks: bool = False
    stop: Stop | None = None  # what we had asked of it


def judge(job: QueuedJob, server: str, ending: Ending, *, others: Collection[str], chance: float) -> Verdict:
    """`job` as it was handed out, this attempt counted. `others`: servers it may run on, up or coming up."""
    match ending.outcome:
        case Completed() as done:
            return Complete(done)
        case _ if ending.stop == "cancel":
            return Cancel()
        case _ if ending.stop == "give back":
            return Retry(replace(job, attempts=job.attempts - 1), _as_failure("given back"), 0.0)
        case Cancelled():
            return Cancel()
        case Returned(reason=reason):
            return _after_return(job, reason, chance)
        case Failed() as failure:
            return _after_failure(job, server, failure, lacks=ending.lacks, others=others, chance=chance)


def _after_return(job: QueuedJob, reason: str, chance: float) -> Verdict:
    if job.returns >= RETURNS_MAX:
        return GiveUp(Failed(FailureClass.INFRA, f"given back {job.returns + 1} times, the last time: {reason}"))
    again = replace(job, attempts=job.attempts - 1, returns=job.returns + 1)
    return Retry(again, _as_failure(reason), _backoff_s(again.returns, chance))


def _after_failure(
    job: QueuedJob, server: str, failure: Failed, *, lacks: bool, others: Collection[str], chance: float
) -> Verdict:
    failed_on = job.failed_on | {server}
    elsewhere = not failed_on.issuperset(others)
    if lacks:
        # Another server may have what this one lacks. Nothing ran, so no attempt is spent: all of them may be asked.
        refused_by = job.refused_by | {server}
        elsewhere = not refused_by.issuperset(others)
        again = replace(job, attempts=job.attempts - 1, failed_on=failed_on, refused_by=refused_by)
        return Retry(again, failure, 0.0) if elsewhere else GiveUp(failure)
    policy = POLICIES[failure.failure]
    if policy.retried == "nowhere" or job.attempts >= job.attempts_max:
        return GiveUp(failure)
    if policy.retried == "anywhere":
        return Retry(job, failure, _backoff_s(job.attempts, chance))
    if not elsewhere and policy.blocks == "pair":
        return GiveUp(failure)  # it has failed on every server there is: more of the same would not help
    out_of_memory = failure.failure is FailureClass.OUT_OF_MEMORY
    return Retry(replace(job, failed_on=failed_on, wants_memory=job.wants_memory or out_of_memory), failure, 0.0)


def _as_failure(reason: str) -> Failed:
    return Failed(FailureClass.INTERRUPTED, reason)


def _backoff_s(attempt: int, chance: float) -> float:
    return backoff_s(attempt, chance=chance, base_s=BACKOFF_BASE_S, ceiling_s=BACKOFF_CEILING_S)
