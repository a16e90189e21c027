"""Tokens are set aside for a job."""

from collections.abc import Mapping

from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import DuplicateKey, InsufficientTokens, InvalidInput
from comfyfleet.kernel.ids import JobId, UserId, WalletId, new_id
from comfyfleet.ledger import sql
from comfyfleet.ledger.model import (
    CREDIT_MAX,
    REFUNDED_BALANCE_MAX,
    Receipt,
    Tokens,
    Transaction,
    TransactionType,
    Wallet,
)


async def hold_wallet(tx: TenantTx, user_id: UserId) -> Wallet:
    """Nobody else spends from it, or counts what it pays for, until this transaction ends."""
    row = await tx.maybe(sql.hold_wallet(), user_id=user_id)
    if row is None:
        await tx.maybe(sql.insert_wallet(user_id))
        row = await tx.one(sql.hold_wallet(), user_id=user_id)
    return Wallet(user_id, Tokens(row.balance))


async def reserve_tokens(tx: TenantTx, user_id: UserId, amount: Tokens, *, job_id: JobId) -> Receipt:
    """Once per job. Raises InsufficientTokens; the caller's transaction must then not commit."""
    if not 0 <= amount <= CREDIT_MAX:
        raise InvalidInput("amount", f"must be from 0 to {CREDIT_MAX}")
    await tx.maybe(sql.insert_wallet(user_id))
    wallet = await tx.one(sql.wallet_of(), user_id=user_id)
    row = await tx.maybe(sql.insert_reserve(wallet.id, amount=amount, job_id=job_id))
    if row is None:
        found = [Transaction.from_row(row) for row in await tx.all(sql.transactions_of_job(job_id))]
        first = next(each for each in found if each.type is TransactionType.JOB_RESERVE)
        if (first.wallet_id, -first.amount) != (wallet.id, amount):
            raise DuplicateKey(str(job_id))
        return Receipt(first, replayed=True)
    moved = await tx.maybe(sql.move_balance(balance_max=REFUNDED_BALANCE_MAX), wallet_id=wallet.id, amount=-amount)
    if moved is None:
        # Read again: the balance may have moved since, and a caller is told what stands now.
        left = await tx.one(sql.wallet_of(), user_id=user_id)
        raise InsufficientTokens(required_tokens=amount, available_tokens=left.balance)
    return Receipt(Transaction.from_row(row), replayed=False)


async def reserve_each(tx: TenantTx, user_id: UserId, amounts: Mapping[JobId, Tokens]) -> None:
    """For new jobs of one user, all or none: as `reserve_tokens` for each, in a few statements for all."""
    if not amounts:
        return
    if not all(0 <= amount <= CREDIT_MAX for amount in amounts.values()):
        raise InvalidInput("amount", f"must be from 0 to {CREDIT_MAX}")
    wallet_id = await _spend(tx, user_id, sum(amounts.values()))
    rows = [
        {"id": new_id(), "wallet_id": wallet_id, "job_id": job_id, "amount": -amount}
        for job_id, amount in amounts.items()
    ]
    written = {row.job_id for row in await tx.all_each(sql.insert_reserves(), rows)}
    if missing := amounts.keys() - written:
        raise DuplicateKey(str(min(missing)))


async def _spend(tx: TenantTx, user_id: UserId, amount: int) -> WalletId:
    """From the user's wallet, which is there but for a first job."""
    spent = await tx.maybe(sql.spend(), of_user_id=user_id, amount=amount)
    if spent is None and await tx.maybe(sql.insert_wallet(user_id)) is not None:
        spent = await tx.maybe(sql.spend(), of_user_id=user_id, amount=amount)
    if spent is None:
        left = await tx.one(sql.wallet_of(), user_id=user_id)
        raise InsufficientTokens(required_tokens=amount, available_tokens=left.balance)
    return WalletId(spent.id)
