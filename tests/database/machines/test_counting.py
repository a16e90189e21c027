"""What a fleet that scales adds to the metrics: each thing once, whatever is repeated. On both engines."""

import asyncio

import pytest
from prometheus_client.registry import CollectorRegistry

from comfyfleet import fleet
from comfyfleet.dispatch import Holder
from comfyfleet.fleet import WorkerEvent
from comfyfleet.metrics.control_plane import ControlPlaneCounters
from comfyfleet.scaling import LaunchAnswer, LaunchError, LaunchProblem, MachineClass, Market, Offer, ScalingSettings
from tests.database.machines.test_scale_fleets import Site, site

__all__ = ["site"]
SPOT = MachineClass("gpu", offers=(Offer(Market.SPOT, 1.0),))
SETTINGS = ScalingSettings(classes=(SPOT,), max_workers=3, down_delay_s=20.0, first_start_s=60.0)


class Counted:
    """The metrics of this process."""

    def __init__(self, site: Site) -> None:
        self.registry = CollectorRegistry()
        self.fleet = str(site.fleet.id)
        site.house.facts.note = ControlPlaneCounters(self.registry).note

    def __call__(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"comfyfleet_{name}", {"fleet": self.fleet, **labels})


@pytest.fixture
async def counted(site: Site) -> Counted:
    await site.set(SETTINGS)
    return Counted(site)


async def test_a_machine_is_counted_from_its_launch_to_its_loss(site: Site, counted: Counted) -> None:
    await site.tick()
    await site.order()
    await asyncio.gather(*(site.scaler().tick() for _ in range(3)))
    assert counted("machines_launched_total", market="spot") == 1
    [name] = site.names
    await site.tick(50)
    assert counted("gpu_seconds_total", phase="starting") == pytest.approx(50, abs=3)
    site.pass_time(15)
    holder: Holder = await site.register(name)
    grant = await site.queue.lease(holder)
    await site.tick()  # it is not its turn: nothing is counted twice
    for _ in range(2):
        await site.tick(10)
    assert counted("machine_start_seconds_count") == 1
    assert 60 <= (counted("machine_start_seconds_sum") or 0) <= 75
    assert counted("gpu_seconds_total", phase="running") == pytest.approx(35, abs=5)
    assert grant is not None
    await site.queue.complete(grant, holder)
    assert counted("machines_ended_total", market="spot", reason="lost") == 0
    site.provider.cloud.terminate([name])  # and not by us
    await site.tick(60)
    await site.tick(10)
    assert counted("machines_ended_total", market="spot", reason="lost") == 1
    assert counted("machine_launch_errors_total", reason="never_registered") == 0, "it had registered"


async def test_a_machine_that_we_end_is_counted_with_the_reason_once(site: Site, counted: Counted) -> None:
    await site.order()
    await site.tick()
    [name] = site.names
    site.pass_time(65)
    holder = await site.register(name)
    grant = await site.queue.lease(holder)
    assert grant is not None
    await site.queue.complete(grant, holder)
    await site.tick(10)
    async with site.house.control_tx() as tx:
        await fleet.move_worker(tx, name, WorkerEvent.DRAIN)
    for _ in range(3):
        await site.tick(10)
    assert name not in site.names
    assert counted("machines_ended_total", market="spot", reason="drained") == 1
    assert counted("machines_ended_total", market="spot", reason="lost") == 0


async def test_a_machine_that_ends_with_its_drained_worker_is_not_lost(site: Site, counted: Counted) -> None:
    """A surplus is drained, the worker leaves, and its machine ends before we ask for it."""
    await site.order()
    await site.tick()
    [name] = site.names
    site.pass_time(65)
    holder = await site.register(name)
    grant = await site.queue.lease(holder)
    assert grant is not None
    await site.queue.complete(grant, holder)
    for _ in range(20):
        if await site.status(name) == "draining":
            break
        await site.tick(100)
    assert await site.status(name) == "draining"
    async with site.house.control_tx() as tx:
        await fleet.move_worker(tx, name, WorkerEvent.LEAVE)
    site.provider.cloud.terminate([name])
    await site.tick(60)
    assert name not in site.names
    assert counted("machines_ended_total", market="spot", reason="drained") == 1
    assert counted("machines_ended_total", market="spot", reason="lost") == 0


async def test_launches_that_fail_are_counted_by_reason(site: Site, counted: Counted) -> None:
    await site.order(5)
    refused = LaunchError(LaunchProblem.REFUSED, "no such class")
    site.provider.answers = LaunchAnswer((), (refused,))
    await site.tick()
    assert counted("machine_launch_errors_total", reason="refused") == 1
    site.provider.answers = LaunchAnswer((), (LaunchError(LaunchProblem.UNREACHABLE, "no answer"),))
    site.pass_time(400)  # the place has rested
    for expected in (1, 2):  # it stays open, and is asked again
        await site.tick(10)
        assert counted("machine_launch_errors_total", reason="unreachable") == expected


async def test_a_machine_that_never_registers_is_a_failed_launch(site: Site, counted: Counted) -> None:
    await site.order()
    await site.tick()
    for _ in range(3):
        await site.tick(350)
    assert counted("machine_launch_errors_total", reason="never_registered") == 1
    assert counted("machines_ended_total", market="spot", reason="never_registered") == 1
    assert (counted("gpu_seconds_total", phase="starting") or 0) < 60, "what was between two late looks is not known"
