"""What a tenant's user has, and where it came from, for operators who are asked."""

from typing import Annotated

from fastapi import APIRouter, Depends

from comfyfleet import ledger, tenants
from comfyfleet.api.bodies import View, page_request
from comfyfleet.api.operator.policies import SEE
from comfyfleet.api.policy import TheHouse
from comfyfleet.api.views import TransactionView
from comfyfleet.kernel.ids import TenantId, UserId
from comfyfleet.kernel.page import PageRequest

router = APIRouter(prefix="/tenants")


class UserWalletView(View):
    """`transactions`: a page, newest first."""

    user_id: UserId
    balance: int
    transactions: list[TransactionView]
    next_cursor: str | None


@router.get("/{tenant_id}/users/{user_id}/wallet", dependencies=SEE)
async def get_user_wallet(
    tenant_id: TenantId, user_id: UserId, house: TheHouse, page: Annotated[PageRequest, Depends(page_request)]
) -> UserWalletView:
    """A user's balance and ledger."""
    async with house.control_tx(read_only=True) as tx:
        tenant = await tenants.get_tenant(tx, tenant_id)
        await tenants.get_user_of(tx, tenant_id, user_id)
    async with house.tenant_tx(tenant, read_only=True) as tenant_tx:
        wallet = await ledger.get_wallet(tenant_tx, user_id)
        found = await ledger.list_transactions(tenant_tx, user_id, page)
    rows = [TransactionView.model_validate(row) for row in found.rows]
    return UserWalletView(user_id=user_id, balance=wallet.balance, transactions=rows, next_cursor=found.next_cursor)
