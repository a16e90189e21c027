"""Heartbeat: a worker shows that it is alive and how far its jobs are, and hears what it must know of them."""

from collections.abc import Mapping, Sequence

import msgspec

from comfyfleet import dispatch
from comfyfleet.api.worker.assets import fresh_urls
from comfyfleet.api.worker.calls import Call
from comfyfleet.api.worker.places import signed
from comfyfleet.api.worker.polling import identified, proof
from comfyfleet.dispatch import Beat, Extended
from comfyfleet.fleet import Worker, WorkerStatus
from comfyfleet.kernel.errors import InvalidInput, LeaseLost
from comfyfleet.kernel.ids import DispatchId, JobId
from comfyfleet.metrics.facts import LeasesChanged
from comfyfleet.wire import worker_v1 as wire

# Of a URL's life: a worker that has so little left gets a fresh one.
NEARLY_OVER = 0.5
# A worker of ours chooses the prompt's id before it submits it.
NOT_YET_SUBMITTED = frozenset({"leased", "fetching", "waiting", "submitting"})
Urls = dict[DispatchId, dict[str, str]]


async def heartbeat(call: Call) -> wire.HeartbeatReply:
    said, worker = await identified(call, wire.Heartbeat)
    desk = call.house.desk
    desk.presence.note(worker.id, current_load=said.current_load)
    if said.capabilities and await desk.change_capabilities(worker, said.capabilities):
        call.house.live.workers_changed()
    leases = _leases(said)
    beats = [_beat(worker, each) for each in leases]
    extended = await desk.heartbeat(beats)
    if lost := sum(each.dispatch_id not in extended for each in leases):
        call.house.facts.note(LeasesChanged("refused", lost))
    if said.dispatch_id is not None and said.dispatch_id not in extended:
        raise LeaseLost(said.dispatch_id, "it ran out, ended, or is another worker's now")
    held = [each for each in leases if each.dispatch_id in extended]
    for each in held:
        if not each.ahead and each.service_status not in dispatch.NOT_BEGUN:
            # One that does not say how it is with its server has begun what it holds.
            desk.starts.note(DispatchId(each.dispatch_id), just_now=each.service_status is not None)
    _pass_on(call, worker, held)
    urls = await _renewed(call, held)
    return wire.HeartbeatReply(
        leases=[_state(call, worker, each, extended, urls) for each in held],
        lost=[each.dispatch_id for each in leases if each.dispatch_id not in extended],
        heartbeat_interval_seconds=call.house.queue_rules.heartbeat_interval_s,
        draining=worker.status is WorkerStatus.DRAINING,
    )


def _beat(worker: Worker, said: wire.HeldLease) -> Beat:
    submitted_s = said.submitted_seconds
    if submitted_s is None and said.provider_job_id is not None and said.service_status not in NOT_YET_SUBMITTED:
        submitted_s = 0.0  # a worker that names the prompt and not since when: about now
    return Beat(proof(worker, said), said.provider_job_id, said.service_status, submitted_s, said.checked_seconds)


def _state(
    call: Call, worker: Worker, lease: wire.HeldLease, extended: Mapping[DispatchId, Extended], urls: Urls
) -> wire.LeaseState:
    dispatch_id = DispatchId(lease.dispatch_id)
    state, fresh = extended[dispatch_id], urls.get(dispatch_id, {})
    return wire.LeaseState(
        dispatch_id=dispatch_id,
        lease_seconds=round(state.lease_s, 3),
        deadline_seconds=round(state.deadline_s, 3),
        cancel_requested=state.cancel_requested,
        give_back=lease.ahead
        and state.may_be_asked_back
        and call.house.desk.somebody_waits_for(state.lane, but=worker.id),
        input_urls=fresh,
        url_seconds=call.url_ttl_s if fresh else 0,
    )


def _pass_on(call: Call, worker: Worker, leases: Sequence[wire.HeldLease]) -> None:
    """To whoever watches; kept by nobody but the live state. A worker that also sends events says nothing new here."""
    for lease in leases:
        if lease.progress is None:
            continue
        data = {"fraction": lease.progress, "node": lease.node}
        if call.house.live.note_progress(JobId(lease.dispatch_id), data):
            text = msgspec.json.encode(data)
            call.house.desk.live.add(worker.worker_id, "progress", text, dispatch_id=lease.dispatch_id)


async def _renewed(call: Call, leases: Sequence[wire.HeldLease]) -> Urls:
    """Only for those that say that they still need them and that they are about to expire."""
    soon_s = call.url_ttl_s * NEARLY_OVER
    due = [
        DispatchId(each.dispatch_id)
        for each in leases
        if each.input_url_seconds is not None and each.input_url_seconds < soon_s
    ]
    if not due:
        return {}
    async with call.house.control_tx(read_only=True) as tx:
        payloads = await dispatch.read_payloads(tx, due)

    def sign() -> Urls:
        store, life_s = call.house.store, call.url_ttl_s
        return {each: fresh_urls(store, payload, expires_s=life_s) for each, payload in payloads.items()}

    return await signed(call.house.store, sign)


def _leases(said: wire.Heartbeat) -> list[wire.HeldLease]:
    if said.dispatch_id is None and said.lease_token is None:
        return said.leases
    if said.dispatch_id is None or said.lease_token is None:
        raise InvalidInput("lease_token", "goes together with dispatch_id")
    return [wire.HeldLease(dispatch_id=said.dispatch_id, lease_token=said.lease_token), *said.leases]
