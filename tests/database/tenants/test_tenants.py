"""Tenants, users and their moves, on both engines."""

import asyncio

import pytest

from comfyfleet import tenants
from comfyfleet.house import House
from comfyfleet.kernel.errors import AlreadyExists, IllegalMove, InvalidInput, NotFound
from comfyfleet.kernel.page import PageRequest
from comfyfleet.tenants import Role
from comfyfleet.tenants.lifecycle import TENANT, USER, TenantEvent, TenantStatus, UserEvent, UserStatus
from tests.builders import PASSWORD, a_tenant, a_user


async def test_a_tenant_is_found_by_slug_and_by_id(house: House) -> None:
    made = await a_tenant(house, "acme-films")
    async with house.control_tx() as tx:
        assert await tenants.find_tenant(tx, "acme-films") == made
        assert await tenants.find_tenant(tx, str(made.id)) == made
        with pytest.raises(NotFound):
            await tenants.find_tenant(tx, "nobody")


@pytest.mark.parametrize("slug", ["", "-a", "a-", "A", "a b", "a/b", "ä", "a" * 64, "a\n"])
async def test_a_slug_that_is_none_is_refused(house: House, slug: str) -> None:
    with pytest.raises(InvalidInput, match="slug"):
        async with house.control_tx() as tx:
            await tenants.create_tenant(tx, slug=slug, name="x", pool="main")


async def test_of_ten_creations_of_one_slug_one_succeeds(house: House) -> None:
    async def create() -> bool:
        try:
            await a_tenant(house, "acme")
        except AlreadyExists:
            return False
        return True

    assert (await asyncio.gather(*(create() for _ in range(10)))).count(True) == 1


@pytest.mark.parametrize("state", list(TenantStatus))
@pytest.mark.parametrize("event", list(TenantEvent))
async def test_every_move_of_a_tenant(house: House, state: TenantStatus, event: TenantEvent) -> None:
    """Asking for the state it is in already is no error."""
    tenant = await a_tenant(house)
    async with house.control_tx() as tx:
        if state is TenantStatus.SUSPENDED:
            await tenants.move_tenant(tx, tenant.id, TenantEvent.SUSPEND)
        moved = await tenants.move_tenant(tx, tenant.id, event)
    assert moved.status == TENANT.target(event)


@pytest.mark.parametrize("state", list(UserStatus))
@pytest.mark.parametrize("event", list(UserEvent))
async def test_every_move_of_a_user(house: House, state: UserStatus, event: UserEvent) -> None:
    tenant = await a_tenant(house)
    user = await a_user(house, tenant, password=None if state is UserStatus.INVITED else PASSWORD)
    async with house.control_tx() as tx:
        if state is UserStatus.DISABLED:
            await tenants.move_user(tx, user.id, UserEvent.DISABLE, within=tenant.id)
    legal = (state, event) in USER.moves or USER.target(event) == state
    async with house.control_tx() as tx:
        if legal:
            moved = await tenants.move_user(tx, user.id, event, within=tenant.id)
            assert moved.status == USER.target(event)
        else:
            with pytest.raises(IllegalMove):
                await tenants.move_user(tx, user.id, event, within=tenant.id)
            assert (await tenants.get_user(tx, user.id)).status == state


async def test_a_user_of_another_tenant_is_as_unknown_as_none(house: House) -> None:
    ours, theirs = await a_tenant(house), await a_tenant(house)
    user = await a_user(house, theirs)
    async with house.control_tx() as tx:
        with pytest.raises(NotFound):
            await tenants.move_user(tx, user.id, UserEvent.DISABLE, within=ours.id)
        with pytest.raises(NotFound):
            await tenants.get_user_of(tx, ours.id, user.id)
        assert (await tenants.get_user(tx, user.id)).status is UserStatus.INVITED


@pytest.mark.parametrize("email", ["", "x", "a@", "@b", "a b@c.de", "a@b@c.de", "a@b\n.de", "a" * 250 + "@b.de"])
async def test_an_email_that_is_none_is_refused(house: House, email: str) -> None:
    tenant = await a_tenant(house)
    with pytest.raises(InvalidInput, match="email"):
        async with house.control_tx() as tx:
            await tenants.create_user(tx, email=email, role=Role.MEMBER, tenant_id=tenant.id)


async def test_an_email_is_unique_however_it_is_spelt(house: House) -> None:
    tenant, other = await a_tenant(house), await a_tenant(house)
    async with house.control_tx() as tx:
        user = await tenants.create_user(tx, email="Ada@Example.COM", role=Role.MEMBER, tenant_id=tenant.id)
        assert user.email == "ada@example.com"
        assert await tenants.find_user(tx, "ADA@example.com") == user
        with pytest.raises(AlreadyExists):
            await tenants.create_user(tx, email="ada@EXAMPLE.com", role=Role.ADMIN, tenant_id=other.id)


async def test_operators_have_no_tenant_and_all_others_have_one(house: House) -> None:
    tenant = await a_tenant(house)
    async with house.control_tx() as tx:
        for role, tenant_id in ((Role.OPERATOR, tenant.id), (Role.MEMBER, None), (Role.ADMIN, None)):
            with pytest.raises(InvalidInput, match="role"):
                await tenants.create_user(tx, email="x@example.com", role=role, tenant_id=tenant_id)


async def test_lists_are_paged_and_hold_this_tenants_users_only(house: House) -> None:
    tenant, other = await a_tenant(house), await a_tenant(house)
    mine = [await a_user(house, tenant) for _ in range(3)]
    await a_user(house, other)
    await a_user(house, None, Role.OPERATOR)
    async with house.control_tx(read_only=True) as tx:
        first = await tenants.list_users(tx, tenant.id, PageRequest(rows=2))
        second = await tenants.list_users(tx, tenant.id, PageRequest.parse(rows=2, cursor=first.next_cursor))
        operators = await tenants.list_users(tx, None, PageRequest())
    assert [*first.rows, *second.rows] == mine[::-1]
    assert second.next_cursor is None
    assert [user.role for user in operators.rows] == [Role.OPERATOR]
