"""A job ends: its tokens are consumed or refunded, exactly one of the two, exactly once."""

from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import JobId, new_id
from comfyfleet.ledger import sql
from comfyfleet.ledger.lifecycle import RESERVATION, ReservationEvent, ReservationStatus
from comfyfleet.ledger.model import REFUNDED_BALANCE_MAX, Receipt, Transaction, TransactionType

_TYPE = {
    ReservationEvent.CONSUME: TransactionType.JOB_CONSUME,
    ReservationEvent.REFUND: TransactionType.JOB_REFUND,
}
_STATUS = {
    TransactionType.JOB_RESERVE: ReservationStatus.RESERVED,
    TransactionType.JOB_CONSUME: ReservationStatus.CONSUMED,
    TransactionType.JOB_REFUND: ReservationStatus.REFUNDED,
}


async def consume_tokens(tx: TenantTx, job_id: JobId) -> Receipt:
    """The job succeeded: a marker of amount 0, for the tokens left the wallet when they were reserved."""
    return await _end_reservation(tx, job_id, ReservationEvent.CONSUME)


async def refund_tokens(tx: TenantTx, job_id: JobId) -> Receipt:
    """The job failed or was cancelled: everything reserved comes back."""
    return await _end_reservation(tx, job_id, ReservationEvent.REFUND)


async def _end_reservation(tx: TenantTx, job_id: JobId, event: ReservationEvent) -> Receipt:
    row = await tx.maybe(sql.insert_end(_TYPE[event]), end_id=new_id(), of_job_id=job_id)
    if row is None:
        return await _explain(tx, job_id, event)
    ended = Transaction.from_row(row)
    # What moves nothing must not stand in the way of whoever orders from the same wallet.
    if ended.amount:
        await tx.one(sql.move_balance(balance_max=REFUNDED_BALANCE_MAX), wallet_id=ended.wallet_id, amount=ended.amount)
    return Receipt(ended, replayed=False)


async def _explain(tx: TenantTx, job_id: JobId, event: ReservationEvent) -> Receipt:
    """Nothing was written: because it was done before, because the other end came first, or for lack of a job."""
    found = [Transaction.from_row(row) for row in await tx.all(sql.transactions_of_job(job_id))]
    if not found:
        raise NotFound("reservation of job", job_id)
    last = max(found, key=lambda each: each.type is not TransactionType.JOB_RESERVE)
    if last.type is not _TYPE[event]:
        RESERVATION.next(_STATUS[last.type], event)
    return Receipt(last, replayed=True)
