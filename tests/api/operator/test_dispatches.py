"""The queue as operators see and change it: dispatches, blocks, workflows."""

import pytest

from comfyfleet import dispatch
from comfyfleet.dispatch import Beat, FailureClass
from comfyfleet.dispatch.settlements import due_settlements, park
from comfyfleet.dispatch.waiting import NO_WORKER, Reason, none_fit, tell_reasons
from comfyfleet.kernel.ids import new_id
from tests.api.operator.conftest import Depot, proof
from tests.builders import a_tenant


async def test_dispatches_are_found_by_status_workflow_tenant_and_worker(depot: Depot) -> None:
    made, tenant = await depot.register(), await a_tenant(depot.house, "acme")
    running, waiting = await depot.enqueue(tenant_id=tenant.id), await depot.enqueue()
    assert await depot.lease(made) is not None
    for params, expected in [
        ({}, [waiting, running]),
        ({"status": "queued"}, [waiting]),
        ({"worker": "i-1"}, [running]),
        ({"tenant_id": str(tenant.id)}, [running]),
        ({"workflow": "face-swap", "status": "completed"}, []),
    ]:
        found = await depot.ask("GET", "/dispatches", params=params)
        assert [each["id"] for each in found["dispatches"]] == [str(each) for each in expected], params
    (shown,) = (await depot.ask("GET", "/dispatches", params={"worker": "i-1"}))["dispatches"]
    assert (shown["tenant"], shown["workflow"], shown["worker"]) == ("acme", "face-swap", "i-1")
    for params in ({"workflow": "nothing"}, {"worker": "i-9"}):
        await depot.ask("GET", "/dispatches", 404, params=params)
    for params in ({"status": "lost"}, {"worker": "a\x00b"}, {"workflow": "A B"}):
        await depot.ask("GET", "/dispatches", 422, params=params)


async def test_a_waiting_dispatch_is_cancelled_at_once(depot: Depot) -> None:
    dispatch_id = await depot.enqueue()
    answer = await depot.ask("POST", f"/dispatches/{dispatch_id}/cancel")
    assert (answer["dispatch"]["status"], answer["attempts"]) == ("cancelled", [])
    assert await depot.audited() == [("dispatch.cancel", str(dispatch_id), {"status": "cancelled"})]


async def test_a_leased_dispatch_is_cancelled_by_its_worker(depot: Depot) -> None:
    made, dispatch_id = await depot.register(), await depot.enqueue()
    grant = await depot.lease(made)
    assert grant is not None
    answer = await depot.ask("POST", f"/dispatches/{dispatch_id}/cancel")
    assert answer["dispatch"]["status"] == "leased"
    assert answer["dispatch"]["cancel_requested_at"] is not None
    async with depot.house.control_tx() as tx:
        beat, _ = await dispatch.extend_leases(tx, [Beat(proof(made, grant))], rules=depot.house.queue_rules)
    assert beat[dispatch_id].cancel_requested
    await depot.fail(made, grant, FailureClass.CANCELLED)
    shown = await depot.ask("GET", f"/dispatches/{dispatch_id}")
    assert shown["dispatch"]["status"] == "cancelled"
    assert [(each["worker"], each["reason"]) for each in shown["attempts"]] == [("i-1", "cancelled")]
    await depot.ask("POST", f"/dispatches/{new_id()}/cancel", 404)


async def test_a_higher_priority_goes_first(depot: Depot) -> None:
    made = await depot.register()
    first, second = await depot.enqueue(), await depot.enqueue()
    answer = await depot.ask("PUT", f"/dispatches/{second}/priority", json={"priority": 10})
    assert answer["dispatch"]["priority"] == 10
    order = [await depot.lease(made) for _ in range(2)]
    assert [grant.dispatch_id for grant in order if grant] == [second, first]
    assert await depot.audited() == [("dispatch.set_priority", str(second), {"priority": 10})]


async def test_one_that_a_worker_has_keeps_its_priority(depot: Depot) -> None:
    made, dispatch_id = await depot.register(), await depot.enqueue()
    assert await depot.lease(made) is not None
    refused = await depot.ask("PUT", f"/dispatches/{dispatch_id}/priority", 409, json={"priority": 10})
    assert refused["error"] == {
        "code": "not_waiting",
        "message": f"Dispatch {dispatch_id} is leased: only one that waits, queued or delayed, "
        "can be given another place.",
        "details": {"dispatch_id": str(dispatch_id), "status": "leased"},
    }
    assert await depot.audited() == []


@pytest.mark.parametrize("priority", [-101, 101, None, "high"])
async def test_a_priority_has_bounds(depot: Depot, priority: object) -> None:
    await depot.ask("PUT", f"/dispatches/{await depot.enqueue()}/priority", 422, json={"priority": priority})


async def test_a_cleared_block_lets_work_through_again(depot: Depot) -> None:
    made = await depot.register()
    await depot.enqueue()
    grant = await depot.lease(made)
    assert grant is not None
    await depot.fail(made, grant, FailureClass.SERVER_FAULT)
    await depot.enqueue()
    assert await depot.lease(made) is None
    listed = await depot.ask("GET", "/blocks", params={"worker": "i-1"})
    assert [(each["worker"], each["structure_hash"], each["half_open"]) for each in listed["blocks"]] == [
        ("i-1", "*", False)
    ]
    await depot.ask("DELETE", "/blocks/i-1/*", 204)
    assert (await depot.ask("GET", "/blocks"))["blocks"] == []
    assert await depot.lease(made) is not None
    for path in ("/blocks/i-1/*", "/blocks/i-9/*"):
        await depot.ask("DELETE", path, 404)
    assert await depot.audited() == [("block.clear", "i-1", {"structure_hash": "*"})]


async def test_a_workflow_is_added_deactivated_and_activated(depot: Depot) -> None:
    body = {"slug": "upscale", "graph": {"1": {"class_type": "Upscale", "inputs": {}}}, "run_deadline_s": 300}
    made = await depot.ask("POST", "/workflows", 201, json=body)
    assert (made["name"], made["is_active"], made["run_deadline_s"]) == ("upscale", True, 300)
    assert len(made["structure_hash"]) == 64
    assert (await depot.ask("POST", "/workflows/upscale/deactivate"))["is_active"] is False
    assert (await depot.ask("POST", "/workflows/upscale/activate"))["is_active"] is True
    listed = await depot.ask("GET", "/workflows")
    assert [each["slug"] for each in listed["workflows"]] == ["upscale", "face-swap"]
    await depot.ask("POST", "/workflows", 409, json=body)
    await depot.ask("POST", "/workflows/nothing/activate", 404)
    assert await depot.audited() == [
        ("workflow.add", "upscale", {"structure_hash": made["structure_hash"], "version": 1}),
        ("workflow.deactivate", "upscale", {}),
        ("workflow.activate", "upscale", {}),
    ]


@pytest.mark.parametrize("wrong", [{"graph": {}}, {"slug": "A B"}, {"structure_hash": "*"}, {"run_deadline_s": 0}])
async def test_what_is_no_workflow_is_refused(depot: Depot, wrong: dict[str, object]) -> None:
    await depot.ask("POST", "/workflows", 422, json={"slug": "ok", "graph": {"1": {}}, **wrong})
    assert await depot.audited() == []


async def test_a_number_that_json_cannot_write_is_refused(depot: Depot) -> None:
    text = '{"slug": "ok", "graph": {"1": {"inputs": {"cfg": 1e999}}}}'
    headers = {**depot.headers, "Content-Type": "application/json"}
    answer = await depot.client.post("/api/admin/workflows", content=text, headers=headers)
    assert answer.status_code == 422
    assert "JSON" in answer.json()["error"]["message"]


async def test_that_nobody_takes_work_is_told_at_once(depot: Depot) -> None:
    """Its user is told after a minute; an operator who looks is not left to wonder."""
    dispatch_id = await depot.enqueue()
    await depot.register()
    reasons = [(await depot.ask("GET", f"/dispatches/{dispatch_id}"))["waits_because"]]
    for deed in ("drain", "approve"):
        await depot.ask("POST", f"/workers/i-1/{deed}")
        reasons.append((await depot.ask("GET", f"/dispatches/{dispatch_id}"))["waits_because"])
    assert reasons == [None, NO_WORKER, None]


async def test_operators_read_which_worker_lacks_what(depot: Depot) -> None:
    await depot.register(capabilities={"node_classes": ["Other"]})
    shown = await depot.ask("GET", f"/dispatches/{await depot.enqueue()}")
    assert (shown["waits_because"], shown["lacks"]) == (none_fit("nodes"), "i-1 lacks node classes: KSampler")


async def test_why_nobody_takes_a_dispatch_is_told(depot: Depot) -> None:
    await depot.register()
    dispatch_id = await depot.enqueue()
    shown = await depot.ask("GET", f"/dispatches/{dispatch_id}")
    assert shown["waits_because"] is None
    async with depot.house.control_tx() as tx:
        lane = (await dispatch.get_dispatch(tx, dispatch_id)).dispatch.lane
        await tell_reasons(tx, [Reason(lane, None, "No worker may run this.")])
    shown = await depot.ask("GET", f"/dispatches/{dispatch_id}")
    assert shown["waits_because"] == "No worker may run this."
    cancelled = await depot.ask("POST", f"/dispatches/{dispatch_id}/cancel")
    assert cancelled["waits_because"] is None


async def test_a_parked_settlement_is_listed_and_replayed_once(depot: Depot) -> None:
    await depot.ask("POST", f"/dispatches/{await depot.enqueue()}/cancel")
    async with depot.house.control_tx() as tx:
        (due,) = await due_settlements(tx, "main", rows=10)
        await park(tx, due.id, error="the pool said no")
    (parked,) = (await depot.ask("GET", "/settlements"))["settlements"]
    assert (parked["id"], parked["outcome"], parked["last_error"]) == (str(due.id), "cancelled", "the pool said no")
    await depot.ask("POST", f"/settlements/{due.id}/replay", 202)
    assert (await depot.ask("GET", "/settlements"))["settlements"] == []
    async with depot.house.control_tx() as tx:
        assert [each.id for each in await due_settlements(tx, "main", rows=10)] == [due.id]
    await depot.ask("POST", f"/settlements/{due.id}/replay", 404)
    assert (await depot.audited())[1:] == [("settlement.replay", str(due.id), {})]
