"""Progress, nodes, previews and log lines of running jobs, in batches."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from comfyfleet.api.worker.calls import Call
from comfyfleet.api.worker.polling import identified
from comfyfleet.dispatch import HeldLease, Holder, LeaseProof
from comfyfleet.fleet import Worker
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import DispatchId, JobId
from comfyfleet.kernel.paths import without_folders
from comfyfleet.kernel.secret import Secret
from comfyfleet.live import Report
from comfyfleet.live.hub import bytes_max
from comfyfleet.live.model import LOG, NODE, PREVIEW, PROGRESS
from comfyfleet.wire import worker_v1 as wire

RUNS = frozenset({PROGRESS, NODE, PREVIEW})


async def events(call: Call) -> wire.EventsReply:
    said, worker = await identified(call, wire.Events)
    call.house.desk.allowances.spend(worker.worker_id, events=len(said.events), size_bytes=len(call.body))
    standing = await _standing(call, worker, said.events)
    lost = {each for (each, _), lease in standing.items() if lease is None}
    reports, too_large, accepted = [], [], 0
    for place, event in enumerate(said.events):
        if event.dispatch_id in lost:
            continue
        data = msgspec.json.encode(event.data)
        if len(data) > bytes_max(event.kind):
            too_large.append(place)
            continue
        accepted += 1
        # Operators see that there was a frame; thousands of them would be the server's memory.
        shown = msgspec.json.encode({"bytes": len(data)}) if event.kind == PREVIEW else data
        call.house.desk.live.add(
            worker.worker_id, event.kind, shown, dispatch_id=event.dispatch_id, ago_s=event.ago_seconds
        )
        if event.dispatch_id is not None:
            told = data if event.kind != LOG else msgspec.json.encode(_for_users(event.data))
            if _shows_that_it_runs(event):
                call.house.desk.starts.note(DispatchId(event.dispatch_id), just_now=True)
            reports.append(Report(JobId(event.dispatch_id), event.kind, told, event.ago_seconds))
    await call.house.live.publish(reports)
    unwanted = sorted({each for (each, _), lease in standing.items() if lease is not None and lease.cancel_requested})
    return wire.EventsReply(accepted=accepted, lost=sorted(lost), cancel_requested=unwanted, too_large=too_large)


def _shows_that_it_runs(event: wire.Event) -> bool:
    """`waits` tells where it stands among the jobs of its worker, not what a server does."""
    return event.kind in RUNS and "waits" not in event.data


def _for_users(data: dict[str, Any]) -> dict[str, Any]:
    """Operators read a line as it is; the folders of a server are not for users."""
    line = data.get("line")
    return {**data, "line": without_folders(line)} if isinstance(line, str) else data


async def _standing(call: Call, worker: Worker, said: Sequence[wire.Event]) -> dict[tuple[UUID, str], HeldLease | None]:
    """Each lease is looked at once. One that ended a moment ago must not silence the others of its worker."""
    proofs: dict[tuple[UUID, str], LeaseProof] = {}
    for event in said:
        if event.dispatch_id is None:
            continue
        if event.lease_token is None:
            raise InvalidInput("lease_token", "goes together with dispatch_id")
        proofs[event.dispatch_id, event.lease_token] = LeaseProof(
            DispatchId(event.dispatch_id), Secret(event.lease_token), Holder(worker.id, worker.incarnation)
        )
    return {key: await call.house.desk.held(proof) for key, proof in proofs.items()}
