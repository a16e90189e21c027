"""Operators top wallets up."""

from fastapi import APIRouter, Depends, Response

from comfyfleet import tenants
from comfyfleet.api import bodies
from comfyfleet.api.bodies import Body
from comfyfleet.api.crediting import ProviderId, credit
from comfyfleet.api.policy import OperatorCaller, TheHouse
from comfyfleet.api.views import CreditView
from comfyfleet.kernel.ids import TenantId, UserId
from comfyfleet.tenants import Scope

router = APIRouter(prefix="/tenants")


class CreditBody(Body):
    user_id: UserId
    amount: bodies.Tokens
    provider_transaction_id: ProviderId


@router.post("/{tenant_id}/credits", status_code=201, dependencies=[Depends(OperatorCaller(Scope.OPERATE))])
async def credit_wallet(tenant_id: TenantId, body: CreditBody, house: TheHouse, response: Response) -> CreditView:
    """201 when tokens moved; 200 with the first answer when this payment had been credited before."""
    async with house.control_tx(read_only=True) as tx:
        tenant = await tenants.get_tenant(tx, tenant_id)
        await tenants.get_user_of(tx, tenant_id, body.user_id)
    view = await credit(house, tenant, body.user_id, body.amount, body.provider_transaction_id)
    if view.replayed:
        response.status_code = 200
    return view
