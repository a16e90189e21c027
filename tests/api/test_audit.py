"""What operators do over HTTP stands in the audit log, and they can read it."""

import httpx2
import pytest
from fastapi import FastAPI

from comfyfleet import audit, checks
from comfyfleet.audit import WorkerEvent, WorkerEventName
from comfyfleet.house import House
from comfyfleet.kernel.ids import DispatchId, new_id
from tests.api.asking import at, fault
from tests.builders import Member, a_member, an_operator_key

LOG = "/api/admin/audit-log"
EVENTS = "/api/admin/worker-events"


@pytest.fixture
async def operator(house: House) -> dict[str, str]:
    return await an_operator_key(house)


@pytest.fixture
async def member(house: House) -> Member:
    return await a_member(house)


async def test_an_operators_actions_are_listed_with_who_and_from_where(
    app: FastAPI, house: House, operator: dict[str, str]
) -> None:
    async with at(app, address="192.0.2.44") as client:
        made = (await client.post("/api/admin/tenants", json={"slug": "acme"}, headers=operator)).json()
        url = f"/api/admin/tenants/{made['id']}"
        await client.post(f"{url}/users", json={"email": "ada@acme.test"}, headers=operator)
        await client.post(f"{url}/suspend", headers=operator)
        await client.post(f"{url}/resume", headers=operator)
        refused = await client.post("/api/admin/tenants", json={"slug": "acme"}, headers=operator)
        first = (await client.get(LOG, params={"limit": 3}, headers=operator)).json()
        rest = (await client.get(LOG, params={"limit": 3, "cursor": first["next_cursor"]}, headers=operator)).json()
    assert refused.status_code == 409
    actions = first["actions"] + rest["actions"]
    names = ["tenant.resume", "tenant.suspend", "user.invite", "tenant.create"]
    assert [each["action"] for each in actions] == names
    assert [each["seq"] for each in actions] == [4, 3, 2, 1]
    assert {(each["actor_kind"], each["address"]) for each in actions} == {("operator", "192.0.2.44")}
    assert actions[3]["subject"] == made["id"]
    assert actions[3]["detail"] == {"slug": "acme", "pool": "main", "weight": 1}
    assert (await checks.verify_chains(house)).broken == []


async def test_a_credit_stands_once_in_the_tenants_own_chain(
    client: httpx2.AsyncClient, member: Member, operator: dict[str, str]
) -> None:
    body = {"user_id": str(member.user.id), "amount": 250, "provider_transaction_id": "gift-1"}
    for _ in range(2):
        await client.post(f"/api/admin/tenants/{member.tenant.id}/credits", json=body, headers=operator)
    (credit,) = (await client.get(LOG, params={"tenant_id": str(member.tenant.id)}, headers=operator)).json()["actions"]
    assert (credit["seq"], credit["action"], credit["actor_kind"]) == (1, "PAYMENT_CREDIT", "operator")
    assert credit["detail"] == {"amount": 250, "provider_transaction_id": "gift-1", "user_id": str(member.user.id)}
    assert (await client.get(LOG, headers=operator)).json()["actions"] == []


async def test_an_unknown_tenants_chain_is_not_found(client: httpx2.AsyncClient, operator: dict[str, str]) -> None:
    answer = await client.get(LOG, params={"tenant_id": str(new_id())}, headers=operator)
    assert (answer.status_code, fault(answer)["code"]) == (404, "not_found")


async def test_worker_events_are_listed_by_worker_and_by_dispatch(
    client: httpx2.AsyncClient, house: House, operator: dict[str, str]
) -> None:
    dispatch_id = DispatchId(new_id())
    async with house.control_tx() as tx:
        events = [
            WorkerEvent(WorkerEventName.REGISTER, "gpu-1", detail={"boot_id": "b"}),
            WorkerEvent(WorkerEventName.FAIL, "gpu-2", dispatch_id),
        ]
        await audit.record_worker_events(tx, events)
    by_worker = (await client.get(EVENTS, params={"worker_id": "gpu-1"}, headers=operator)).json()["events"]
    by_dispatch = (await client.get(EVENTS, params={"dispatch_id": str(dispatch_id)}, headers=operator)).json()[
        "events"
    ]
    assert [(each["event"], each["detail"]) for each in by_worker] == [("register", {"boot_id": "b"})]
    assert [(each["event"], each["worker_id"]) for each in by_dispatch] == [("fail", "gpu-2")]


@pytest.mark.parametrize("path", [LOG, EVENTS])
async def test_only_operators_read_it(client: httpx2.AsyncClient, member: Member, path: str) -> None:
    assert (await client.get(path)).status_code == 401
    assert (await client.get(path, headers=member.headers)).status_code == 403
