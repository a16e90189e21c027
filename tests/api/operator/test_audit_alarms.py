"""While an audit chain does not hold: credits are stopped, jobs go on, and operators see it everywhere."""

from comfyfleet import audit
from comfyfleet.audit import FoundFault
from tests.api.operator.conftest import Depot
from tests.builders import a_member


async def test_an_alarm_stops_credits_and_not_jobs_until_it_is_acknowledged(depot: Depot) -> None:
    member = await a_member(depot.house)
    path = f"/tenants/{member.tenant.id}/credits"
    payment = {"user_id": str(member.user.id), "amount": 10, "provider_transaction_id": "p-1"}
    async with depot.house.control_tx() as tx:
        [alarm] = await audit.raise_alarms(tx, [FoundFault("main", "tenant:1", 7, "was changed")])
        assert await audit.raise_alarms(tx, [FoundFault("main", "tenant:1", 7, "was changed")]) == []
    refused = await depot.ask("POST", path, 503, json=payment)
    assert refused["error"]["code"] == "credits_stopped"
    ready = (await depot.client.get("/readyz")).json()
    assert (ready["status"], ready["parts"]["audit"]) == ("degraded", "alarm")
    [shown] = (await depot.ask("GET", "/overview"))["audit_alarms"]
    assert (shown["chain"], shown["seq"], shown["problem"]) == ("tenant:1", 7, "was changed")
    made = await depot.register()
    await depot.enqueue()
    assert await depot.lease(made) is not None, "jobs go on"
    for _ in range(2):
        seen = await depot.ask("POST", f"/audit-alarms/{alarm.id}/acknowledge")
        assert seen["acknowledged_by"] is not None
    assert (await depot.ask("GET", "/audit-alarms"))["alarms"] == []
    credited = await depot.ask("POST", path, 201, json=payment)
    assert credited["balance"] == 10
    assert "audit_alarm.acknowledge" in [name for name, _, _ in await depot.audited()]
