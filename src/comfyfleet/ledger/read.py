"""Look into a wallet."""

from collections.abc import Sequence
from typing import Any

from comfyfleet.db import TenantTx
from comfyfleet.kernel.ids import UserId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.ledger import sql
from comfyfleet.ledger.model import ENDED_AS, Entry, EntryState, Tokens, Transaction, TransactionType, Wallet


async def get_wallet(tx: TenantTx, user_id: UserId) -> Wallet:
    """A wallet that was never used is an empty one."""
    row = await tx.maybe(sql.wallet_of(), user_id=user_id)
    return Wallet(user_id, Tokens(row.balance if row is not None else 0))


async def list_transactions(tx: TenantTx, user_id: UserId, request: PageRequest) -> Page[Transaction]:
    """Newest first."""
    rows = await tx.all(sql.transaction_page(user_id, after=request.after, rows=request.rows))
    return Page.cut([Transaction.from_row(row) for row in rows], [row.id for row in rows], request)


async def list_entries(tx: TenantTx, user_id: UserId, request: PageRequest) -> Page[Entry]:
    """One row a payment or a job, newest first, each with the balance after it."""
    rows = await tx.all(sql.entry_page(user_id, after=request.after, rows=request.rows))
    return Page.cut(_entries(rows), [row.id for row in rows], request)


def _entries(rows: Sequence[Any]) -> list[Entry]:
    balance = rows[0].balance - rows[0].newer if rows else 0
    found = []
    for row in rows:
        amount = row.amount + (row.end_amount or 0)
        is_job = row.job_id is not None
        ended_as = TransactionType(row.end_type) if row.end_type else None
        found.append(
            Entry(
                id=row.id,
                state=ENDED_AS[ended_as] if is_job else EntryState.ADDED,
                amount=Tokens(amount),
                price=Tokens(-row.amount if is_job else 0),
                balance_after=Tokens(balance),
                job_id=row.job_id,
                provider_transaction_id=row.provider_transaction_id,
                created_at=row.created_at,
                ended_at=row.ended_at,
            )
        )
        balance -= amount
    return found
