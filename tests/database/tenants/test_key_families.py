"""Keys that were made with a key go with it; on both engines."""

import asyncio

import pytest

from comfyfleet.db.tables import api_keys
from comfyfleet.house import House
from comfyfleet.kernel.errors import Unauthenticated
from comfyfleet.kernel.ids import KeyId
from comfyfleet.kernel.page import PageRequest
from comfyfleet.kernel.secret import Secret
from comfyfleet.tenants import Scope, User, credentials
from tests.builders import PASSWORD, a_tenant, a_user

READ = frozenset({Scope.READ})


async def make(house: House, user: User, by: Secret | None = None) -> Secret:
    """A key: made with another one, or at the command line."""
    async with house.control_tx() as tx:
        if by is None:
            return (await credentials.create_key(tx, user, name="x", scopes=READ)).secret
        maker = (await credentials.authenticate_key(tx, by)).caller.credential
        made = await credentials.create_key(tx, user, name="x", scopes=READ, made_via="key", made_by=maker)
        return made.secret


async def revoke(house: House, key: Secret) -> int:
    async with house.control_tx() as tx:
        return (await credentials.revoke_key(tx, await id_of(house, key))).also_revoked


async def id_of(house: House, key: Secret) -> KeyId:
    async with house.control_tx(read_only=True) as tx:
        prefix = key.reveal().split("_")[1]
        return KeyId((await tx.one(api_keys.select().where(api_keys.c.prefix == prefix))).id)


async def works(house: House, *keys: Secret) -> list[bool]:
    found = []
    async with house.control_tx(read_only=True) as tx:
        for key in keys:
            try:
                await credentials.authenticate_key(tx, key)
            except Unauthenticated:
                found.append(False)
            else:
                found.append(True)
    return found


@pytest.fixture
async def user(house: House) -> User:
    return await a_user(house, await a_tenant(house), password=PASSWORD)


async def test_with_a_key_go_those_that_it_made_and_those_that_they_made(house: House, user: User) -> None:
    first = await make(house, user)
    child, sibling = await make(house, user, by=first), await make(house, user, by=first)
    grandchild, other = await make(house, user, by=child), await make(house, user)
    ids = [await id_of(house, each) for each in (first, child, other)]
    async with house.control_tx(read_only=True) as tx:
        assert list((await credentials.count_made_with(tx, user.id, ids)).values()) == [3, 1, 0]
    assert await revoke(house, child) == 1
    assert await works(house, first, child, sibling, grandchild, other) == [True, False, True, False, True]
    assert await revoke(house, first) == 1, "and only those that still worked are counted"
    assert await works(house, sibling, other) == [False, True]
    assert await revoke(house, first) == 0, "twice is once"


async def test_one_that_was_revoked_alone_hides_nothing_behind_it(house: House, user: User) -> None:
    """As a replica that knows no families does it during an upgrade."""
    first = await make(house, user)
    child = await make(house, user, by=first)
    grandchild = await make(house, user, by=child)
    child_id = await id_of(house, child)
    async with house.central.engine.begin() as connection:
        stamp = api_keys.c.created_at
        await connection.execute(api_keys.update().where(api_keys.c.id == child_id).values(revoked_at=stamp))
    assert await works(house, grandchild) == [True]
    assert await revoke(house, first) == 1
    assert await works(house, grandchild) == [False]


async def test_of_a_key_from_before_it_is_not_known_what_it_made(house: House, user: User) -> None:
    first = await make(house, user)
    child = await make(house, user, by=first)
    async with house.central.engine.begin() as connection:
        await connection.execute(api_keys.update().values(made_via=None, made_by=None))
    assert await revoke(house, first) == 0
    assert await works(house, first, child) == [False, True]
    async with house.control_tx(read_only=True) as tx:
        assert {each.made_via for each in (await credentials.list_keys(tx, user.id, PageRequest())).rows} == {None}


async def test_a_key_that_is_made_while_its_maker_is_revoked_does_not_outlive_it(house: House, user: User) -> None:
    for _ in range(5):
        first = await make(house, user)

        async def try_one(maker: Secret = first) -> Secret | None:
            try:
                return await make(house, user, by=maker)
            except Unauthenticated:
                return None

        *made, _ = await asyncio.gather(*(try_one() for _ in range(4)), revoke(house, first))
        assert not any(await works(house, *(each for each in made if isinstance(each, Secret))))


async def test_a_new_password_revokes_all_keys_where_that_is_wanted(house: House, user: User) -> None:
    keys = [await make(house, user), await make(house, user)]
    for wanted, left in ((False, [True, True]), (True, [False, False])):
        async with house.control_tx() as tx:
            link = await credentials.make_link(tx, user, ttl_s=60)
            _, revoked = await credentials.spend_link(tx, link.id, password_hash="new", revoke_keys=wanted)
        assert (revoked, await works(house, *keys)) == (2 if wanted else 0, left)
