"""Settlements that could not be applied to their tenant's database, and were set aside."""

from datetime import datetime
from typing import Any

from fastapi import APIRouter

from comfyfleet import audit
from comfyfleet.api.bodies import View
from comfyfleet.api.operator.policies import SEE, Acting, Pages
from comfyfleet.api.policy import TheHouse
from comfyfleet.audit import Action
from comfyfleet.dispatch import DispatchStatus
from comfyfleet.dispatch.settlements import list_parked, replay_parked
from comfyfleet.kernel.ids import DispatchId, SettlementId, TenantId

router = APIRouter(prefix="/settlements")


class SettlementView(View):
    """`last_error`: why it could not be applied. `error`: why the dispatch itself failed, if it did."""

    id: SettlementId
    dispatch_id: DispatchId
    tenant_id: TenantId
    pool: str
    outcome: DispatchStatus
    error_class: str | None
    error: str | None
    detail: dict[str, Any]
    tries: int
    last_error: str | None
    parked_at: datetime | None
    created_at: datetime


class SettlementPage(View):
    settlements: list[SettlementView]
    next_cursor: str | None


@router.get("", dependencies=SEE)
async def get_parked_settlements(house: TheHouse, page: Pages) -> SettlementPage:
    """Those that are parked, newest first."""
    async with house.control_tx(read_only=True) as tx:
        found = await list_parked(tx, page)
    rows = [SettlementView.model_validate(each) for each in found.rows]
    return SettlementPage(settlements=rows, next_cursor=found.next_cursor)


@router.post("/{settlement_id}/replay", status_code=202)
async def replay_settlement(settlement_id: SettlementId, house: TheHouse, actor: Acting) -> None:
    """What was in its way is gone: due again, as if never tried. 404 when it is not parked."""
    async with house.control_tx() as tx:
        await replay_parked(tx, settlement_id)
        await audit.record_action(tx, actor, Action("settlement.replay", str(settlement_id)), signer=house.chain)
