"""Tenants, users and their moves, on both engines."""

import asyncio

import pytest

from comfyfleet import tenants
from comfyfleet.house import House
from comfyfleet.kernel.errors import (
    AlreadyExists,
    IllegalMove,
    InvalidInput,
    LinkSpent,
    NotFound,
    Unauthenticated,
)
from comfyfleet.kernel.ids import KeyId, LinkId, SessionId
from comfyfleet.kernel.page import PageRequest
from comfyfleet.kernel.secret import Secret
from comfyfleet.tenants import Role, Scope, credentials
from comfyfleet.tenants.lifecycle import TENANT, TenantEvent, TenantStatus, UserStatus
from tests.builders import PASSWORD, a_tenant, a_user
from tests.conftest import ManualClock


async def test_a_tenant_is_found_by_slug_and_by_id(house: House) -> None:
    made = await a_tenant(house, "acme-films")
    async with house.control_tx() as tx:
        assert await tenants.find_tenant(tx, "acme-films") == made
        assert await tenants.find_tenant(tx, str(made.id)) == made
        with pytest.raises(NotFound):
            await tenants.find_tenant(tx, "nobody")


@pytest.mark.parametrize(
    "slug", ["", "-a", "a-", "A", "a b", "a/b", "ä", "a" * 64, "a\n", "01a1de6b-58b3-7003-9892-999be8071f26"]
)
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


@pytest.mark.parametrize("had_password", [True, False])
async def test_disabling_and_enabling_leads_back_to_where_the_user_was(house: House, had_password: bool) -> None:
    """Asking for what is so already changes nothing; who never chose a password is invited again."""
    tenant = await a_tenant(house)
    user = await a_user(house, tenant, password=PASSWORD if had_password else None)
    before = UserStatus.ACTIVE if had_password else UserStatus.INVITED
    async with house.control_tx() as tx:
        assert (await tenants.enable_user(tx, user.id, within=tenant.id)).status is before
        for _ in range(2):
            assert (await tenants.disable_user(tx, user.id, within=tenant.id)).status is UserStatus.DISABLED
        assert (await tenants.enable_user(tx, user.id, within=tenant.id)).status is before


async def test_enabling_does_not_bring_old_sessions_and_links_back(house: House) -> None:
    tenant = await a_tenant(house)
    user = await a_user(house, tenant, password=PASSWORD)
    async with house.control_tx() as tx:
        login = await credentials.find_login(tx, user.email)
        assert login is not None
        assert login.password_hash is not None
        session = await credentials.open_session(tx, user.id, password_hash=login.password_hash, address="x", ttl_s=60)
        link = await credentials.make_link(tx, user, ttl_s=60)
    assert session is not None
    async with house.control_tx() as tx:
        await tenants.disable_user(tx, user.id, within=tenant.id)
        await tenants.enable_user(tx, user.id, within=tenant.id)
        with pytest.raises(Unauthenticated):
            await credentials.authenticate_session(tx, session)
        with pytest.raises(LinkSpent):
            await credentials.spend_link(tx, link.id, password_hash="x")


async def test_a_disabled_user_gets_no_link(house: House) -> None:
    tenant = await a_tenant(house)
    user = await a_user(house, tenant, password=PASSWORD)
    async with house.control_tx() as tx:
        await tenants.disable_user(tx, user.id, within=tenant.id)
        with pytest.raises(IllegalMove):
            await credentials.make_link(tx, user, ttl_s=60)


async def test_a_login_with_the_old_password_does_not_survive_the_new_one(house: House) -> None:
    """Whichever commits first: a session opened by the old password is over once the new one stands."""
    tenant = await a_tenant(house)
    user = await a_user(house, tenant, password=PASSWORD)
    async with house.control_tx() as tx:
        login = await credentials.find_login(tx, user.email)
    assert login is not None
    old_hash = login.password_hash or ""
    opened, committed = asyncio.Event(), asyncio.Event()

    async def log_in() -> Secret | None:
        async with house.control_tx() as tx:
            secret = await credentials.open_session(tx, user.id, password_hash=old_hash, address="x", ttl_s=60)
            opened.set()
            await asyncio.sleep(0.2)
        committed.set()
        return secret

    async def reset() -> None:
        await opened.wait()
        async with house.control_tx() as tx:
            await credentials.replace_password(tx, user, password_hash="new")
        assert committed.is_set(), "the reset waited for the login, and so could end it"

    secret, _ = await asyncio.gather(log_in(), reset())
    assert secret is not None
    async with house.control_tx() as tx:
        with pytest.raises(Unauthenticated):
            await credentials.authenticate_session(tx, secret)


async def test_of_two_links_made_at_once_one_works(house: House) -> None:
    tenant = await a_tenant(house)
    user = await a_user(house, tenant, password=PASSWORD)

    async def make() -> LinkId:
        async with house.control_tx() as tx:
            link = await credentials.make_link(tx, user, ttl_s=60)
            await asyncio.sleep(0.05)
            return link.id

    made = await asyncio.gather(*(make() for _ in range(4)))
    live = 0
    for link_id in made:
        async with house.control_tx() as tx:
            try:
                await credentials.require_live_link(tx, link_id)
                live += 1
            except LinkSpent:
                pass
    assert live == 1


async def test_a_user_of_another_tenant_is_as_unknown_as_none(house: House) -> None:
    ours, theirs = await a_tenant(house), await a_tenant(house)
    user = await a_user(house, theirs)
    async with house.control_tx() as tx:
        with pytest.raises(NotFound):
            await tenants.disable_user(tx, user.id, within=ours.id)
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


@pytest.mark.parametrize(
    "how", ["key revoked", "key expired", "key of a disabled user", "session ended", "session old"]
)
async def test_a_credential_is_looked_at_again(house: House, how: str, clock: ManualClock) -> None:
    """What lasts longer than a request asks whether its credential still lives."""
    tenant = await a_tenant(house)
    user = await a_user(house, tenant, password=PASSWORD)
    async with house.control_tx() as tx:
        if how.startswith("key"):
            made = await credentials.create_key(tx, user, name="x", scopes=frozenset({Scope.READ}), lifetime_s=600)
            caller = (await credentials.authenticate_key(tx, made.secret)).caller
        else:
            login = await credentials.find_login(tx, user.email)
            assert login is not None
            secret = await credentials.open_session(
                tx, user.id, password_hash=login.password_hash or "", address="x", ttl_s=600
            )
            assert secret is not None
            caller = await credentials.authenticate_session(tx, secret)
        assert await credentials.still_lives(tx, caller)
    async with house.control_tx() as tx:
        match how:
            case "key revoked":
                await credentials.revoke_key(tx, KeyId(caller.credential))
            case "key of a disabled user":
                await tenants.disable_user(tx, user.id, within=tenant.id)
            case "session ended":
                await credentials.end_session(tx, SessionId(caller.credential))
            case _:
                clock.advance(601)
    async with house.control_tx() as tx:
        assert not await credentials.still_lives(tx, caller)
