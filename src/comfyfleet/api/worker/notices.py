"""A worker that is busy waits here for what concerns its leases: its poll is not open, its heartbeat is far away."""

import time

from comfyfleet.api.worker.calls import Call
from comfyfleet.api.worker.polling import identified
from comfyfleet.dispatch import Holder
from comfyfleet.fleet import Worker, WorkerStatus
from comfyfleet.kernel.ids import DispatchId
from comfyfleet.wire import worker_v1 as wire


async def notices(call: Call) -> wire.NoticesReply:
    said, worker = await identified(call, wire.Notices)
    desk, ends = call.house.desk, time.monotonic() + said.wait_seconds
    heard = frozenset(DispatchId(each) for each in said.heard)
    with desk.notices.listen(Holder(worker.id, worker.incarnation), heard=heard) as listener:
        while True:
            unwanted = await desk.notices.unwanted(listener)
            draining = _drains(worker) and not said.draining
            left_s = ends - time.monotonic()
            if unwanted or draining or left_s <= 0 or listener.is_over:
                return wire.NoticesReply(cancel_requested=sorted(unwanted), draining=_drains(worker))
            await listener.wait(left_s)
            worker = await desk.roster.identify(call.bearer(), said.worker_id)


def _drains(worker: Worker) -> bool:
    return worker.status is WorkerStatus.DRAINING
