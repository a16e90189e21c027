"""A user's tokens."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends

from comfyfleet import jobs, ledger
from comfyfleet.api.bodies import View, page_request
from comfyfleet.api.policy import TenantCaller, TheHouse, home_of
from comfyfleet.api.views import TransactionView
from comfyfleet.kernel.ids import JobId, TransactionId, UserId
from comfyfleet.kernel.page import PageRequest
from comfyfleet.tenants import Caller, Scope

router = APIRouter(prefix="/wallet", tags=["wallet"])

Reader = Annotated[Caller, Depends(TenantCaller(Scope.READ))]


class WalletView(View):
    user_id: UserId
    balance: int


class TransactionPage(View):
    transactions: list[TransactionView]
    next_cursor: str | None


class EntryView(View):
    """One payment, or one job: what was set aside and what became of it, in one row.

    `state`: `added` (a payment), `reserved` (the job waits or runs), `spent` or `refunded`. `amount` changes the
    balance now: a refunded job's is 0. `price` was set aside. `balance_after`: the sum of this row and all older ones.
    """

    id: TransactionId
    state: ledger.EntryState
    amount: int
    price: int
    balance_after: int
    job_id: JobId | None
    effect: str | None
    provider_transaction_id: str | None
    created_at: datetime
    ended_at: datetime | None


class EntryPage(View):
    entries: list[EntryView]
    next_cursor: str | None


@router.get("")
async def get_wallet(caller: Reader, house: TheHouse) -> WalletView:
    """What can be spent now: reservations of running jobs are already taken off."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        return WalletView.model_validate(await ledger.get_wallet(tx, caller.user_id))


@router.get("/transactions")
async def get_transactions(
    caller: Reader, house: TheHouse, page: Annotated[PageRequest, Depends(page_request)]
) -> TransactionPage:
    """Newest first."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await ledger.list_transactions(tx, caller.user_id, page)
    rows = [TransactionView.model_validate(row) for row in found.rows]
    return TransactionPage(transactions=rows, next_cursor=found.next_cursor)


@router.get("/entries")
async def get_entries(
    caller: Reader, house: TheHouse, page: Annotated[PageRequest, Depends(page_request)]
) -> EntryPage:
    """The wallet as a person reads it: one row a payment or a job, with its effect, newest first. The transactions
    behind it are at `/transactions`."""
    async with house.tenant_tx(home_of(caller), read_only=True) as tx:
        found = await ledger.list_entries(tx, caller.user_id, page)
        effects = await jobs.effects_of(tx, {each.job_id for each in found.rows if each.job_id is not None})
    rows = [
        EntryView.model_validate({**asdict(row), "effect": effects.get(row.job_id) if row.job_id else None})
        for row in found.rows
    ]
    return EntryPage(entries=rows, next_cursor=found.next_cursor)
