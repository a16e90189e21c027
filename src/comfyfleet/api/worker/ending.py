"""Complete, fail, requeue: a lease ends."""

import hashlib

import msgspec

from comfyfleet import dispatch
from comfyfleet.api.worker.calls import Call
from comfyfleet.api.worker.outputs import require_outputs
from comfyfleet.api.worker.polling import proof, who
from comfyfleet.dispatch import Ended, FailureClass, Report
from comfyfleet.wire import worker_v1 as wire


async def complete(call: Call) -> wire.EndReply:
    said = call.read(wire.Complete)
    worker = await who(call, said.worker_id)
    detail = {}
    if said.outputs:
        await require_outputs(call, proof(worker, said), said.outputs)
        detail["outputs"] = msgspec.to_builtins(said.outputs)
    report = Report(proof(worker, said), _digest(said), detail=detail, provider_job_id=said.provider_job_id)
    return _reply(await call.house.desk.complete(report))


async def fail(call: Call) -> wire.EndReply:
    said = call.read(wire.Fail)
    worker = await who(call, said.worker_id)
    report = Report(
        proof(worker, said),
        _digest(said),
        provider_job_id=said.provider_job_id,
        failure=FailureClass(said.error_class),
        error=said.error,
    )
    return _reply(await call.house.desk.fail(report))


async def requeue(call: Call) -> wire.EndReply:
    said = call.read(wire.Requeue)
    worker = await who(call, said.worker_id)
    report = Report(proof(worker, said), _digest(said), failure=dispatch.FailureClass.INTERRUPTED, error=said.reason)
    return _reply(await call.house.desk.requeue(report))


def _reply(ended: Ended) -> wire.EndReply:
    return wire.EndReply(dispatch_id=ended.dispatch_id, status=ended.status.value, replayed=ended.replayed)


def _digest(said: wire.Ending) -> str:
    """Tells a call that comes again from another one: the words, not how they were spaced."""
    return hashlib.sha256(msgspec.json.encode([type(said).__name__, said])).hexdigest()
