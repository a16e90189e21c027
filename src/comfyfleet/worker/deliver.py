"""The ending of a job is said until it is heard, or its lease is lost."""

from collections.abc import Callable
from typing import Any

import msgspec
import structlog

from comfyfleet.comfy.verdict import ServiceReason
from comfyfleet.kernel.errors import OutputMissing
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.control import CallRefused, ControlClient, insist
from comfyfleet.worker.failures import FailWith, GiveBack
from comfyfleet.worker.response import clean_text

Ending = wire.Complete | wire.Fail | wire.Requeue

log = structlog.get_logger()


def complete_with(
    proof: wire.LeaseProof,
    worker_id: str,
    prompt_id: str | None,
    outputs: list[wire.Output],
    *,
    ran_s: float | None,
    response: dict[str, Any] | None = None,
) -> Ending:
    return wire.Complete(
        worker_id=worker_id,
        dispatch_id=proof.dispatch_id,
        lease_token=proof.lease_token,
        provider_job_id=prompt_id,
        ran_s=ran_s,
        outputs=outputs,
        result_metadata=response,
    )


def end_with(
    report: FailWith | GiveBack,
    proof: wire.LeaseProof,
    worker_id: str,
    prompt_id: str | None,
    *,
    says_reason: bool = False,
    response: dict[str, Any] | None = None,
) -> Ending:
    """`says_reason`: the control plane knows the field."""
    said: wire.ServiceReason | None = None
    if says_reason and report.service_reason is not None:
        said = "service_error" if report.service_reason is ServiceReason.ERROR else "service_job_not_found"
    if isinstance(report, GiveBack):
        return wire.Requeue(
            worker_id=worker_id,
            dispatch_id=proof.dispatch_id,
            lease_token=proof.lease_token,
            provider_job_id=prompt_id,
            service_reason=said,
            result_metadata=response,
            reason=clean_text(report.reason) or "given back",
        )
    return wire.Fail(
        worker_id=worker_id,
        dispatch_id=proof.dispatch_id,
        lease_token=proof.lease_token,
        provider_job_id=prompt_id,
        service_reason=said,
        result_metadata=response,
        error=clean_text(report.error),
        error_class=report.failure.value,
    )


async def say(control: ControlClient, ending: Ending, *, now: Callable[[], dict[str, Any]]) -> wire.EndReply | None:
    """None: an output that it names is not in the store. Raises LeaseLost, Superseded, CallRefused.

    `now`: the token, and how long ago things were. The ending may have been written down in an earlier life.
    """
    try:
        return await insist(
            lambda: _call(control, msgspec.structs.replace(ending, **now())),
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
