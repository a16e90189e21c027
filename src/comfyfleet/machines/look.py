"""What is known of one fleet now: its queue, its workers and its provider's machines, joined."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from comfyfleet.db import ControlTx
from comfyfleet.fleet.lifecycle import LIVE, WorkerStatus
from comfyfleet.fleet.needs import CapabilityBook, find_lacks, needs_of
from comfyfleet.kernel.ids import DispatchId, FleetId, WorkflowId, id_at
from comfyfleet.machines import sql
from comfyfleet.machines.model import FleetScaling, KnownMachine, OpenLaunch, Seen
from comfyfleet.scaling import (
    Arrived,
    CloudMachine,
    CloudState,
    FleetMachine,
    MachineState,
    Market,
    ScalingInputs,
    arriving_rates,
    learn_start_times,
)

COUNTED_MAX = 50_000
# An order is relayed to the queue a moment after its id was made.
ARRIVES_WITHIN_S = 5.0
STARTS_LOOKED_AT = 200
# An unmanaged worker that was silent for longer is not counted on.
SILENT_S = 180.0
# A worker that left so recently may be restarting.
RESTARTS_WITHIN_S = 60.0
# A worker that waits longer for its first lease was ready, and had nothing to do.
FIRST_LEASE_WITHIN_S = 120.0


async def look(tx: ControlTx, scaling: FleetScaling, listed: Sequence[CloudMachine] | None) -> Seen:
    """Reads only. `listed`: by the provider; None: it could not be asked, and the machines known last are assumed."""
    fleet_id = scaling.fleet_id
    at: datetime = (await tx.one(sql.time_now())).at
    known = {row.machine_id: KnownMachine.from_row(row) for row in await tx.all(sql.machines_of(fleet_id))}
    if listed is None:
        listed = [_believed(each) for each in known.values()]
    launches = [OpenLaunch.from_row(row) for row in await tx.all(sql.open_launches(fleet_id))]
    workers = {row.worker_id: row for row in await tx.all(sql.workers_of(fleet_id))}
    waiting, queued_gpu_s, hashes = await _queue(tx, fleet_id)
    arrived_gpu_s, counted_to = await _arrived(tx, scaling, at)
    window_s = scaling.settings.load_window_s
    past = [Arrived(row.decided_at.timestamp(), row.arrived_gpu_s) for row in await _past(tx, fleet_id, window_s)]
    rates = arriving_rates([*past, Arrived(at.timestamp(), arrived_gpu_s)], at.timestamp(), window_s=window_s)
    starts = _starts(known, workers)
    learned = [row.start_s for row in await tx.all(sql.starts_of(fleet_id, rows=STARTS_LOOKED_AT))]
    machines = join_machines(at, listed, known, workers, launches)
    lost = _lost(at, listed, known, workers)
    lingering = [each for each in listed if each.state is not CloudState.STOPPING and _is_told(known, each.id)]
    settings = scaling.settings
    # They are paid until they are gone.
    room = max(0, settings.max_workers - len(lingering))
    return Seen(
        at=at,
        inputs=ScalingInputs(
            at_s=at.timestamp(),
            machines=tuple(machines),
            waiting=waiting,
            queued_gpu_s=queued_gpu_s,
            waiting_hashes=hashes,
            arriving_3m=rates[0],
            arriving_15m=rates[1],
            start=learn_start_times([*reversed(learned), *starts.values()]),
        ),
        settings=replace(settings, max_workers=room, min_workers=min(settings.min_workers, room)),
        arrived_gpu_s=arrived_gpu_s,
        counted_to=counted_to,
        new=tuple(each for each in listed if each.id not in known),
        lost=lost,
        died_launched_at_s=tuple(known[name].launched_at.timestamp() for name in lost if _died(known[name], workers)),
        ended_unasked=tuple(
            (known[name].market, known[name].end_reason) for name in lost if known[name].end_asked_at is None
        ),
        starts=starts,
        unanswered=len(launches),
        lingering=tuple(each.id for each in lingering),
    )


def join_machines(
    at: datetime,
    listed: Sequence[CloudMachine],
    known: Mapping[str, KnownMachine],
    workers: Mapping[str, Any],
    launches: Sequence[OpenLaunch],
) -> list[FleetMachine]:
    """A machine and its worker have one name. Those told to end are left out: they are being ended."""
    found = []
    for each in listed:
        if not _is_told(known, each.id):
            joined = _joined(at, each, known.get(each.id), workers.get(each.id))
            found += [joined] if joined is not None else []
    names = {each.id for each in listed}
    found += [
        _starting(each.machine_id, each.machine_class, each.market, each.zone, each.launched_at.timestamp())
        for each in known.values()
        if each.machine_id not in names and _may_still_come(at, each, workers)
    ]
    found += [
        _starting(f"{each.token}#{number}", *each.request.place, each.asked_at.timestamp())
        for each in launches
        for number in range(each.request.number)
    ]
    return found + [
        _by_hand(at, row) for name, row in workers.items() if name not in names | known.keys() and _counts(row)
    ]


def _believed(known: KnownMachine) -> CloudMachine:
    launched_at_s = known.launched_at.timestamp()
    return CloudMachine(
        known.machine_id, CloudState.RUNNING, launched_at_s, known.market, known.machine_class, known.zone
    )


def _starting(name: str, machine_class: str, market: Market, zone: str, launched_at_s: float) -> FleetMachine:
    return FleetMachine(name, MachineState.STARTING, machine_class, market, zone, launched_at_s)


def _joined(at: datetime, listed: CloudMachine, known: KnownMachine | None, worker: Any) -> FleetMachine | None:
    launched_at_s = known.launched_at.timestamp() if known is not None else min(listed.launched_at_s, at.timestamp())
    leaves = listed.state is CloudState.STOPPING
    if worker is None:
        return None if leaves else _starting(listed.id, *listed.place, launched_at_s)
    state = MachineState.DRAINING if leaves else state_of(worker)
    idle_since = worker.last_lease_at or worker.created_at
    return FleetMachine(
        listed.id,
        state,
        listed.machine_class,
        listed.market,
        listed.zone,
        launched_at_s,
        worker_id=worker.worker_id,
        leases=worker.leases,
        idle_since_s=idle_since.timestamp() if not worker.leases else None,
        warm=frozenset([worker.structure_hash]) if worker.structure_hash else frozenset(),
    )


def state_of(worker: Any) -> MachineState:
    """Of a machine that runs, by its worker's row."""
    match WorkerStatus(worker.status):
        case WorkerStatus.PENDING:
            return MachineState.STARTING
        case WorkerStatus.APPROVED:
            return MachineState.READY
        case WorkerStatus.DRAINING:
            return MachineState.DRAINING
        case WorkerStatus.GONE if worker.silent_s < RESTARTS_WITHIN_S:
            return MachineState.READY
        case _:
            return MachineState.ORPHANED


def _by_hand(at: datetime, worker: Any) -> FleetMachine:
    """Nobody launched it for us: it counts, and is left alone."""
    state = MachineState.DRAINING if worker.status == WorkerStatus.DRAINING else MachineState.READY
    return FleetMachine(
        str(worker.id),
        state,
        "",
        Market.ON_DEMAND,
        "",
        min(worker.created_at, at).timestamp(),
        worker_id=worker.worker_id,
        leases=worker.leases,
        managed=False,
    )


def _counts(worker: Any) -> bool:
    if worker.ended_with_machine or worker.status == WorkerStatus.PENDING:
        return False
    return worker.status in LIVE and worker.silent_s < SILENT_S


def _is_told(known: Mapping[str, KnownMachine], machine_id: str) -> bool:
    return machine_id in known and known[machine_id].end_asked_at is not None


def _may_still_come(at: datetime, machine: KnownMachine, workers: Mapping[str, Any]) -> bool:
    """A provider may list a machine a moment after it has launched it; one whose worker has left was there before."""
    worker = workers.get(machine.machine_id)
    if machine.end_asked_at is not None or (worker is not None and worker.status not in LIVE):
        return False
    return (at - machine.launched_at).total_seconds() < sql.UNLISTED_S


def _lost(
    at: datetime, listed: Sequence[CloudMachine], known: Mapping[str, KnownMachine], workers: Mapping[str, Any]
) -> tuple[str, ...]:
    names = {each.id for each in listed}
    return tuple(name for name, each in known.items() if name not in names and not _may_still_come(at, each, workers))


def _died(machine: KnownMachine, workers: Mapping[str, Any]) -> bool:
    """Before a worker registered from it, and not because we ended it."""
    return machine.end_asked_at is None and machine.machine_id not in workers


def _starts(known: Mapping[str, KnownMachine], workers: Mapping[str, Any]) -> dict[str, float]:
    """Of machines whose start-up time is known since this look."""
    found = {}
    for name, machine in known.items():
        worker = workers.get(name)
        if machine.start_s is not None or worker is None:
            continue
        if worker.first_lease_at is not None:
            waited_s = (worker.first_lease_at - worker.created_at).total_seconds()
            registered_s = (worker.created_at - machine.launched_at).total_seconds()
            # Longer, and it was ready with nothing to do.
            found[name] = max(0.0, registered_s + (waited_s if waited_s < FIRST_LEASE_WITHIN_S else 0.0))
    return found


# ── the queue ───────────────────────────────────────────────────────────────────────────────


async def _queue(tx: ControlTx, fleet_id: FleetId) -> tuple[int, float, frozenset[str]]:
    """Work that several fleets may do is shared among them; what none of its machines could run is left out."""
    rows = [row for row in await tx.all(sql.depths(fleet_id, counted_max=COUNTED_MAX)) if row.queued]
    able = await _runnable(tx, fleet_id, rows)
    rows = [row for row in rows if (row.workflow_id, row.provider) in able]
    waiting = sum(row.queued for row in rows)
    gpu_s = sum(row.queued * row.expected_s / max(1, row.fleets) for row in rows)
    return waiting, gpu_s, frozenset(row.structure_hash for row in rows)


async def _runnable(tx: ControlTx, fleet_id: FleetId, rows: Sequence[Any]) -> set[tuple[WorkflowId, str]]:
    """By what the fleet's machines had so far; a fleet that never had one is believed able."""
    asked = {(WorkflowId(row.workflow_id), str(row.provider)) for row in rows}
    kinds = await tx.all(sql.inventory_of(fleet_id)) if asked else []
    if not kinds:
        return asked
    book = CapabilityBook()
    await book.know(tx, {row.capability_digest for row in kinds})
    needs = await needs_of(tx, {workflow_id for workflow_id, _ in asked})

    def can(kind: Any, workflow_id: WorkflowId, provider: str) -> bool:
        needed = needs.get(workflow_id)
        return provider in kind.providers and not (needed and find_lacks(needed, book[kind.capability_digest]))

    return {each for each in asked if any(can(kind, *each) for kind in kinds)}


async def _arrived(tx: ControlTx, scaling: FleetScaling, at: datetime) -> tuple[float, datetime]:
    """GPU-seconds ordered since the last decision, and up to when that was counted."""
    until = at - timedelta(seconds=ARRIVES_WITHIN_S)
    since = max(scaling.counted_to or until, at - timedelta(seconds=scaling.settings.load_window_s))
    if since >= until:
        return 0.0, max(since, scaling.counted_to or since)
    rows = await tx.all(sql.arrived(scaling.fleet_id, since=_first_id(since), until=_first_id(until)))
    return math.fsum(row.jobs * row.expected_s / max(1, row.fleets) for row in rows), until


def _first_id(at: datetime) -> DispatchId:
    """Not later than any id made in the same millisecond."""
    return DispatchId(UUID(int=id_at(at).int >> 80 << 80))


async def _past(tx: ControlTx, fleet_id: FleetId, window_s: float) -> Sequence[Any]:
    return await tx.all(sql.arrivals(fleet_id, window_s=window_s))
