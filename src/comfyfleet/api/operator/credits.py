"""Operators top wallets up."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from comfyfleet import tenants
from comfyfleet.api import bodies
from comfyfleet.api.acting import actor_of
from comfyfleet.api.bodies import Body
from comfyfleet.api.crediting import ProviderId, credit
from comfyfleet.api.policy import OperatorCaller, TheHouse
from comfyfleet.api.views import CreditView
from comfyfleet.kernel.ids import TenantId, UserId
from comfyfleet.tenants import Caller, Scope

router = APIRouter(prefix="/tenants")


class CreditBody(Body):
    user_id: UserId
    amount: bodies.Tokens
    provider_transaction_id: ProviderId


@router.post("/{tenant_id}/credits", status_code=201)
async def credit_wallet(
    tenant_id: TenantId,
    body: CreditBody,
    house: TheHouse,
    caller: Annotated[Caller, Depends(OperatorCaller(Scope.OPERATE))],
    request: Request,
    response: Response,
) -> CreditView:
    """201 when tokens moved; 200 with the first answer when this payment had been credited before."""
    async with house.control_tx(read_only=True) as tx:
        tenant = await tenants.get_tenant(tx, tenant_id)
        await tenants.get_user_of(tx, tenant_id, body.user_id)
    actor = actor_of(request, caller)
    view = await credit(house, tenant, body.user_id, body.amount, body.provider_transaction_id, actor=actor)
    if view.replayed:
        response.status_code = 200
    return view
