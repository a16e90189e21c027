"""A worker joins, or takes its own name back after a crash: one request, and it is at work again."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from comfyfleet.db import ControlTx
from comfyfleet.fleet import sql
from comfyfleet.fleet.inventory import drop_outdated, keep_inventory
from comfyfleet.fleet.lifecycle import LIVE, WORKER, WorkerEvent, WorkerStatus
from comfyfleet.fleet.model import (
    NO_PROOF,
    Fleet,
    FleetRules,
    NameProof,
    NewWorker,
    Registration,
    Worker,
    revoked_hash,
)
from comfyfleet.fleet.needs import Said, keep_capabilities
from comfyfleet.fleet.presence import take_turns
from comfyfleet.kernel.errors import Forbidden, InvalidInput, LimitReached, WorkerNameElsewhere, WorkerNameHeld
from comfyfleet.kernel.ids import FleetId, WorkerId, WorkflowId
from comfyfleet.kernel.secret import Secret, new_secret

WORKER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
CONCURRENCY_MAX = 1000
RETRY_AFTER_S = 60
TOKEN_BYTES = 48  # 64 characters, as the seeds have it
# 32 random bytes at least.
PROPOSED_TOKEN = re.compile(r"[A-Za-z0-9_-]{43,128}")
# No worker has this id: those without a fleet take turns on it.
WITHOUT_FLEET = WorkerId(UUID(int=0))


@dataclass(frozen=True, slots=True)
class _Coming:
    """A registration, with all that decides over it. `within`: the only fleet that its secret opens."""

    new: NewWorker
    said: Said
    fleet: Fleet | None
    within: FleetId | None
    proof: NameProof
    token: Secret
    rules: FleetRules

    @property
    def fleet_id(self) -> FleetId | None:
        return self.fleet.id if self.fleet is not None else None


async def register_worker(
    tx: ControlTx,
    new: NewWorker,
    *,
    fleet: Fleet | None,
    own_workflows: Sequence[WorkflowId] = (),
    rules: FleetRules,
    proof: NameProof = NO_PROOF,
    within: FleetId | None = None,
) -> Registration:
    """Through a fleet, or with workflows of its own; at least one of the two. `within`: what its secret opens.

    The same `worker_id` again is a take-over: a new incarnation and a new token, and the older process is fenced off.
    Of a live worker that needs `proof`. With the current token as the proposed one it is the repetition of a
    registration whose reply was lost: it gets that reply again.
    """
    _check(new, fleet, own_workflows)
    await _require_room(tx, new, fleet, rules)
    found = await _lock(tx, new, rules)
    said, token = await keep_capabilities(tx, new.capabilities), await _next_token(tx, new, proof)
    coming = _Coming(new, said, fleet, within, proof, token, rules)
    row = await _insert(tx, coming) if found is None else None
    if row is None:
        # Two came with a new name at once, and this one was second.
        found = found or await tx.one(sql.lock_worker(new.worker_id, window_s=rules.takeover_window_s))
        row = await _come_back(tx, found, coming)
    await _write_workflows(tx, row.id, own_workflows)
    await keep_inventory(tx, row)
    if fleet is not None:
        await drop_outdated(tx, fleet.id)
    worker = Worker.from_row(row)
    repeated = found is not None and found.incarnation == worker.incarnation
    allowed = frozenset(await allowed_workflows(tx, worker))
    return Registration(worker, token, allowed, took_over=worker.incarnation > 1, repeated=repeated)


async def _lock(tx: ControlTx, new: NewWorker, rules: FleetRules) -> Any | None:
    found = await tx.maybe(sql.by_name(new.worker_id))
    if found is None:
        return None
    await take_turns(tx, [found.id])
    # None again: an operator has forgotten it meanwhile.
    return await tx.maybe(sql.lock_worker(new.worker_id, window_s=rules.takeover_window_s))


async def _next_token(tx: ControlTx, new: NewWorker, proof: NameProof) -> Secret:
    """The one that the worker proposes, so that a lost reply loses no token; without one, ours."""
    if proof.next_token is None:
        return new_secret(size=TOKEN_BYTES)
    if not PROPOSED_TOKEN.fullmatch(proof.next_token.reveal()):
        raise InvalidInput("X-Next-Token", "must be 43 to 128 letters, digits and - _, and random")
    taken = await tx.all(sql.by_tokens([proof.next_token.digest()]))
    if any(row.worker_id != new.worker_id for row in taken):
        raise InvalidInput("X-Next-Token", "is the token of another worker; give each worker a home of its own")
    return proof.next_token


async def allowed_workflows(tx: ControlTx, worker: Worker) -> dict[WorkflowId, str]:
    """What it may run now, id to slug: its fleet's active assignments and its own. Nothing assigned, nothing given."""
    statements = [sql.workflows_of_worker(worker.id)]
    if worker.fleet_id is not None:
        statements.append(sql.workflows_of_fleet(worker.fleet_id))
    return {row.id: row.slug for statement in statements for row in await tx.all(statement)}


def _check(new: NewWorker, fleet: Fleet | None, own_workflows: Sequence[WorkflowId]) -> None:
    if fleet is None and not own_workflows:
        raise InvalidInput("fleet_slug", "name a fleet and stage, or workflow_slugs: at least one of the two")
    if not WORKER_ID.fullmatch(new.worker_id):
        raise InvalidInput("worker_id", "use 1 to 128 letters, digits and . _ : -")
    if not 1 <= new.max_concurrency <= CONCURRENCY_MAX:
        raise InvalidInput("max_concurrency", f"must be from 1 to {CONCURRENCY_MAX}")
    if not new.providers:
        raise InvalidInput("providers", "name at least one")


async def _require_room(tx: ControlTx, new: NewWorker, fleet: Fleet | None, rules: FleetRules) -> None:
    """Registrations of one fleet, and those of none, take turns, so that the cap is exact."""
    fleet_id = fleet.id if fleet is not None else None
    if fleet_id is not None:
        await tx.one(sql.lock_fleet(fleet_id))
    else:
        await take_turns(tx, [WITHOUT_FLEET])
    most = rules.max_fleet_workers if fleet is not None else rules.max_workers_without_fleet
    scales = await tx.maybe(sql.scaling_limit(fleet_id, machine_id=new.worker_id)) if fleet_id is not None else None
    if scales is not None and scales.machine_id is not None:
        _require_kept(scales, new)
        return  # what was launched has its place already
    if scales is not None:
        most = scales.max_workers
    counted = await tx.one(sql.live_workers(fleet_id, but=new.worker_id, stale_s=rules.stale_worker_s))
    if counted.live >= most:
        raise LimitReached(retry_after_s=RETRY_AFTER_S)


def _require_kept(machine: Any, new: NewWorker) -> None:
    """A machine that is being ended must take no job any more."""
    if machine.end_asked_at is not None:
        raise Forbidden(f"Machine {new.worker_id!r} is being ended ({machine.end_reason}): no worker of it registers.")


async def _insert(tx: ControlTx, coming: _Coming) -> Any | None:
    return await tx.maybe(
        sql.insert_worker(
            coming.new,
            coming.said,
            fleet_id=coming.fleet_id,
            token_hash=coming.token.digest(),
            status=_welcome(coming.rules),
        )
    )


def _welcome(rules: FleetRules) -> WorkerStatus:
    return WORKER.target(WorkerEvent.APPROVE) if rules.approves_by_itself else WORKER.initial


async def _come_back(tx: ControlTx, found: Any, coming: _Coming) -> Any:
    before = Worker.from_row(found)
    if before.status is WorkerStatus.REVOKED:
        raise Forbidden("This worker was revoked. An operator must approve it again.")
    _require_own_fleet(found, coming)
    _require_free_or_proven(found, coming)
    if before.status in LIVE and coming.token.matches(found.token_hash):
        return await tx.one(sql.repeat_registration(before.id, coming.new, coming.said, fleet_id=coming.fleet_id))
    return await _take_over(tx, found, coming)


def _require_own_fleet(found: Any, coming: _Coming) -> None:
    """A secret of one fleet never takes a worker of another; the name of one that has left may change fleets."""
    if coming.within is None or found.fleet_id == coming.within:
        return
    left = found.status == WorkerStatus.GONE
    if not left or not (coming.proof.shows(found.token_hash) or found.silent_s > coming.rules.stale_worker_s):
        raise WorkerNameElsewhere(found.worker_id)


def _require_free_or_proven(found: Any, coming: _Coming) -> None:
    """Free: it has left, its token was revoked, or it made no call for long enough."""
    held_s, fenced = coming.rules.name_held_s, found.token_hash == revoked_hash(found.id)
    if found.status not in LIVE or fenced or found.silent_s > held_s or coming.proof.shows(found.token_hash):
        return
    left_s = held_s - found.silent_s
    raise WorkerNameHeld(found.worker_id, held_s=math.ceil(held_s), retry_after_s=max(1, math.ceil(left_s)))


async def _take_over(tx: ControlTx, found: Any, coming: _Coming) -> Any:
    before, rules = Worker.from_row(found), coming.rules
    recent = bool(found.in_window)
    if recent and found.boot_id != coming.new.boot_id and found.takeovers >= rules.takeovers_max:
        raise Forbidden("Two machines use this worker_id in turns. Give each a name of its own.")
    return await tx.one(
        sql.take_over(
            before.id,
            coming.new,
            coming.said,
            fleet_id=coming.fleet_id,
            token_hash=coming.token.digest(),
            status=_welcome_back(found, rules) if before.status is WorkerStatus.GONE else before.status,
            starts_window=not recent,
        )
    )


def _welcome_back(found: Any, rules: FleetRules) -> WorkerStatus:
    """Like a new one: leaving and coming back must not stand in for an operator's word, nor undo it."""
    return WORKER.target(WorkerEvent.DRAIN) if found.drained_at is not None else _welcome(rules)


async def _write_workflows(tx: ControlTx, row_id: WorkerId, own_workflows: Sequence[WorkflowId]) -> None:
    await tx.run(sql.forget_workflows(row_id))
    for workflow_id in own_workflows:
        await tx.run(sql.remember_workflow(row_id, workflow_id))
