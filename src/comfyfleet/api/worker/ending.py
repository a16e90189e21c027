"""Complete, fail, requeue: a lease ends."""

import hashlib
import time
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import msgspec

from comfyfleet.api.worker.calls import Call
from comfyfleet.api.worker.outputs import require_outputs
from comfyfleet.api.worker.polling import identified, proof
from comfyfleet.audit import WorkerEvent, WorkerEventName
from comfyfleet.dispatch import Ended, FailureClass, Report
from comfyfleet.fleet import Worker
from comfyfleet.jobs.sanitize import sanitize_worker_error
from comfyfleet.kernel.errors import LeaseLost
from comfyfleet.kernel.masking import masked
from comfyfleet.metrics.facts import AttemptEnded, LeasesChanged, SpotInterrupted
from comfyfleet.traces.control_plane import TracedJob
from comfyfleet.wire import worker_v1 as wire

REQUEUED = "requeued"
# So begins the reason of a worker whose Spot machine is being taken away.
SPOT = "spot_"


async def complete(call: Call) -> wire.EndReply:
    said, worker = await identified(call, wire.Complete)
    began_s = time.time()
    detail: dict[str, Any] = {"worker": worker.worker_id}
    if said.outputs:
        await require_outputs(call, proof(worker, said), said.outputs)
        detail["outputs"] = [_output(each) for each in said.outputs]
        detail["disk"] = call.house.store.disk
    report = replace(_report(worker, said), detail=detail, ran_s=said.ran_s)
    ended = await _ended(call, worker, call.house.desk.complete(report), "completed")
    _trace(call, worker, ended, "complete", "completed", began_s=began_s)
    return _reply(ended)


async def fail(call: Call) -> wire.EndReply:
    said, worker = await identified(call, wire.Fail)
    began_s = time.time()
    report = replace(_report(worker, said), failure=FailureClass(said.error_class), error=said.error)
    ended = await _ended(call, worker, call.house.desk.fail(report), said.error_class)
    _write_down(call, WorkerEventName.FAIL, said, ended, error_class=said.error_class)
    error = sanitize_worker_error(said.error)
    _trace(call, worker, ended, "fail", said.error_class, began_s=began_s, error=error)
    return _reply(ended)


async def requeue(call: Call) -> wire.EndReply:
    said, worker = await identified(call, wire.Requeue)
    began_s = time.time()
    report = replace(_report(worker, said), failure=FailureClass.INTERRUPTED, error=said.reason)
    ended = await _ended(call, worker, call.house.desk.requeue(report), REQUEUED)
    if said.reason.startswith(SPOT) and not ended.replayed:
        call.house.facts.note(SpotInterrupted(worker.fleet_id))
    _write_down(call, WorkerEventName.REQUEUE, said, ended, reason=said.reason)
    _trace(call, worker, ended, "requeue", REQUEUED, began_s=began_s)
    return _reply(ended)


async def _ended(call: Call, worker: Worker, ending: Awaitable[Ended], reason: str) -> Ended:
    note = call.house.facts.note
    try:
        ended = await ending
    except LeaseLost:
        note(LeasesChanged("refused"))
        raise
    if not ended.replayed:
        note(AttemptEnded(worker.fleet_id, reason))
        if reason == REQUEUED:
            note(LeasesChanged("returned"))
    return ended


def _trace(
    call: Call, worker: Worker, ended: Ended, verb: str, reason: str, *, began_s: float, error: str | None = None
) -> None:
    """A call that comes again ends nothing: its answer knows of no attempt."""
    if ended.attempt is None:
        return
    attempt, traces = ended.attempt, call.house.traces
    job = TracedJob(attempt.traceparent, attempt.dispatch_id, attempt.tenant_id, attempt.workflow_id)
    traces.reported(job, verb, epoch=attempt.epoch, began_s=began_s)
    traces.attempt_ended(
        job,
        reason,
        epoch=attempt.epoch,
        leased_s=attempt.leased_s,
        worker=worker.worker_id,
        fleet_id=worker.fleet_id,
        error=error,
    )


def _output(said: wire.Output) -> dict[str, Any]:
    """Too much metadata is left out: the file is what counts."""
    output: dict[str, Any] = msgspec.to_builtins(said)
    metadata = masked(said.metadata, numbers=False)
    fits = len(msgspec.json.encode(metadata)) <= wire.METADATA_BYTES_MAX
    return {**output, "metadata": metadata if fits else {}}


def _report(worker: Worker, said: wire.Ending) -> Report:
    return Report(
        proof(worker, said),
        _digest(said),
        provider_job_id=said.provider_job_id,
        service_reason=said.service_reason,
        result=_kept(said.result_metadata),
        service_status=said.service_status,
        submitted_ago_s=said.submitted_seconds,
        checked_ago_s=said.checked_seconds,
    )


def _kept(result: dict[str, Any] | None) -> str | None:
    """What is kept of a server's response. A job is worth more than what is said of it: too much is no refusal."""
    if result is None:
        return None
    text = msgspec.json.encode(masked(result, numbers=False))
    kept = text if len(text) <= wire.RESULT_BYTES_MAX else msgspec.json.encode({"left_out_bytes": len(text)})
    return kept.decode()


def _write_down(call: Call, name: WorkerEventName, said: wire.Ending, ended: Ended, **detail: str) -> None:
    if not ended.replayed:
        event = WorkerEvent(
            name,
            worker_id=said.worker_id,
            dispatch_id=ended.dispatch_id,
            tenant_id=ended.tenant_id,
            address=call.address,
            detail={**detail, "status": ended.status.value},
        )
        call.house.desk.diary.note(event)


def _reply(ended: Ended) -> wire.EndReply:
    return wire.EndReply(dispatch_id=ended.dispatch_id, status=ended.status.value, replayed=ended.replayed)


def _digest(said: wire.Ending) -> str:
    """Tells a call that comes again from another one: the words, not how they were spaced, nor how old they are."""
    timeless = msgspec.structs.replace(said, service_status=None, submitted_seconds=None, checked_seconds=None)
    return hashlib.sha256(msgspec.json.encode([type(said).__name__, timeless])).hexdigest()
