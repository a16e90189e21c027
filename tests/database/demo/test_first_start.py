"""What the first start of `up` sets up, found again by every later one. Embedded: SQLite only."""

import stat
from pathlib import Path

import pytest

from comfyfleet import fleet, ledger, tenants
from comfyfleet.cli.up.first_start import EFFECTS_FILE, Furnished, furnish, furnish_effects
from comfyfleet.demo.catalogue import CATALOGUE, GLOW, MOSAIC, NEGATIVE, PENCIL, POSTER
from comfyfleet.demo.choose import Choice
from comfyfleet.demo.seed import EMAIL, FLEET, STAGE, TENANT
from comfyfleet.house import House
from comfyfleet.kernel.page import PageRequest
from comfyfleet.kernel.secret import Secret
from comfyfleet.tenants import credentials
from comfyfleet.workflows import effects

pytestmark = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
PAGE = PageRequest(rows=100)
OWN = Choice(CATALOGUE)
STOCK = Choice((GLOW, POSTER, PENCIL, MOSAIC, NEGATIVE))


async def start(house: House, home: Path, choice: Choice = OWN) -> Furnished:
    furnished = await furnish(house, home)
    if furnished.demo_key is not None:
        await furnish_effects(house, home, choice)
    return furnished


async def what_there_is(house: House) -> dict[str, object]:
    async with house.control_tx(read_only=True) as tx:
        tenant = await tenants.find_tenant(tx, TENANT)
        user = await tenants.find_user(tx, EMAIL)
        crew = await fleet.show_fleet(tx, (await fleet.find_fleet(tx, FLEET, STAGE)).id)
        offers = (await effects.list_offers(tx, PAGE, published_only=True)).rows
        secrets = (await fleet.list_fleet_secrets(tx, PAGE)).rows
    async with house.tenant_tx(tenant, read_only=True) as tx:
        wallet = await ledger.get_wallet(tx, user.id)
    return {
        "effects": sorted((each.effect.id, each.effect.slug) for each in offers),
        "problems": {each.problem for each in offers},
        "assigned": sorted((each.workflow, each.is_active) for each in crew.assignments),
        "fleet secrets": [each.id for each in secrets],
        "balance": wallet.balance,
    }


async def test_everything_is_there_once_however_often_it_starts(house: House, tmp_path: Path) -> None:
    first = await start(house, tmp_path)
    assert first.demo_password is not None
    found = await what_there_is(house)
    assert found["balance"] == 1000
    assert [slug for _, slug in found["effects"]] == [each.slug for each in CATALOGUE]  # type: ignore[attr-defined]
    assert found["problems"] == {None}
    assert found["assigned"] == sorted((each.workflow, True) for each in CATALOGUE)

    again = await start(house, tmp_path)

    assert again == Furnished(first.fleet_secret, first.demo_key, None)
    assert await what_there_is(house) == found


async def test_a_start_that_was_cut_short_is_finished_by_the_next_with_a_new_password(
    house: House, tmp_path: Path
) -> None:
    first = await start(house, tmp_path)
    assert first.demo_key is not None
    found = await what_there_is(house)
    first.demo_key.unlink()  # its last step

    second = await start(house, tmp_path)

    assert second.demo_password is not None
    assert second.demo_password != first.demo_password
    assert await what_there_is(house) == found
    async with house.control_tx(read_only=True) as tx:
        login = await credentials.find_login(tx, EMAIL)
    assert login is not None
    assert await credentials.check_password(second.demo_password, login.password_hash)


async def test_what_was_taken_away_does_not_come_back(house: House, tmp_path: Path) -> None:
    await start(house, tmp_path)
    async with house.control_tx() as tx:
        await effects.unpublish_effect(tx, "glow")
        await effects.delete_effect(tx, "glow")
    await start(house, tmp_path)
    async with house.control_tx(read_only=True) as tx:
        offers = (await effects.list_offers(tx, PAGE, published_only=False)).rows
    assert "glow" not in {each.effect.slug for each in offers}


async def test_another_server_brings_its_own_effects_and_takes_none_away(house: House, tmp_path: Path) -> None:
    await start(house, tmp_path, STOCK)
    found = await what_there_is(house)
    assert {slug for _, slug in found["effects"]} == {each.slug for each in STOCK.effects}  # type: ignore[attr-defined]
    async with house.control_tx() as tx:
        await effects.unpublish_effect(tx, "mosaic")
        await effects.delete_effect(tx, "mosaic")
    for _ in range(2):
        await start(house, tmp_path, OWN)
    await start(house, tmp_path, STOCK)
    found = await what_there_is(house)
    expected = {each.slug for each in (*STOCK.effects, *CATALOGUE)} - {"mosaic"}
    assert {slug for _, slug in found["effects"]} == expected  # type: ignore[attr-defined]


async def test_a_demo_of_an_older_release_keeps_what_was_taken_away(house: House, tmp_path: Path) -> None:
    await start(house, tmp_path)
    (tmp_path / EFFECTS_FILE).unlink()  # older releases wrote none
    async with house.control_tx() as tx:
        await effects.unpublish_effect(tx, "glow")
        await effects.delete_effect(tx, "glow")
    await start(house, tmp_path)
    async with house.control_tx(read_only=True) as tx:
        offers = (await effects.list_offers(tx, PAGE, published_only=False)).rows
    assert {each.effect.slug for each in offers} == {each.slug for each in CATALOGUE} - {"glow"}


async def test_where_others_live_there_is_no_demo_but_a_fleet_to_work_in(house: House, tmp_path: Path) -> None:
    async with house.control_tx() as tx:
        await tenants.create_tenant(tx, slug="acme", name="Acme", pool="main", weight=1)
    found = await start(house, tmp_path)
    assert (found.demo_key, found.demo_password) == (None, None)
    async with house.control_tx(read_only=True) as tx:
        assert [each.slug for each in (await tenants.list_tenants(tx, PAGE)).rows] == ["acme"]
        await fleet.require_fleet_secret(tx, Secret(found.fleet_secret.read_text().strip()))


async def test_secrets_are_for_their_owner_only(house: House, tmp_path: Path) -> None:
    found = await start(house, tmp_path)
    assert found.demo_key is not None
    for path in (found.fleet_secret, found.demo_key):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
