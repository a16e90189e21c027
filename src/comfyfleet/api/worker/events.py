"""Progress, nodes, previews and log lines of running jobs, in batches."""

from comfyfleet.api.worker.calls import Call
from comfyfleet.api.worker.polling import identified
from comfyfleet.wire import worker_v1 as wire


async def events(call: Call) -> wire.EventsReply:
    said, worker = await identified(call, wire.Events)
    for event in said.events:
        call.house.desk.live.add(
            worker.worker_id, event.kind, event.data, dispatch_id=event.dispatch_id, ago_s=event.ago_seconds
        )
    return wire.EventsReply(accepted=len(said.events))
