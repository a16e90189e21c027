"""Progress, nodes, previews and log lines of running jobs, in batches."""

from comfyfleet.api.worker.calls import Call
from comfyfleet.api.worker.polling import identified
from comfyfleet.dispatch import Holder, LeaseProof
from comfyfleet.fleet import Worker
from comfyfleet.kernel.errors import InvalidInput, LeaseLost
from comfyfleet.kernel.ids import DispatchId
from comfyfleet.kernel.secret import Secret
from comfyfleet.wire import worker_v1 as wire


async def _require_lease(call: Call, worker: Worker, event: wire.Event) -> None:
    if event.dispatch_id is None or event.lease_token is None:
        raise InvalidInput("lease_token", "goes together with dispatch_id")
    held = LeaseProof(DispatchId(event.dispatch_id), Secret(event.lease_token), Holder(worker.id, worker.incarnation))
    if not await call.house.desk.holds(held):
        raise LeaseLost(event.dispatch_id, "it ran out, ended, or is another worker's now")


async def events(call: Call) -> wire.EventsReply:
    said, worker = await identified(call, wire.Events)
    for event in said.events:
        if event.dispatch_id is not None:
            await _require_lease(call, worker, event)
    for event in said.events:
        call.house.desk.live.add(
            worker.worker_id, event.kind, event.data, dispatch_id=event.dispatch_id, ago_s=event.ago_seconds
        )
    return wire.EventsReply(accepted=len(said.events))
