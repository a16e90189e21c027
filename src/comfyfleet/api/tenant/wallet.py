"""A user's tokens."""

from typing import Annotated

from fastapi import APIRouter, Depends

from comfyfleet import ledger
from comfyfleet.api.bodies import View, page_request
from comfyfleet.api.policy import TenantCaller, TheHouse, home_of
from comfyfleet.api.views import TransactionView
from comfyfleet.kernel.ids import UserId
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
