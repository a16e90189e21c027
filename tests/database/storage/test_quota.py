"""What a tenant may keep: exact under concurrency, given back when files go; and a disk that is nearly full."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import sqlalchemy as sa

from comfyfleet import storage, tenants
from comfyfleet.db.tables import files
from comfyfleet.house import House
from comfyfleet.kernel.errors import InvalidInput, NotFound, StorageFull, StorageQuotaExceeded
from comfyfleet.kernel.ids import TenantId, new_id
from comfyfleet.storage import File, made_file, object_key
from comfyfleet.storage.backends.local import LocalStore
from tests.builders import Member, a_member

PNG = "image/png"


async def announce(house: House, member: Member, size_bytes: int, quota_bytes: int | None) -> File:
    upload = await storage.prepare_upload(
        house.store, member.tenant.id, name="a.png", media_type=PNG, size_bytes=size_bytes
    )
    async with house.tenant_tx(member.tenant) as tx:
        return await storage.announce_upload(tx, upload, user_id=member.user.id, quota_bytes=quota_bytes)


async def used(house: House, member: Member) -> int:
    async with house.tenant_tx(member.tenant, read_only=True) as tx:
        return await storage.read_usage(tx)


async def test_uploads_on_their_way_count_and_what_goes_makes_room(house: House) -> None:
    member, neighbour = await a_member(house), await a_member(house)
    first = await announce(house, member, 60, 100)
    with pytest.raises(StorageQuotaExceeded) as refused:
        await announce(house, member, 41, 100)
    assert refused.value.facts == {"used_bytes": 60, "limit_bytes": 100, "wanted_bytes": 41}
    await announce(house, member, 40, 100)
    await announce(house, neighbour, 100, 100)
    await announce(house, member, 1_000, None)
    assert await used(house, member) == 1_100
    async with house.tenant_tx(member.tenant) as tx:
        await storage.delete_file(tx, first.id, member.user.id)
    assert await used(house, member) == 1_040
    async with house.pool_tx("main") as pool_tx:
        await pool_tx.run(sa.update(files).values(created_at=sa.text("'2020-01-01 00:00:00'")))
        assert await storage.abandon_uploads(pool_tx, age_s=60, rows=10) == 3
    assert await used(house, member) == 0


async def test_results_of_jobs_count_and_are_never_refused(house: House) -> None:
    member = await a_member(house)
    key = object_key("tenants", member.tenant.id, "outputs", new_id())
    made = made_file(key, disk="local", name="r.png", media_type=PNG, size_bytes=500)
    await announce(house, member, 90, 100)
    async with house.tenant_tx(member.tenant) as tx:
        await storage.record_made(tx, [made], user_id=member.user.id)
    assert await used(house, member) == 590
    with pytest.raises(StorageQuotaExceeded):
        await announce(house, member, 1, 100)


async def test_of_many_at_once_exactly_as_many_come_in_as_fit(house: House) -> None:
    member = await a_member(house)
    answers = await asyncio.gather(*(announce(house, member, 10, 100) for _ in range(24)), return_exceptions=True)
    assert sum(isinstance(each, File) for each in answers) == 10
    assert all(isinstance(each, (File, StorageQuotaExceeded)) for each in answers)
    assert await used(house, member) == 100


async def test_operators_limit_a_tenant_and_lift_it(house: House) -> None:
    member = await a_member(house)
    limited_house = House(**{**vars(house), "storage_bytes_max": 7})
    assert (house.quota_of(member.tenant), limited_house.quota_of(member.tenant)) == (None, 7)
    async with house.control_tx() as tx:
        tenant = await tenants.limit_storage(tx, member.tenant.id, 0)
        assert (house.quota_of(tenant), limited_house.quota_of(tenant)) == (0, 0)
        assert (await tenants.limit_storage(tx, member.tenant.id, None)).storage_bytes_max is None
        with pytest.raises(InvalidInput):
            await tenants.limit_storage(tx, member.tenant.id, -1)
        with pytest.raises(NotFound):
            await tenants.limit_storage(tx, TenantId(new_id()), 1)


async def test_a_nearly_full_disk_takes_no_uploads_and_the_servers_own_files(house: House) -> None:
    store, member = house.store, await a_member(house)
    assert isinstance(store, LocalStore)
    grant_url = store.presign_put(object_key("a", new_id()), media_type=PNG, size_bytes=3, expires_s=60).url
    store._free_bytes_min = 2**62
    with pytest.raises(StorageFull):
        await announce(house, member, 1, None)

    async def three() -> AsyncIterator[bytes]:
        yield b"abc"

    with pytest.raises(StorageFull):
        await store.receive(store.open_grant(grant_url.rpartition("/")[2]), three())  # type: ignore[arg-type]
    with pytest.raises(StorageFull):
        await store.write_stream(object_key("b", new_id()), three(), media_type=PNG)
    await store.write(object_key("audit", new_id()), b"a checkpoint", media_type="application/json")
    await store.check()
    assert await used(house, member) == 0
