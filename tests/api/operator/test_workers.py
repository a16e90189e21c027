"""Workers: looked at, let in, drained, shut out."""

import pytest

from comfyfleet import dispatch, fleet
from comfyfleet.dispatch import FailureClass, Report
from comfyfleet.fleet import FleetRules, WorkerStatus
from comfyfleet.kernel.errors import Forbidden, LeaseLost, Superseded, Unauthenticated
from comfyfleet.kernel.secret import Secret
from tests.api.operator.conftest import Depot, proof


async def who(depot: Depot, token: Secret) -> fleet.Worker:
    async with depot.house.control_tx(read_only=True) as tx:
        return await fleet.authenticate_worker(tx, token, worker_id="i-1")


async def test_a_worker_is_shown_whole(depot: Depot) -> None:
    made = await depot.register(capabilities={"vram_gb": 24})
    await depot.enqueue()
    failed = await depot.lease(made)
    assert failed is not None
    await depot.fail(made, failed, FailureClass.OUT_OF_MEMORY)
    await depot.enqueue()
    held = await depot.lease(made)
    assert held is not None, "the block is another tenant's"
    found = await depot.ask("GET", "/workers/i-1")
    assert (found["status"], found["fleet"], found["incarnation"]) == ("approved", "video/production", 1)
    assert (found["max_concurrency"], found["open_leases"], found["capabilities"]) == (2, 1, {"vram_gb": 24})
    assert (found["address"], found["providers"]) == ("10.0.0.7", ["self_hosted"])
    assert [(each["workflow"], each["source"]) for each in found["assignments"]] == [("face-swap", "fleet")]
    assert [each["id"] for each in found["leases"]] == [str(held.dispatch_id)]
    assert [(each["structure_hash"], each["failure_count"]) for each in found["blocks"]] == [
        (depot.workflow.structure_hash, 1)
    ]
    assert [(each["dispatch_id"], each["reason"]) for each in found["recent_attempts"]] == [
        (str(held.dispatch_id), None),
        (str(failed.dispatch_id), "out_of_memory"),
    ]
    await depot.ask("GET", "/workers/i-2", 404)


async def test_workers_are_listed_by_state_and_fleet(depot: Depot) -> None:
    for name in ("i-1", "i-2", "i-3"):
        await depot.register(name)
    await depot.ask("POST", "/workers/i-2/drain")
    names = [each["worker_id"] for each in (await depot.ask("GET", "/workers"))["workers"]]
    assert names == ["i-3", "i-2", "i-1"]
    draining = await depot.ask("GET", "/workers", params={"status": "draining", "fleet_id": str(depot.fleet.id)})
    assert [each["worker_id"] for each in draining["workers"]] == ["i-2"]
    page = await depot.ask("GET", "/workers", params={"limit": 2})
    rest = await depot.ask("GET", "/workers", params={"limit": 2, "cursor": page["next_cursor"]})
    assert [each["worker_id"] for each in rest["workers"]] == ["i-1"]
    await depot.ask("GET", "/workers", 422, params={"status": "asleep"})


async def test_a_revoked_worker_loses_its_leases_and_its_token_at_once(depot: Depot) -> None:
    made, other = await depot.register("i-1"), await depot.register("i-2")
    ids = [await depot.enqueue() for _ in range(2)]
    grants = [await depot.lease(made) for _ in ids]
    answer = await depot.ask("POST", "/workers/i-1/revoke")
    assert (answer["leases_returned"], answer["worker"]["status"]) == (2, "revoked")
    assert answer["worker"]["incarnation"] == made.worker.incarnation + 1
    with pytest.raises(Unauthenticated, match="revoked"):
        await who(depot, made.token)
    with pytest.raises(Forbidden, match="revoked"):
        await depot.register("i-1")
    for grant in grants:
        assert grant is not None
        async with depot.house.control_tx() as tx:
            ended = await dispatch.complete_dispatches(
                tx, [Report(proof(made, grant), "late")], signer=depot.house.leases
            )
        assert isinstance(ended[grant.dispatch_id], LeaseLost)
    elsewhere = [await depot.lease(other) for _ in ids]
    assert {grant.dispatch_id for grant in elsewhere if grant} == set(ids)
    again = await depot.ask("POST", "/workers/i-1/revoke")
    assert again["leases_returned"] == 0
    assert await depot.audited() == [
        ("worker.revoke", "i-1", {"leases_returned": 2}),
        ("worker.revoke", "i-1", {"leases_returned": 0}),
    ]


async def test_approving_a_revoked_worker_does_not_revive_its_old_token(depot: Depot) -> None:
    made = await depot.register()
    await depot.ask("POST", "/workers/i-1/revoke")
    await depot.ask("POST", "/workers/i-1/approve")
    with pytest.raises(Superseded):
        await who(depot, made.token)
    assert (await who(depot, (await depot.register()).token)).worker_id == "i-1"


async def test_a_drained_worker_keeps_what_it_holds_and_gets_nothing_new(depot: Depot) -> None:
    made = await depot.register()
    await depot.enqueue()
    assert await depot.lease(made) is not None
    answer = await depot.ask("POST", "/workers/i-1/drain")
    assert (answer["status"], answer["open_leases"]) == ("draining", 1)
    async with depot.house.control_tx() as tx:
        standing = await fleet.hold_workers(tx, [made.worker.id])
        assert standing[made.worker.id].status == WorkerStatus.DRAINING
    assert (await depot.ask("POST", "/workers/i-1/approve"))["status"] == "approved"
    assert [name for name, _, _ in await depot.audited()] == ["worker.drain", "worker.approve"]


async def test_a_pending_worker_is_approved_and_cannot_be_drained_before(depot: Depot) -> None:
    async with depot.house.control_tx() as tx:
        new = fleet.NewWorker("i-1", "10.0.0.7")
        await fleet.register_worker(tx, new, fleet=depot.fleet, rules=FleetRules(approves_by_itself=False))
    refused = await depot.ask("POST", "/workers/i-1/drain", 409)
    assert refused["error"]["code"] == "illegal_move"
    assert (await depot.ask("POST", "/workers/i-1/approve"))["status"] == "approved"
    assert [name for name, _, _ in await depot.audited()] == ["worker.approve"], "what was refused was not done"


async def test_a_rotated_token_replaces_the_old_one(depot: Depot) -> None:
    made = await depot.register()
    rotated = await depot.ask("POST", "/workers/i-1/rotate-token")
    assert (await who(depot, Secret(rotated["token"]))).worker_id == "i-1"
    with pytest.raises(Superseded):
        await who(depot, made.token)


@pytest.mark.parametrize("verb", ["approve", "drain", "revoke", "rotate-token"])
async def test_nothing_is_done_to_a_worker_that_does_not_exist(depot: Depot, verb: str) -> None:
    await depot.ask("POST", f"/workers/i-9/{verb}", 404)
    assert await depot.audited() == []
