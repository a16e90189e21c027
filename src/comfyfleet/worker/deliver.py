"""The ending of a job is said until it is heard, or its lease is lost."""

from collections.abc import Callable

import msgspec
import structlog

from comfyfleet.kernel.errors import OutputMissing
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.control import CallRefused, ControlClient, insist
from comfyfleet.worker.failures import FailWith, GiveBack

Ending = wire.Complete | wire.Fail | wire.Requeue

log = structlog.get_logger()


def complete_with(
    proof: wire.LeaseProof,
    worker_id: str,
    prompt_id: str | None,
    outputs: list[wire.Output],
    *,
    ran_s: float | None,
) -> Ending:
    return wire.Complete(
        worker_id=worker_id,
        dispatch_id=proof.dispatch_id,
        lease_token=proof.lease_token,
        provider_job_id=prompt_id,
        ran_s=ran_s,
        outputs=outputs,
    )


def end_with(report: FailWith | GiveBack, proof: wire.LeaseProof, worker_id: str, prompt_id: str | None) -> Ending:
    if isinstance(report, GiveBack):
        return wire.Requeue(
            worker_id=worker_id,
            dispatch_id=proof.dispatch_id,
            lease_token=proof.lease_token,
            provider_job_id=prompt_id,
            reason=report.reason or "given back",
        )
    return wire.Fail(
        worker_id=worker_id,
        dispatch_id=proof.dispatch_id,
        lease_token=proof.lease_token,
        provider_job_id=prompt_id,
        error=report.error,
        error_class=report.failure.value,
    )


async def say(control: ControlClient, ending: Ending, *, token: Callable[[], str]) -> wire.EndReply | None:
    """None: an output that it names is not in the store. Raises LeaseLost, Superseded, CallRefused.

    The token is that of now: the ending may have been written down in an earlier life.
    """
    try:
        return await insist(
            lambda: _call(control, msgspec.structs.replace(ending, lease_token=token())),
            what=type(ending).__name__.lower(),
        )
    except CallRefused as refused:
        if refused.refusal == OutputMissing.code:
            log.warning("job.output_missing", problem=refused.message)
            return None
        raise


async def _call(control: ControlClient, said: Ending) -> wire.EndReply:
    match said:
        case wire.Complete():
            return await control.complete(said)
        case wire.Fail():
            return await control.fail(said)
        case wire.Requeue():
            return await control.requeue(said)
