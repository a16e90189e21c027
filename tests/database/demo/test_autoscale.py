"""What `up --autoscale` sets up, and what a start without it takes back. Embedded: SQLite only."""

from pathlib import Path

import pytest

from comfyfleet import fleet, machines
from comfyfleet.cli.up.autoscale import NAME, SHOWN, DemoScaling, ScalesOtherwise
from comfyfleet.cli.up.first_start import Furnished, furnish, furnish_effects
from comfyfleet.demo.catalogue import CATALOGUE, PAINT
from comfyfleet.demo.choose import Choice
from comfyfleet.fleet import NewWorker
from comfyfleet.house import House
from comfyfleet.kernel.errors import EffectUnavailable, NotFound
from comfyfleet.scaling import ScalingSettings
from comfyfleet.settings import Settings
from tests.engines import an_engine

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)


@pytest.fixture
def scaling(house: House, tmp_path: Path) -> DemoScaling:
    return DemoScaling(house, Settings(home=tmp_path / "home", port=8700), "up")


async def a_home(house: House, home: Path) -> Furnished:
    home.mkdir(exist_ok=True)  # noqa: ASYNC240
    furnished = await furnish(house, home)
    await furnish_effects(house, home, Choice(CATALOGUE))
    return furnished


async def can_be_ordered(house: House) -> bool:
    house.desk.availability.forget()
    async with house.control_tx(read_only=True) as tx:
        try:
            await house.take_runnable(tx, PAINT.slug)
        except EffectUnavailable:
            return False
    return True


async def turn_on(scaling: DemoScaling, furnished: Furnished, folder: Path) -> None:
    async with an_engine(folder) as engine:
        await scaling.turn_on(furnished, engine.url)


async def kept(house: House) -> machines.FleetScaling:
    async with house.control_tx(read_only=True) as tx:
        return await machines.get_fleet_scaling(tx, await fleet.find_fleet_named(tx, NAME))


async def test_effects_are_sold_before_any_machine_was_seen(house: House, scaling: DemoScaling, tmp_path: Path) -> None:
    furnished = await a_home(house, scaling.settings.home)
    assert not await can_be_ordered(house)
    await turn_on(scaling, furnished, tmp_path / "engine")
    assert await can_be_ordered(house)
    assert ((await kept(house)).settings, (await kept(house)).adapter) == (SHOWN, "local")


async def test_a_later_start_keeps_what_an_operator_changed_and_writes_off_what_was_killed(
    house: House, scaling: DemoScaling, tmp_path: Path
) -> None:
    furnished = await a_home(house, scaling.settings.home)
    await turn_on(scaling, furnished, tmp_path / "engine")
    changed = ScalingSettings(classes=SHOWN.classes, max_workers=5)
    async with house.control_tx() as tx:
        found = await fleet.find_fleet_named(tx, NAME)
        config = {**(await kept(house)).adapter_settings, "until": 1}
        await machines.set_fleet_scaling(tx, found, changed, adapter="local", adapter_settings=config)
        # The worker of a start without --autoscale, killed while it held a lease.
        made = await fleet.register_worker(tx, NewWorker("up", "127.0.0.1"), fleet=found, rules=house.fleet_rules)
    await turn_on(scaling, furnished, tmp_path / "engine")
    assert (await kept(house)).settings == changed
    assert (await kept(house)).adapter_settings["until"] != 1
    async with house.control_tx(read_only=True) as tx:
        assert (await fleet.get_worker(tx, made.worker.worker_id)).status == "gone"


async def test_a_start_without_it_turns_it_off(house: House, scaling: DemoScaling, tmp_path: Path) -> None:
    await scaling.turn_off()  # nothing is there yet
    furnished = await a_home(house, scaling.settings.home)
    await turn_on(scaling, furnished, tmp_path / "engine")
    await scaling.turn_off()
    with pytest.raises(NotFound):
        await kept(house)
    assert not await can_be_ordered(house)


async def test_a_provider_that_an_operator_chose_stays(house: House, scaling: DemoScaling, tmp_path: Path) -> None:
    furnished = await a_home(house, scaling.settings.home)
    async with house.control_tx() as tx:
        found = await fleet.find_fleet_named(tx, NAME)
        await machines.set_fleet_scaling(tx, found, SHOWN, adapter="command", adapter_settings={"command": "true"})
    with pytest.raises(ScalesOtherwise, match="adapter 'command'"):
        await turn_on(scaling, furnished, tmp_path / "engine")
    await scaling.turn_off()
    assert (await kept(house)).adapter == "command"
