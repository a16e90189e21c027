"""A lease ends with an outcome. The row's move and the settlement are one transaction; all else follows from them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs
from msgspec.json import encode

from comfyfleet.db import ControlTx
from comfyfleet.db.dialect import batch, ordered_batch
from comfyfleet.dispatch import blocks, everywhere, sql
from comfyfleet.dispatch.failures import FAILED_EVERYWHERE, POLICIES, FailureClass
from comfyfleet.dispatch.heartbeat import lease_key
from comfyfleet.dispatch.lifecycle import DISPATCH, DispatchEvent, DispatchStatus
from comfyfleet.dispatch.model import Dispatch, Ended, LeaseProof, QueueRules, Started, TracedAttempt
from comfyfleet.dispatch.tokens import LeaseSigner, epoch_of
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import LeaseLost, NotFound, NothingDelivered
from comfyfleet.kernel.ids import DispatchId, new_id

ERROR_CHARS_MAX = 4_000


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What a worker says of the end of a lease. `digest` tells a repeated call from a different one."""

    proof: LeaseProof
    digest: str
    detail: dict[str, Any] = field(default_factory=dict)
    provider_job_id: str | None = None
    ran_s: float | None = None  # a server worked on it for so long
    failure: FailureClass | None = None
    error: str | None = None
    service_reason: str | None = None
    result: str | None = None  # JSON: what the server itself said
    service_status: str | None = None
    submitted_ago_s: float | None = None
    checked_ago_s: float | None = None


async def complete_dispatches(
    tx: ControlTx, reports: Sequence[Report], *, signer: LeaseSigner
) -> dict[DispatchId, Ended | LeaseLost | NothingDelivered]:
    """Each by its own lease: one that is lost, or that brings nothing where something is owed, holds up no other."""
    rows = await tx.all(sql.finish(DispatchEvent.COMPLETE), rows=ordered_batch([_row(each) for each in reports]))
    by_id = {report.proof.dispatch_id: report for report in reports}
    ended = await close_attempts(tx, rows, by_id, reason="completed")
    await blocks.learn_from_success(tx, [(by_id[row.id].proof.holder.worker_id, row.lane) for row in rows])
    refused = await _owing(tx, [each for each in reports if each.proof.dispatch_id not in ended])
    left = [each for each in reports if each.proof.dispatch_id not in refused]
    return {**await answer_the_rest(tx, left, ended, signer=signer), **refused}


async def _owing(tx: ControlTx, reports: Sequence[Report]) -> dict[DispatchId, NothingDelivered]:
    """Whose lease stands, and which could not be completed all the same."""
    empty = [lease_key(each.proof) for each in reports if not each.detail.get("outputs")]
    held = await tx.all(sql.held_leases(), rows=batch(empty)) if empty else []
    return {row.id: NothingDelivered(row.id) for row in held}


async def fail_dispatch(
    tx: ControlTx,
    report: Report,
    *,
    signer: LeaseSigner,
    rules: QueueRules,
    chance: float,
    eligible: int | None = None,
) -> Ended | LeaseLost:
    """Tried again elsewhere if its class allows and attempts are left; otherwise failed for good.

    `eligible`: how many workers could run it. What has failed on all of them, or on three, is not tried again.
    """
    failure, proof = report.failure or FailureClass.INFRA, report.proof
    found = await find_dispatch(tx, proof.dispatch_id)
    again = found is not None and POLICIES[failure].retried and not found.exhausted
    if again and eligible is not None and await _failed_everywhere(tx, found, failure, eligible):
        again, report = False, replace(report, error=f"{FAILED_EVERYWHERE}: {report.error or failure.value}")
    row = await _try_again(tx, report, found, chance) if again else await _finish(tx, report, failure)
    rows = [row] if row is not None else []
    ended = await close_attempts(tx, rows, {proof.dispatch_id: report}, reason=failure.value)
    if rows and found is not None:
        await blocks.learn_from_failure(tx, found, proof.holder.worker_id, failure, rules=rules)
    answer = (await answer_the_rest(tx, [report], ended, signer=signer))[proof.dispatch_id]
    return of_tenant(answer, found)


async def _failed_everywhere(tx: ControlTx, found: Dispatch | None, failure: FailureClass, eligible: int) -> bool:
    return found is not None and await everywhere.failed_everywhere(tx, found, failure, eligible=eligible)


async def _try_again(tx: ControlTx, report: Report, found: Dispatch | None, chance: float) -> Any | None:
    pause_s = backoff_s(found.attempts if found else 1, chance=chance)
    row = await tx.maybe(sql.delay([{**_row(report), "pause_s": pause_s}]))
    return row if row is not None else await cancel_unwanted(tx, report)


async def cancel_unwanted(tx: ControlTx, report: Report) -> Any | None:
    """Somebody asked for its end while it ran: it is over now, and nobody tries it again."""
    unwanted = replace(report, failure=FailureClass.CANCELLED)
    return await tx.maybe(sql.cancel_unwanted(), rows=batch([_row(unwanted)]))


async def _finish(tx: ControlTx, report: Report, failure: FailureClass) -> Any | None:
    event = DispatchEvent.CANCEL if failure is FailureClass.CANCELLED else DispatchEvent.FAIL
    return await tx.maybe(sql.finish(event), rows=batch([_row(report)]))


async def find_dispatch(tx: ControlTx, dispatch_id: DispatchId) -> Dispatch | None:
    row = await tx.maybe(sql.by_id(dispatch_id))
    return Dispatch.from_row(row) if row is not None else None


async def find_dispatches(tx: ControlTx, dispatch_ids: Sequence[DispatchId]) -> list[Dispatch]:
    """Those that are there."""
    return [Dispatch.from_row(row) for row in await tx.all(sql.by_ids(list(dispatch_ids)))] if dispatch_ids else []


async def find_started(tx: ControlTx, dispatch_ids: Sequence[DispatchId]) -> list[Started]:
    rows = await tx.all(sql.started(list(dispatch_ids))) if dispatch_ids else []
    return [Started(row.id, row.tenant_id, row.pool, row.ago_s) for row in rows]


async def require_dispatch(tx: ControlTx, dispatch_id: DispatchId) -> Dispatch:
    found = await find_dispatch(tx, dispatch_id)
    if found is None:
        raise NotFound("dispatch", dispatch_id)
    return found


async def write_settlements(tx: ControlTx, rows: Sequence[Any], details: dict[DispatchId, dict[str, Any]]) -> None:
    """For every row that has just become terminal, in the transaction that made it so."""
    terminal = [row for row in rows if row.status in DISPATCH.terminal]
    if terminal:
        written = [_settlement(row, details.get(row.id, {})) for row in terminal]
        await tx.run(sql.insert_settlements(), rows=batch(written))


async def close_attempts(
    tx: ControlTx, rows: Sequence[Any], reports: dict[DispatchId, Report], *, reason: str
) -> dict[DispatchId, Ended | LeaseLost]:
    if not rows:
        return {}
    attempts = [
        {
            "id": row.id,
            "epoch": row.epoch,
            "reason": reason,
            "request_digest": reports[row.id].digest,
            "status": row.status,
            "provider_job_id": reports[row.id].provider_job_id,
            "service_reason": reports[row.id].service_reason,
        }
        for row in rows
    ]
    await tx.run(sql.end_attempts(), rows=batch(attempts))
    told = [(row, result) for row in rows if (result := reports[row.id].result) is not None]
    if told:
        kept = [{"id": row.id, "epoch": row.epoch, "result_metadata": result} for row, result in told]
        await tx.run(sql.insert_results(), rows=batch(kept))
    await write_settlements(tx, rows, {key: report.detail for key, report in reports.items()})
    return {row.id: ended_as(row) for row in rows}


def unreported(row: Any, reason: str) -> dict[str, Any]:
    """For `end_attempts`: an attempt that its worker did not end."""
    none = ("request_digest", "status", "service_reason")
    prompt_id = getattr(row, "provider_job_id", None)
    return {"id": row.id, "epoch": row.epoch, "reason": reason, "provider_job_id": prompt_id, **dict.fromkeys(none)}


def ended_as(row: Any) -> Ended:
    status = DispatchStatus(row.status)
    return Ended(row.id, status, lane=row.lane if status is DispatchStatus.QUEUED else None, attempt=_traced(row))


def _traced(row: Any) -> TracedAttempt | None:
    if row.traceparent is None:
        return None
    return TracedAttempt(
        row.id, row.tenant_id, row.workflow_id, row.traceparent, row.epoch, row.leased_s or 0.0, row.error_class
    )


def of_tenant(answer: Ended | LeaseLost, found: Dispatch | None) -> Ended | LeaseLost:
    """For who writes it down."""
    return structs.replace(answer, tenant_id=found.tenant_id) if isinstance(answer, Ended) and found else answer


async def answer_the_rest(
    tx: ControlTx, reports: Sequence[Report], ended: dict[DispatchId, Ended | LeaseLost], *, signer: LeaseSigner
) -> dict[DispatchId, Ended | LeaseLost]:
    """A guard that did not hold: the call came twice, or the lease is lost. The attempt's row knows which."""
    for report in reports:
        if report.proof.dispatch_id not in ended:
            ended[report.proof.dispatch_id] = await _explain(tx, report, signer=signer)
    return ended


async def _explain(tx: ControlTx, report: Report, *, signer: LeaseSigner) -> Ended | LeaseLost:
    proof = report.proof
    attempt = await tx.maybe(sql.attempt(proof.dispatch_id, epoch_of(proof.token)))
    if attempt is None or not proof.token.matches(_digest(signer, proof, attempt)):
        return LeaseLost(proof.dispatch_id, "the token is not one of this dispatch")
    if attempt.request_digest == report.digest and attempt.answered_status is not None:
        return Ended(proof.dispatch_id, DispatchStatus(attempt.answered_status), replayed=True)
    return LeaseLost(proof.dispatch_id, f"the attempt ended before ({attempt.reason or 'it is another process now'})")


def _digest(signer: LeaseSigner, proof: LeaseProof, attempt: Any) -> str:
    return signer.token(
        proof.dispatch_id,
        epoch=attempt.epoch,
        nonce=attempt.nonce,
        worker_id=attempt.worker_id,
        incarnation=attempt.incarnation,
    ).digest()


def _row(report: Report) -> dict[str, Any]:
    return {
        **lease_key(report.proof),
        "error_class": report.failure.value if report.failure else None,
        "last_error": report.error[:ERROR_CHARS_MAX] if report.error else None,
        "provider_job_id": report.provider_job_id,
        "ran_s": report.ran_s,
        "outputs": len(report.detail.get("outputs", ())),
        **service_facts(report),
    }


def service_facts(report: Report) -> dict[str, Any]:
    return {
        "service_status": report.service_status,
        "submitted_ago_s": report.submitted_ago_s,
        "checked_ago_s": report.checked_ago_s,
    }


def _settlement(row: Any, detail: dict[str, Any]) -> dict[str, Any]:
    said = {"error_class": row.error_class, "error": row.last_error, "epoch": row.epoch, **detail}
    return {"settlement_id": new_id(), "id": row.id, "detail": encode(said).decode()}
