"""A worker asks for work; and how each call knows who it comes from."""

import time
from typing import TypeVar

import msgspec
from starlette.exceptions import HTTPException

from comfyfleet.api.worker.assets import needs_urls, sign_assets
from comfyfleet.api.worker.calls import Call
from comfyfleet.api.worker.places import output_key, signed
from comfyfleet.desk import Poll
from comfyfleet.dispatch import Grant, Holder, LeaseProof
from comfyfleet.fleet import Worker, WorkerStatus
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.ids import DispatchId, JobId
from comfyfleet.kernel.secret import Secret
from comfyfleet.kernel.traceparent import attempt_context
from comfyfleet.metrics.facts import LeaseTaken
from comfyfleet.storage import SignedRequest
from comfyfleet.traces.control_plane import TracedJob
from comfyfleet.wire import worker_v1 as wire

TAKES = ["service_times", "service_reason", "result_metadata", "output_metadata", "notices", "ending_times"]
ANY_TYPE = "application/octet-stream"
T = TypeVar("T", bound=wire.Request)


async def poll(call: Call) -> wire.PollReply:
    asked, worker = await identified(call, wire.Poll)
    with call.house.desk.presence.calling(worker.id, current_load=asked.current_load):
        return await _answer(call, asked, worker)


async def _answer(call: Call, asked: wire.Poll, worker: Worker) -> wire.PollReply:
    desk, rules = call.house.desk, call.house.queue_rules
    if asked.capabilities and await desk.change_capabilities(worker, asked.capabilities):
        call.house.live.workers_changed()
    drained = worker.status is WorkerStatus.DRAINING
    began = time.monotonic()
    slots = min(asked.max_concurrency, worker.max_concurrency)
    poll = Poll(
        worker=worker,
        providers=frozenset(asked.providers),
        leases_max=slots + rules.lease_ahead + min(asked.uploading, slots),
        warm=frozenset(asked.warm),
        poll_id=asked.poll_id,
        idle=asked.current_load < slots,
        tells_begin=asked.tells_begin,
    )
    grant = await desk.poll(
        poll,
        # One that drains has nothing to wait for; only what a lost reply held may still be its own.
        wait_s=0.0 if drained else asked.wait_seconds,
    )
    if grant is None:
        now = worker if drained else await desk.roster.identify(call.bearer(), asked.worker_id)
        return wire.PollReply(job=None, draining=now.status is WorkerStatus.DRAINING)
    call.house.facts.note(LeaseTaken(worker.fleet_id, time.monotonic() - began))
    if poll.begins:
        desk.starts.note(grant.dispatch_id)
    call.house.live.taken(JobId(grant.dispatch_id), attempt=grant.attempt)
    job = await _job(grant, call, wants_output_url=asked.wants_output_url)
    job.traceparent = _trace(call, grant, worker)
    return wire.PollReply(job=job)


def _trace(call: Call, grant: Grant, worker: Worker) -> str | None:
    """What the worker's spans are below. The wait is recorded once, however often the lease is told."""
    if grant.waited_s is None:
        attempt = attempt_context(grant.traceparent, grant.epoch)
        return None if attempt is None else str(attempt)
    return call.house.traces.leased(
        TracedJob(grant.traceparent, grant.dispatch_id, grant.tenant_id, grant.lane.workflow_id),
        waited_s=grant.waited_s,
        epoch=grant.epoch,
        worker=worker.worker_id,
        fleet_id=worker.fleet_id,
    )


async def _job(grant: Grant, call: Call, *, wants_output_url: bool) -> wire.Job:
    """The output's type and length are not known yet: its URL takes whatever the primary output turns out to be."""
    store, expires_s, path = call.house.store, call.url_ttl_s, output_key(grant)
    has_inputs = needs_urls(grant.payload)

    def sign() -> tuple[bytes, str | None, SignedRequest | None]:
        payload, input_url, output = grant.payload, None, None
        if has_inputs:
            payload, input_url = sign_assets(store, payload, expires_s=expires_s)
        if wants_output_url:
            output = store.presign_put(path, media_type=ANY_TYPE, size_bytes=None, expires_s=expires_s)
        return payload, input_url, output

    # On S3 signing costs a thread: nothing to sign, no thread.
    nothing = grant.payload, None, None
    payload, input_url, output = await signed(store, sign) if has_inputs or wants_output_url else nothing
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
        nonce=grant.nonce,
        input_payload=msgspec.Raw(payload),
        input_url=input_url,
        output_url=None if output is None else output.url,
        output_headers={} if output is None else dict(output.headers),
        output_path=None if output is None else path,
        url_seconds=expires_s,
        takes_ran_s=True,
        takes=TAKES,
    )


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
