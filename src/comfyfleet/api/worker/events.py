"""Progress, nodes, previews and log lines of running jobs, in batches."""

import msgspec

from comfyfleet.api.worker.calls import Call
from comfyfleet.api.worker.polling import identified
from comfyfleet.dispatch import Holder, LeaseProof
from comfyfleet.fleet import Worker
from comfyfleet.kernel.errors import InvalidInput, LeaseLost
from comfyfleet.kernel.ids import DispatchId, JobId
from comfyfleet.kernel.secret import Secret
from comfyfleet.live import Report
from comfyfleet.live.model import PREVIEW
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
    reports = []
    for event in said.events:
        data = msgspec.json.encode(event.data)
        # Operators see that there was a frame; thousands of them would be the server's memory.
        shown = {"bytes": len(data)} if event.kind == PREVIEW else event.data
        call.house.desk.live.add(
            worker.worker_id, event.kind, shown, dispatch_id=event.dispatch_id, ago_s=event.ago_seconds
        )
        if event.dispatch_id is not None:
            reports.append(Report(JobId(event.dispatch_id), event.kind, data, event.ago_seconds))
    await call.house.live.publish(reports)
    return wire.EventsReply(accepted=len(said.events))
