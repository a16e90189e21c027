"""Poll and heartbeat: a worker asks for work, and shows that it is alive."""

from functools import partial
from typing import TypeVar

import anyio.to_thread
import msgspec
from starlette.exceptions import HTTPException

from comfyfleet.api.worker.assets import needs_urls, sign_assets, url_life_s
from comfyfleet.api.worker.calls import Call
from comfyfleet.desk import Poll
from comfyfleet.dispatch import Beat, Grant, Holder, LeaseProof
from comfyfleet.fleet import Worker, WorkerStatus
from comfyfleet.kernel.errors import FleetError, InvalidInput, LeaseLost
from comfyfleet.kernel.ids import DispatchId, JobId
from comfyfleet.kernel.secret import Secret
from comfyfleet.wire import worker_v1 as wire

T = TypeVar("T", bound=wire.Request)


async def poll(call: Call) -> wire.PollReply:
    asked, worker = await identified(call, wire.Poll)
    desk, rules = call.house.desk, call.house.queue_rules
    desk.presence.note(worker.id, current_load=asked.current_load)
    if asked.capabilities:
        await desk.change_capabilities(worker, asked.capabilities)
    drained = worker.status is WorkerStatus.DRAINING
    slots = min(asked.max_concurrency, worker.max_concurrency)
    grant = await desk.poll(
        Poll(
            worker=worker,
            providers=frozenset(asked.providers),
            leases_max=slots + rules.lease_ahead + min(asked.uploading, slots),
            warm=frozenset(asked.warm),
            poll_id=asked.poll_id,
            idle=asked.current_load < slots,
        ),
        # One that drains has nothing to wait for; only what a lost reply held may still be its own.
        wait_s=0.0 if drained else asked.wait_seconds,
    )
    if grant is None:
        now = worker if drained else await desk.roster.identify(call.bearer(), asked.worker_id)
        return wire.PollReply(job=None, draining=now.status is WorkerStatus.DRAINING)
    desk.starts.note(grant.dispatch_id)
    call.house.live.changed(JobId(grant.dispatch_id))
    return wire.PollReply(job=await _job(grant, call))


async def _job(grant: Grant, call: Call) -> wire.Job:
    payload, input_url = grant.payload, None
    if needs_urls(payload):
        expires_s = url_life_s(grant.deadline_s, at_least_s=call.url_ttl_s)
        # In a thread: S3 may renew its credentials.
        payload, input_url = await anyio.to_thread.run_sync(
            partial(sign_assets, call.house.store, payload, expires_s=expires_s)
        )
    return wire.Job(
        dispatch_id=grant.dispatch_id,
        lease_token=grant.token.reveal(),
        lease_seconds=grant.grace_s,
        heartbeat_interval_seconds=call.house.queue_rules.heartbeat_interval_s,
        deadline_seconds=grant.deadline_s,
        job_id=grant.dispatch_id,
        workflow_id=grant.lane.workflow_id,
        structure_hash=grant.lane.structure_hash,
        provider=grant.lane.provider.value,
        attempt=grant.attempt,
        epoch=grant.epoch,
        input_payload=msgspec.Raw(payload),
        input_url=input_url,
    )


async def heartbeat(call: Call) -> wire.HeartbeatReply:
    said, worker = await identified(call, wire.Heartbeat)
    desk = call.house.desk
    desk.presence.note(worker.id, current_load=said.current_load)
    leases = _leases(said)
    beats = [Beat(proof(worker, each), each.provider_job_id, each.service_status) for each in leases]
    extended = await desk.heartbeat(beats)
    if said.dispatch_id is not None and said.dispatch_id not in extended:
        raise LeaseLost(said.dispatch_id, "it ran out, ended, or is another worker's now")
    states = [
        wire.LeaseState(
            dispatch_id=each.dispatch_id,
            lease_seconds=round(state.lease_s, 3),
            deadline_seconds=round(state.deadline_s, 3),
            cancel_requested=state.cancel_requested,
            give_back=each.ahead and desk.somebody_waits_for(state.lane, but=worker.id),
        )
        for each in leases
        if (state := extended.get(DispatchId(each.dispatch_id))) is not None
    ]
    kept = {state.dispatch_id for state in states}
    return wire.HeartbeatReply(
        leases=states,
        lost=[each.dispatch_id for each in leases if each.dispatch_id not in kept],
        heartbeat_interval_seconds=call.house.queue_rules.heartbeat_interval_s,
        draining=worker.status is WorkerStatus.DRAINING,
    )


def _leases(said: wire.Heartbeat) -> list[wire.HeldLease]:
    if said.dispatch_id is None and said.lease_token is None:
        return said.leases
    if said.dispatch_id is None or said.lease_token is None:
        raise InvalidInput("lease_token", "goes together with dispatch_id")
    return [wire.HeldLease(dispatch_id=said.dispatch_id, lease_token=said.lease_token), *said.leases]


async def identified(call: Call, kind: type[T]) -> tuple[T, Worker]:
    """What is said, and by whom, known by its bearer token. A stranger is not told what is wrong with its words."""
    token, roster = call.bearer(), call.house.desk.roster
    try:
        said = call.read(kind)
    except (FleetError, HTTPException):
        await roster.require_known(token)
        raise
    return said, await roster.identify(token, said.worker_id)


def proof(worker: Worker, lease: wire.LeaseProof | wire.Ending | wire.Outputs) -> LeaseProof:
    holder = Holder(worker.id, worker.incarnation)
    return LeaseProof(DispatchId(lease.dispatch_id), Secret(lease.lease_token), holder)
