"""A worker joins, or takes its own name back after a crash: one request, and it is at work again."""

import re
from collections.abc import Sequence
from typing import Any

from comfyfleet.db import ControlTx
from comfyfleet.fleet import sql
from comfyfleet.fleet.inventory import keep_inventory
from comfyfleet.fleet.lifecycle import WORKER, WorkerEvent, WorkerStatus
from comfyfleet.fleet.model import Fleet, FleetRules, NewWorker, Registration, Worker
from comfyfleet.fleet.needs import Said, keep_capabilities
from comfyfleet.fleet.presence import take_turns
from comfyfleet.kernel.errors import Forbidden, InvalidInput, LimitReached
from comfyfleet.kernel.ids import WorkerId, WorkflowId
from comfyfleet.kernel.secret import Secret, new_secret

WORKER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
CONCURRENCY_MAX = 1000
RETRY_AFTER_S = 60
TOKEN_BYTES = 48  # 64 characters, as the seeds have it


async def register_worker(
    tx: ControlTx, new: NewWorker, *, fleet: Fleet | None, own_workflows: Sequence[WorkflowId] = (), rules: FleetRules
) -> Registration:
    """Through a fleet, or with workflows of its own; at least one of the two.

    The same `worker_id` again is a take-over: a new incarnation and a new token, and the older process is fenced off.
    """
    _check(new, fleet, own_workflows)
    if fleet is not None:
        await _require_room(tx, new, fleet, rules)
    found = await tx.maybe(sql.by_name(new.worker_id))
    if found is not None:
        await take_turns(tx, [found.id])
        found = await tx.one(sql.lock_worker(new.worker_id, window_s=rules.takeover_window_s))
    token, said = new_secret(size=TOKEN_BYTES), await keep_capabilities(tx, new.capabilities)
    row = await _insert(tx, new, said, fleet, token, rules) if found is None else None
    if row is None:
        # Two came with a new name at once, and this one was second.
        found = found or await tx.one(sql.lock_worker(new.worker_id, window_s=rules.takeover_window_s))
        row = await _take_over(tx, found, new, said, fleet, token, rules)
    await _write_workflows(tx, row.id, own_workflows)
    await keep_inventory(tx, row)
    allowed = await allowed_workflows(tx, Worker.from_row(row))
    return Registration(Worker.from_row(row), token, frozenset(allowed), took_over=row.incarnation > 1)


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


async def _require_room(tx: ControlTx, new: NewWorker, fleet: Fleet, rules: FleetRules) -> None:
    await tx.one(sql.lock_fleet(fleet.id))
    counted = await tx.one(sql.live_workers(fleet.id, but=new.worker_id, stale_s=rules.stale_worker_s))
    if counted.live >= rules.max_fleet_workers:
        raise LimitReached(retry_after_s=RETRY_AFTER_S)


async def _insert(
    tx: ControlTx, new: NewWorker, said: Said, fleet: Fleet | None, token: Secret, rules: FleetRules
) -> Any | None:
    fleet_id, status = fleet.id if fleet else None, _welcome(rules)
    return await tx.maybe(sql.insert_worker(new, said, fleet_id=fleet_id, token_hash=token.digest(), status=status))


def _welcome(rules: FleetRules) -> WorkerStatus:
    return WORKER.target(WorkerEvent.APPROVE) if rules.approves_by_itself else WORKER.initial


async def _take_over(
    tx: ControlTx, found: Any, new: NewWorker, said: Said, fleet: Fleet | None, token: Secret, rules: FleetRules
) -> Any:
    before = Worker.from_row(found)
    if before.status is WorkerStatus.REVOKED:
        raise Forbidden("This worker was revoked. An operator must approve it again.")
    recent = bool(found.in_window)
    other_machine = found.boot_id is not None and new.boot_id is not None and found.boot_id != new.boot_id
    if recent and other_machine and found.takeovers >= rules.takeovers_max:
        raise Forbidden("Two machines use this worker_id in turns. Give each a name of its own.")
    return await tx.one(
        sql.take_over(
            before.id,
            new,
            said,
            fleet_id=fleet.id if fleet else None,
            token_hash=token.digest(),
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
