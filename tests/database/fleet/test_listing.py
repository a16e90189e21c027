"""What operators see of fleets and workers, on both engines."""

import shlex

import pytest

from comfyfleet import fleet
from comfyfleet.fleet import NewWorker, WorkerEvent, WorkerFilter, WorkerStatus
from comfyfleet.fleet.model import Sighting
from comfyfleet.house import House
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.ids import FleetId, new_id
from comfyfleet.kernel.page import PageRequest
from comfyfleet.kernel.secret import Secret
from tests.builders import a_workflow
from tests.database.dispatch.test_queue import Holder, Queue
from tests.database.fleet.test_fleet import Yard, yard

__all__ = ["yard"]


async def listed(house: House, wanted: WorkerFilter = WorkerFilter(), rows: int = 10) -> list[fleet.ListedWorker]:  # noqa: B008 frozen
    async with house.control_tx(read_only=True) as tx:
        return (await fleet.list_workers(tx, PageRequest(rows=rows), wanted)).rows


async def test_workers_are_listed_with_fleet_load_and_leases(yard: Yard) -> None:
    made = await yard.register("i-1")
    own = await a_workflow(yard.house, "upscale")
    await yard.register("i-2", fleet=None, own_workflows=[own.id])
    queue = Queue(yard.house)
    for _ in range(2):
        await queue.add(workflow_id=yard.workflow_id)
    assert await queue.lease(Holder(made.worker.id, made.worker.incarnation)) is not None
    async with yard.house.control_tx() as tx:
        await fleet.touch_workers(tx, [Sighting(made.worker.id, ago_s=0.0, current_load=1)])
    second, first = await listed(yard.house)
    assert (first.worker_id, first.fleet, first.open_leases, first.current_load) == ("i-1", "video/production", 1, 1)
    assert (second.worker_id, second.fleet, second.open_leases) == ("i-2", None, 0)


async def test_workers_are_filtered_and_paged(yard: Yard) -> None:
    for number in range(5):
        await yard.register(f"i-{number}")
    await yard.move(WorkerEvent.DRAIN, "i-3")
    draining = await listed(yard.house, WorkerFilter(status=WorkerStatus.DRAINING))
    assert [each.worker_id for each in draining] == ["i-3"]
    assert len(await listed(yard.house, WorkerFilter(fleet_id=yard.fleet.id))) == 5
    assert await listed(yard.house, WorkerFilter(fleet_id=FleetId(new_id()))) == []
    seen: list[str] = []
    cursor: str | None = None
    async with yard.house.control_tx(read_only=True) as tx:
        while cursor is not None or not seen:
            page = await fleet.list_workers(tx, PageRequest.parse(rows=2, cursor=cursor), WorkerFilter())
            seen += [each.worker_id for each in page.rows]
            cursor = page.next_cursor
    assert seen == ["i-4", "i-3", "i-2", "i-1", "i-0"]


async def test_a_worker_shows_where_each_of_its_workflows_comes_from(yard: Yard) -> None:
    own = await a_workflow(yard.house, "upscale")
    new = NewWorker("i-1", "10.0.0.7", capabilities={"vram_gb": 24}, providers=("self_hosted", "cloud"))
    async with yard.house.control_tx() as tx:
        await fleet.register_worker(tx, new, fleet=yard.fleet, own_workflows=[own.id], rules=yard.rules)
        await fleet.assign_workflow(tx, yard.fleet.id, yard.workflow_id, is_active=False)
        found = await fleet.show_worker(tx, "i-1")
        with pytest.raises(NotFound):
            await fleet.show_worker(tx, "i-2")
    assert [(each.workflow, each.source, each.is_active) for each in found.assignments] == [
        ("face-swap", "fleet", False),
        ("upscale", "own", True),
    ]
    assert (found.address, found.capabilities, found.providers) == (
        "10.0.0.7",
        {"vram_gb": 24},
        ["self_hosted", "cloud"],
    )


async def test_a_fleet_shows_its_assignments_and_counts_its_workers(yard: Yard) -> None:
    for name in ("i-1", "i-2"):
        await yard.register(name)
    await yard.move(WorkerEvent.REVOKE, "i-2")
    async with yard.house.control_tx(read_only=True) as tx:
        found = await fleet.show_fleet(tx, yard.fleet.id)
        with pytest.raises(NotFound):
            await fleet.show_fleet(tx, FleetId(new_id()))
    assert found.fleet == yard.fleet
    assert [(each.workflow, each.is_active) for each in found.assignments] == [("face-swap", True)]
    assert {status.value: count for status, count in found.workers.items() if count} == {"approved": 1, "revoked": 1}


async def test_the_command_that_starts_a_worker_is_one_line_a_shell_reads_as_meant(yard: Yard) -> None:
    line = fleet.start_command(yard.fleet, control_plane_url="https://fleet.example.com", secret=Secret("cfs_x y"))
    assert shlex.split(line) == [
        "COMFYFLEET_FLEET_SECRET=cfs_x y",
        *["comfyfleet", "worker", "--control-plane", "https://fleet.example.com"],
        *["--fleet", "video", "--stage", "production"],
    ]
    assert "<paste a fleet secret>" in shlex.split(fleet.start_command(yard.fleet, control_plane_url="http://x"))[0]
