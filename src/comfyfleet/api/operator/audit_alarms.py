"""Alarms of the audit chains: while one is open, credits are stopped."""

from datetime import datetime
from uuid import UUID

from fastapi import APIRouter

from comfyfleet import audit
from comfyfleet.api.bodies import View
from comfyfleet.api.operator.policies import SEE, Acting
from comfyfleet.api.policy import TheHouse
from comfyfleet.audit import Action

router = APIRouter(prefix="/audit-alarms")


class AlarmView(View):
    """`pool`: empty for the central database. `seq`: the first row that is missing or not what it was."""

    id: UUID
    pool: str
    chain: str
    seq: int
    problem: str
    found_at: datetime
    acknowledged_at: datetime | None
    acknowledged_by: str | None


class AlarmsView(View):
    alarms: list[AlarmView]


@router.get("", dependencies=SEE)
async def get_audit_alarms(house: TheHouse) -> AlarmsView:
    """The oldest hundred that nobody has acknowledged."""
    async with house.control_tx(read_only=True) as tx:
        return AlarmsView(alarms=[AlarmView.model_validate(each) for each in await audit.open_alarms(tx)])


@router.post("/{alarm_id}/acknowledge")
async def acknowledge_audit_alarm(alarm_id: UUID, house: TheHouse, actor: Acting) -> AlarmView:
    """It was looked at: credits go on when no other alarm is open, and the chain is watched from where it stands."""
    async with house.control_tx() as tx:
        alarm = await audit.acknowledge_alarm(tx, alarm_id, by=actor.name)
        facts = {"pool": alarm.pool, "chain": alarm.chain, "seq": alarm.seq, "problem": alarm.problem}
        action = Action("audit_alarm.acknowledge", str(alarm_id), facts)
        await audit.record_action(tx, actor, action, signer=house.chain)
    return AlarmView.model_validate(alarm)
