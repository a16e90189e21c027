"""Register and deregister: a worker joins, comes back, and leaves."""

from collections.abc import Collection
from typing import Any

import structlog

from comfyfleet import audit, dispatch, fleet, workflows
from comfyfleet.api.worker.asg import InstanceCheck, check_instance
from comfyfleet.api.worker.calls import Call
from comfyfleet.api.worker.polling import identified
from comfyfleet.audit import WorkerEvent, WorkerEventName
from comfyfleet.db import ControlTx
from comfyfleet.dispatch import Ended, Holder, LeaseProof
from comfyfleet.fleet import FleetSecret, NameProof, NewWorker, Registration
from comfyfleet.kernel.errors import (
    FleetSecretScope,
    Forbidden,
    InvalidInput,
    LeasesOpen,
    Unauthenticated,
    WorkerNameElsewhere,
    WorkerNameHeld,
)
from comfyfleet.kernel.ids import DispatchId, WorkflowId
from comfyfleet.kernel.secret import Secret
from comfyfleet.wire import worker_v1 as wire

log = structlog.get_logger()


async def register(call: Call) -> wire.Registered:
    """By fleet secret. The same name again takes over: one request, and a crashed worker is back at work."""
    await _require_secret(call)
    said = call.read(wire.Register)
    checked = await _require_instance(call, said.worker_id)
    async with call.house.control_tx() as tx:
        try:
            made = await _join(tx, said, call)
        except (WorkerNameHeld, WorkerNameElsewhere, FleetSecretScope) as refused:
            log.warning("worker.registration_refused", worker_id=said.worker_id, code=refused.code, from_=call.address)
            raise
        tokens, returned = await _go_on(tx, said, made, call)
        await audit.record_worker_events(tx, _events(said, made, call, checked=checked, rebound=len(tokens)))
        assigned = await fleet.allowed_workflows(tx, made.worker)
        lacks = await _lacks(tx, said, assigned)
    call.house.desk.worker_changed(said.worker_id)
    call.house.live.workers_changed()
    call.house.taken_back(returned)
    queue = call.house.queue_rules
    return wire.Registered(
        worker_id=said.worker_id,
        token=made.token.reveal(),
        workflows_assigned=sorted(assigned.values()),
        status=made.worker.status.value,
        incarnation=made.worker.incarnation,
        lease_ttl_seconds=queue.lease_ttl_s,
        heartbeat_interval_seconds=queue.heartbeat_interval_s,
        leases=[
            wire.Rebound(dispatch_id=each, lease_token=token.reveal(), lease_seconds=queue.grace_s)
            for each, token in tokens.items()
        ],
        takes=["wants_output_url", "tells_begin"],
        lacks=lacks,
    )


async def _lacks(tx: ControlTx, said: wire.Register, assigned: Collection[WorkflowId]) -> dict[str, list[str]]:
    """So that the worker's own log says why it gets less than it was assigned."""
    has = fleet.Capabilities.from_json(said.capabilities)
    needs = (await fleet.needs_of(tx, assigned)).values()
    return {each.slug: list(missing) for each in needs if (missing := fleet.lacks(each, has))}


async def _require_instance(call: Call, worker_id: str) -> InstanceCheck | None:
    """None: it was not asked for. It fails open: an outage at AWS must not keep workers away."""
    rules = call.house.fleet_rules
    if not rules.validates_asg_instance or not worker_id.startswith("i-"):
        return None
    checked = await check_instance(worker_id, rules)
    if checked.refused is not None:
        raise Forbidden(checked.refused)
    return checked


async def _require_secret(call: Call) -> None:
    """Guesses are counted by address; a fleet behind one address that comes up at once is not."""
    async with call.house.control_tx(read_only=True) as tx:
        try:
            await _secret(tx, call)
        except Unauthenticated:
            await call.limits.spend(call.house.fleet_rules.registrations_per_minute, "register", call.address)
            raise


async def _secret(tx: ControlTx, call: Call) -> FleetSecret:
    return await fleet.require_fleet_secret(tx, Secret(call.headers.get(b"x-fleet-secret", b"").decode("latin-1")))


async def _join(tx: ControlTx, said: wire.Register, call: Call) -> Registration:
    secret, group = await _secret(tx, call), None
    if said.fleet_slug is not None:
        if said.stage is None:
            raise InvalidInput("stage", "goes together with fleet_slug")
        group = await fleet.find_fleet(tx, said.fleet_slug, said.stage)
    new = NewWorker(
        worker_id=said.worker_id,
        address=call.address,
        max_concurrency=said.max_concurrency,
        providers=tuple(said.providers),
        capabilities=said.capabilities,
        boot_id=said.boot_id,
    )
    if group is not None or said.workflow_slugs:
        fleet.require_scope(secret, fleet=group, names_workflows=bool(said.workflow_slugs))
    _warn_of(secret, said.worker_id)
    own = [workflow.id for workflow in await workflows.require_active(tx, said.workflow_slugs)]
    return await fleet.register_worker(
        tx,
        new,
        fleet=group,
        own_workflows=own,
        rules=call.house.fleet_rules,
        proof=await _name_proof(tx, said, call),
        within=secret.fleet_id,
    )


def _warn_of(secret: FleetSecret, worker_id: str) -> None:
    if not secret.has_scope:
        log.warning("fleet_secret.without_scope", named=secret.name, worker_id=worker_id, problem=fleet.WITHOUT_SCOPE)


async def _name_proof(tx: ControlTx, said: wire.Register, call: Call) -> NameProof:
    proposed = call.headers.get(b"x-next-token")
    return NameProof(
        last_token=call.bearer() if b"authorization" in call.headers else None,
        next_token=Secret(proposed.decode("latin-1")) if proposed is not None else None,
        holds_lease=await _holds_lease(tx, said, call),
    )


async def _holds_lease(tx: ControlTx, said: wire.Register, call: Call) -> bool:
    if not said.leases or (now := await fleet.find_worker(tx, said.worker_id)) is None:
        return False
    proofs = _proofs(said, Holder(now.id, now.incarnation))
    return await dispatch.proves_a_lease(tx, proofs, signer=call.house.leases)


def _proofs(said: wire.Register, holder: Holder) -> list[LeaseProof]:
    return [LeaseProof(DispatchId(each.dispatch_id), Secret(each.lease_token), holder) for each in said.leases]


async def _go_on(
    tx: ControlTx, said: wire.Register, made: Registration, call: Call
) -> tuple[dict[DispatchId, Secret], list[Ended]]:
    """The leases of the life before: those it proves are its again, the others go back to the queue."""
    if not made.took_over:
        return {}, []
    tokens = await dispatch.rebind_leases(
        tx,
        _proofs(said, Holder(made.worker.id, made.worker.incarnation - 1)),
        to=Holder(made.worker.id, made.worker.incarnation),
        signer=call.house.leases,
        rules=call.house.queue_rules,
    )
    if made.repeated:
        # The first time returned what was not proven. A copy that arrives late must not take what was leased since.
        return tokens, []
    return tokens, await dispatch.return_leases(tx, made.worker.id, "worker_restarted", keep=tokens)


def _events(
    said: wire.Register, made: Registration, call: Call, *, checked: InstanceCheck | None, rebound: int
) -> list[WorkerEvent]:
    detail = {
        "incarnation": made.worker.incarnation,
        "took_over": made.took_over,
        "repeated": made.repeated,
        "fleet": f"{said.fleet_slug}/{said.stage}" if said.fleet_slug else None,
        "asg_check": "not asked" if checked is None else "passed" if checked.skipped is None else "skipped",
        "rebound": rebound,
    }
    told: dict[WorkerEventName, dict[str, Any]] = {}
    if checked is not None and checked.skipped is not None:
        told[WorkerEventName.ASG_CHECK_SKIPPED] = {"reason": checked.skipped}
    if made.took_over:
        told[WorkerEventName.SUPERSEDED] = {"incarnation": made.worker.incarnation - 1}
    told[WorkerEventName.REGISTER] = detail
    return [
        WorkerEvent(name, worker_id=said.worker_id, address=call.address, detail=each) for name, each in told.items()
    ]


async def deregister(call: Call) -> wire.Deregistered:
    said, worker = await identified(call, wire.Deregister)
    async with call.house.control_tx() as tx:
        gone = await fleet.deregister_worker(tx, worker)
        if held := await dispatch.count_leases(tx, worker.id):
            raise LeasesOpen(worker.worker_id, held)
        event = WorkerEvent(WorkerEventName.DEREGISTER, worker_id=worker.worker_id, address=call.address)
        await audit.record_worker_events(tx, [event])
    call.house.desk.worker_changed(said.worker_id)
    call.house.live.workers_changed()
    return wire.Deregistered(worker_id=worker.worker_id, status=gone.status.value)
