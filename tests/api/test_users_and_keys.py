"""A tenant's admin and the tenant's users; a user and the user's keys."""

import asyncio
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from comfyfleet.db.tables import api_keys
from comfyfleet.house import House
from comfyfleet.kernel.ids import new_id
from comfyfleet.tenants import Role, Scope, move_tenant
from comfyfleet.tenants.lifecycle import TenantEvent
from tests.api.asking import fault, row_counts
from tests.builders import PASSWORD, Member, a_key, a_member, a_user, an_operator_key
from tests.conftest import ManualClock


@pytest.fixture
async def admin(house: House) -> Member:
    return await a_member(house)


def bearing(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


async def invite(client: httpx2.AsyncClient, admin: Member, email: str = "new@example.com", **more: str) -> Any:
    answer = await client.post("/api/users", json={"email": email, **more}, headers=admin.headers)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def accept(client: httpx2.AsyncClient, link: str) -> httpx2.Response:
    token = link.partition("#token=")[2]
    return await client.post("/api/auth/password", json={"token": token, "password": PASSWORD})


async def make_key(client: httpx2.AsyncClient, headers: dict[str, str], **body: Any) -> Any:
    answer = await client.post("/api/keys", json={"name": "robot", **body}, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_an_invited_user_becomes_active_by_choosing_a_password(client: httpx2.AsyncClient, admin: Member) -> None:
    invited = await invite(client, admin, role="member")
    assert (invited["user"]["status"], invited["user"]["role"]) == ("invited", "member")
    assert (await accept(client, invited["link"])).status_code == 200
    users = (await client.get("/api/users", headers=admin.headers)).json()["users"]
    assert {user["email"]: user["status"] for user in users} == {
        admin.user.email: "invited",
        "new@example.com": "active",
    }
    login = await client.post("/api/auth/login", json={"email": "NEW@example.com", "password": PASSWORD})
    assert login.json()["user_id"] == invited["user"]["id"]


async def test_a_new_invitation_replaces_the_old_one(client: httpx2.AsyncClient, admin: Member) -> None:
    invited = await invite(client, admin)
    again = await client.post(f"/api/users/{invited['user']['id']}/link", headers=admin.headers)
    assert (await accept(client, invited["link"])).status_code == 422
    assert (await accept(client, again.json()["link"])).status_code == 200


async def test_an_email_is_taken_once_in_the_whole_installation(
    client: httpx2.AsyncClient, house: House, admin: Member
) -> None:
    other = await a_member(house)
    await invite(client, other, "shared@example.com")
    before = await row_counts(house)
    for member in (admin, other):
        answer = await client.post("/api/users", json={"email": "SHARED@example.com"}, headers=member.headers)
        assert (answer.status_code, fault(answer)["code"]) == (409, "already_exists")
    assert await row_counts(house) == before


async def test_of_many_invitations_of_one_email_at_once_one_wins(client: httpx2.AsyncClient, admin: Member) -> None:
    body = {"email": "raced@example.com"}
    answers = await asyncio.gather(*(client.post("/api/users", json=body, headers=admin.headers) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [201, *[409] * 7]


@pytest.mark.parametrize("role", ["operator", "owner", "", None, 1])
async def test_nobody_is_invited_into_a_role_beyond_the_tenant(
    client: httpx2.AsyncClient, house: House, admin: Member, role: object
) -> None:
    before = await row_counts(house)
    answer = await client.post("/api/users", json={"email": "x@example.com", "role": role}, headers=admin.headers)
    assert answer.status_code == 422
    assert await row_counts(house) == before


async def test_a_member_cannot_manage_users(client: httpx2.AsyncClient, house: House, admin: Member) -> None:
    member = await a_member(house, tenant=admin.tenant, role=Role.MEMBER)
    before = await row_counts(house)
    target = f"/api/users/{admin.user.id}"
    answers = [
        await client.post("/api/users", json={"email": "x@example.com"}, headers=member.headers),
        await client.get("/api/users", headers=member.headers),
        *[await client.post(f"{target}/{verb}", headers=member.headers) for verb in ("link", "disable", "enable")],
    ]
    assert [answer.status_code for answer in answers] == [403] * 5
    assert {fault(answer)["code"] for answer in answers} == {"forbidden"}
    assert await row_counts(house) == before


@pytest.mark.parametrize("verb", ["link", "disable", "enable"])
async def test_another_tenants_user_is_as_unknown_as_none(
    client: httpx2.AsyncClient, house: House, admin: Member, verb: str
) -> None:
    stranger, nobody = await a_member(house), new_id()
    foreign = await client.post(f"/api/users/{stranger.user.id}/{verb}", headers=admin.headers)
    unknown = await client.post(f"/api/users/{nobody}/{verb}", headers=admin.headers)
    assert (foreign.status_code, unknown.status_code) == (404, 404)
    assert foreign.text.replace(str(stranger.user.id), "ID") == unknown.text.replace(str(nobody), "ID")
    assert (await client.get("/api/auth/me", headers=stranger.headers)).status_code == 200


async def test_disabled_then_enabled(client: httpx2.AsyncClient, house: House, admin: Member) -> None:
    member = await a_member(house, tenant=admin.tenant, role=Role.MEMBER, password=PASSWORD)
    target = f"/api/users/{member.user.id}"
    for _ in range(2):  # asking twice is asking once
        assert (await client.post(f"{target}/disable", headers=admin.headers)).json()["status"] == "disabled"
    assert (await client.get("/api/wallet", headers=member.headers)).status_code == 401
    for _ in range(2):
        assert (await client.post(f"{target}/enable", headers=admin.headers)).json()["status"] == "active"
    assert (await client.get("/api/wallet", headers=member.headers)).status_code == 200


async def test_enabling_does_not_lead_past_the_invitation(client: httpx2.AsyncClient, admin: Member) -> None:
    """Who never chose a password is invited again, and the old link stays void."""
    invited = await invite(client, admin)
    target = f"/api/users/{invited['user']['id']}"
    assert (await client.post(f"{target}/enable", headers=admin.headers)).json()["status"] == "invited"
    await client.post(f"{target}/disable", headers=admin.headers)
    assert (await client.post(f"{target}/enable", headers=admin.headers)).json()["status"] == "invited"
    assert (await accept(client, invited["link"])).status_code == 422
    again = await client.post(f"{target}/link", headers=admin.headers)
    assert (await accept(client, again.json()["link"])).status_code == 200


async def test_a_disabled_user_gets_no_link(client: httpx2.AsyncClient, admin: Member) -> None:
    target = f"/api/users/{(await invite(client, admin))['user']['id']}"
    await client.post(f"{target}/disable", headers=admin.headers)
    answer = await client.post(f"{target}/link", headers=admin.headers)
    assert (answer.status_code, fault(answer)["code"]) == (409, "illegal_move")


async def test_an_operator_hands_on_a_new_link_where_the_first_was_lost(
    client: httpx2.AsyncClient, house: House, admin: Member
) -> None:
    operator = await an_operator_key(house)
    users = f"/api/admin/tenants/{admin.tenant.id}/users"
    invited = (await client.post(users, json={"email": "new@example.com"}, headers=operator)).json()
    target = f"{users}/{invited['user']['id']}/link"
    again = (await client.post(target, headers=operator)).json()
    assert again["user"] == invited["user"]
    assert (await accept(client, invited["link"])).status_code == 422
    assert (await accept(client, again["link"])).status_code == 200
    # Who is there already gets a way to another password; who is shut out gets none.
    reset = (await client.post(target, headers=operator)).json()
    assert (reset["user"]["status"], (await accept(client, reset["link"])).status_code) == ("active", 200)
    await client.post(f"/api/users/{invited['user']['id']}/disable", headers=admin.headers)
    assert fault(await client.post(target, headers=operator))["code"] == "illegal_move"
    # What was done is written down; what was refused is not.
    (latest, _, first) = (await client.get("/api/admin/audit-log", headers=operator)).json()["actions"]
    assert (latest["action"], latest["subject"]) == ("user.renew_link", invited["user"]["id"])
    assert latest["detail"] == {"email": "new@example.com", "tenant_id": str(admin.tenant.id)}
    assert first["action"] == "user.invite"


async def test_an_operators_new_link_is_for_a_user_of_that_tenant(
    client: httpx2.AsyncClient, house: House, admin: Member
) -> None:
    operator, stranger = await an_operator_key(house), await a_member(house)
    for tenant, user in [(admin.tenant.id, stranger.user.id), (new_id(), admin.user.id), (admin.tenant.id, new_id())]:
        answer = await client.post(f"/api/admin/tenants/{tenant}/users/{user}/link", headers=operator)
        assert (answer.status_code, fault(answer)["code"]) == (404, "not_found")
    own = f"/api/admin/tenants/{admin.tenant.id}/users/{admin.user.id}/link"
    assert (await client.post(own, headers=admin.headers)).status_code == 403


async def test_nobody_can_disable_themselves(client: httpx2.AsyncClient, admin: Member) -> None:
    answer = await client.post(f"/api/users/{admin.user.id}/disable", headers=admin.headers)
    assert (answer.status_code, fault(answer)["code"]) == (403, "forbidden")
    assert (await client.get("/api/auth/me", headers=admin.headers)).status_code == 200


async def test_a_link_does_not_let_a_disabled_user_in(client: httpx2.AsyncClient, admin: Member) -> None:
    invited = await invite(client, admin)
    await client.post(f"/api/users/{invited['user']['id']}/disable", headers=admin.headers)
    assert fault(await accept(client, invited["link"]))["code"] == "link_spent"
    login = await client.post("/api/auth/login", json={"email": "new@example.com", "password": PASSWORD})
    assert login.status_code == 401


async def test_users_are_paged_and_only_ones_own(client: httpx2.AsyncClient, house: House, admin: Member) -> None:
    await a_member(house)
    invited = [await invite(client, admin, f"u{number}@example.com") for number in range(4)]
    expected = {admin.user.email} | {each["user"]["email"] for each in invited}
    seen: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = (await client.get("/api/users", params={"limit": 2, **cursor}, headers=admin.headers)).json()
        assert len(page["users"]) <= 2
        seen += [user["email"] for user in page["users"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert (len(seen), set(seen)) == (5, expected)


async def test_a_key_works_until_it_is_revoked(client: httpx2.AsyncClient, admin: Member) -> None:
    made = await make_key(client, admin.headers)
    headers = bearing(made["secret"])
    assert (await client.get("/api/wallet", headers=headers)).status_code == 200
    for _ in range(2):
        revoked = await client.post(f"/api/keys/{made['key']['id']}/revoke", headers=admin.headers)
        assert revoked.status_code == 200
        assert revoked.json()["revoked_at"] is not None
    assert (await client.get("/api/wallet", headers=headers)).status_code == 401


async def test_with_a_stolen_key_go_the_keys_that_the_thief_made(client: httpx2.AsyncClient, admin: Member) -> None:
    stolen = await make_key(client, admin.headers)
    thief = await make_key(client, bearing(stolen["secret"]))
    deeper = await make_key(client, bearing(thief["secret"]))
    listed = (await client.get("/api/keys", headers=admin.headers)).json()["keys"]
    assert {each["id"]: (each["made_with"], each["made_via"]) for each in listed} == {
        deeper["key"]["id"]: (0, "key"),
        thief["key"]["id"]: (1, "key"),
        stolen["key"]["id"]: (2, "key"),
        listed[-1]["id"]: (3, "command_line"),
    }
    revoked = await client.post(f"/api/keys/{stolen['key']['id']}/revoke", headers=admin.headers)
    assert revoked.json()["also_revoked"] == 2
    for key in (stolen, thief, deeper):
        assert (await client.get("/api/wallet", headers=bearing(key["secret"]))).status_code == 401
    assert (await client.get("/api/wallet", headers=admin.headers)).status_code == 200


async def test_a_key_expires(client: httpx2.AsyncClient, clock: ManualClock, admin: Member) -> None:
    made = await make_key(client, admin.headers, expires_in_s=3600)
    headers = bearing(made["secret"])
    clock.advance(3500)
    assert (await client.get("/api/wallet", headers=headers)).status_code == 200
    clock.advance(101)
    assert (await client.get("/api/wallet", headers=headers)).status_code == 401


@pytest.mark.parametrize("wanted_s", [None, 86_400, 60])
async def test_a_key_does_not_outlive_the_key_that_made_it(
    client: httpx2.AsyncClient, clock: ManualClock, admin: Member, wanted_s: int | None
) -> None:
    """Who holds a key for an hour must not turn it into one for ever."""
    short = await make_key(client, admin.headers, expires_in_s=3600)
    made = await make_key(client, bearing(short["secret"]), expires_in_s=wanted_s)
    assert made["key"]["expires_at"] <= short["key"]["expires_at"]
    clock.advance(50)
    assert (await client.get("/api/wallet", headers=bearing(made["secret"]))).status_code == 200
    clock.advance(11 if wanted_s == 60 else 3600)
    assert (await client.get("/api/wallet", headers=bearing(made["secret"]))).status_code == 401


async def test_last_use_is_noted_at_most_once_a_minute(
    client: httpx2.AsyncClient, clock: ManualClock, admin: Member
) -> None:
    made = await make_key(client, admin.headers)

    async def last_used_at() -> str | None:
        keys = (await client.get("/api/keys", headers=admin.headers)).json()["keys"]
        (found,) = [key["last_used_at"] for key in keys if key["id"] == made["key"]["id"]]
        return found

    async def use() -> str | None:
        assert (await client.get("/api/wallet", headers=bearing(made["secret"]))).status_code == 200
        return await last_used_at()

    assert await last_used_at() is None
    first = await use()
    assert first is not None
    clock.advance(30)
    assert await use() == first
    clock.advance(31)
    later = await use()
    assert later is not None
    assert later > first


async def test_a_secret_is_shown_once_and_never_listed(client: httpx2.AsyncClient, house: House, admin: Member) -> None:
    made = await make_key(client, admin.headers)
    secret = made["secret"]
    assert secret.startswith(f"cf_{made['key']['prefix']}_")
    assert "secret" not in made["key"]
    listed = await client.get("/api/keys", headers=admin.headers)
    revoked = await client.post(f"/api/keys/{made['key']['id']}/revoke", headers=admin.headers)
    for answer in (listed, revoked):
        assert secret not in answer.text
        assert secret.split("_", 2)[2] not in answer.text
        assert "hash" not in answer.text


@pytest.mark.parametrize(
    ("held", "wanted", "status"),
    [
        ((Scope.READ, Scope.WRITE), ["read"], 201),
        ((Scope.READ, Scope.WRITE), ["read", "write"], 201),
        ((Scope.READ, Scope.WRITE), ["manage"], 403),
        ((Scope.READ, Scope.WRITE), ["read", "write", "manage"], 403),
        ((Scope.READ, Scope.WRITE, Scope.MANAGE), ["manage"], 201),
        ((Scope.WRITE,), ["read"], 403),
        ((Scope.READ, Scope.WRITE, Scope.MANAGE), ["operate"], 422),
        ((Scope.READ, Scope.WRITE, Scope.MANAGE), [], 422),
    ],
)
async def test_a_key_never_gets_more_than_its_maker_has(
    client: httpx2.AsyncClient, house: House, admin: Member, held: tuple[Scope, ...], wanted: list[str], status: int
) -> None:
    maker = await a_key(house, admin.user, *held)
    before = await row_counts(house)
    body = {"name": "robot", "scopes": wanted}
    answer = await client.post("/api/keys", json=body, headers=bearing(maker.reveal()))
    assert answer.status_code == status
    after = await row_counts(house)
    assert after["central.api_keys"] - before["central.api_keys"] == (1 if status == 201 else 0)


async def test_a_members_key_cannot_manage_even_when_its_row_says_so(
    client: httpx2.AsyncClient, house: House, admin: Member
) -> None:
    """A key made while its user was an admin does not outlive the role."""
    member = await a_member(house, tenant=admin.tenant, role=Role.MEMBER)
    widened = sa.update(api_keys).where(api_keys.c.user_id == member.user.id).values(scopes=["manage", "operate"])
    async with house.central.engine.begin() as connection:
        assert (await connection.execute(widened)).rowcount == 1
    assert (await client.get("/api/auth/me", headers=member.headers)).json()["scopes"] == []
    for path in ("/api/users", "/api/admin/tenants"):
        assert (await client.get(path, headers=member.headers)).status_code == 403


async def test_another_users_key_cannot_be_seen_or_revoked(
    client: httpx2.AsyncClient, house: House, admin: Member
) -> None:
    """Not even by an admin of the same tenant: disabling the user is the admin's way."""
    member = await a_member(house, tenant=admin.tenant, role=Role.MEMBER)
    made = await make_key(client, member.headers)
    answer = await client.post(f"/api/keys/{made['key']['id']}/revoke", headers=admin.headers)
    assert answer.status_code == 404
    listed = (await client.get("/api/keys", headers=admin.headers)).json()["keys"]
    assert made["key"]["id"] not in [key["id"] for key in listed]
    assert (await client.get("/api/wallet", headers=bearing(made["secret"]))).status_code == 200


def malformed(secret: str) -> dict[str, bytes]:
    mark, prefix, rest = secret.split("_", 2)
    return {
        "one letter short": secret[:-1].encode(),
        "one letter more": f"{secret}A".encode(),
        "another secret": f"{mark}_{prefix}_{'A' * len(rest)}".encode(),
        "another prefix": f"{mark}_{'0' * 16}_{rest}".encode(),
        "large letters": secret.upper().encode(),
        "no secret": f"{mark}_{prefix}_".encode(),
        "no separator": f"{mark}_{prefix}".encode(),
        "prefix only": prefix.encode(),
        "another mark": f"xx_{prefix}_{rest}".encode(),
        "short prefix": f"{mark}_{prefix[:-1]}_{rest}".encode(),
        "no hex": f"{mark}_{'g' * 16}_{rest}".encode(),
        "a percent sign": f"{mark}_{'%' * 16}_{rest}".encode(),
        "a quote": f"{mark}_{prefix[:-1]}'_{rest}".encode(),
        "umlauts": f"{mark}_{prefix}_{rest[:-1]}ü".encode(),
        "latin-1": f"{mark}_{prefix}_{rest[:-1]}ü".encode("latin-1"),
        "digits of another script": f"{mark}_{'٣' * 16}_{rest}".encode(),
        "raw bytes": b"\xff\xfe\x80",
        "a huge one": b"cf_" + b"a" * 7000,
        "underscores": b"_" * 60,
        "a word": b"x",
        "nothing": b"",
        "twice": f"{secret} {secret}".encode(),
        "quoted": f'"{secret}"'.encode(),
    }


async def test_malformed_keys_of_any_shape_are_unknown(client: httpx2.AsyncClient, admin: Member) -> None:
    for shape, presented in malformed(admin.key.reveal()).items():
        answer = await client.get("/api/wallet", headers={b"Authorization": b"Bearer " + presented})
        assert (answer.status_code, fault(answer)["code"]) == (401, "unauthenticated"), shape
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("scheme", ["Basic {}", "{}", "Token {}", "Bearer", "bearer: {}", "Bearer\t{}"])
async def test_other_schemes_are_no_credential(client: httpx2.AsyncClient, admin: Member, scheme: str) -> None:
    headers = {"Authorization": scheme.format(admin.key.reveal())}
    assert (await client.get("/api/wallet", headers=headers)).status_code == 401


async def test_a_bad_key_is_not_rescued_by_a_query_or_a_body(client: httpx2.AsyncClient, admin: Member) -> None:
    key = admin.key.reveal()
    for params in ({"key": key}, {"access_token": key}, {"api_key": key}):
        assert (await client.get("/api/wallet", params=params)).status_code == 401


async def test_a_read_only_key_reads_only(client: httpx2.AsyncClient, house: House, admin: Member) -> None:
    headers = bearing((await a_key(house, admin.user, Scope.READ)).reveal())
    before = await row_counts(house)
    for path in ("/api/wallet", "/api/wallet/transactions", "/api/files", "/api/keys", "/api/auth/me"):
        assert (await client.get(path, headers=headers)).status_code == 200, path
    file = {"name": "a.png", "mime_type": "image/png", "size": 1}
    refused = [
        await client.get("/api/users", headers=headers),
        await client.post("/api/keys", json={"name": "more"}, headers=headers),
        await client.post("/api/files", json=file, headers=headers),
        await client.post("/api/users", json={"email": "x@example.com"}, headers=headers),
        await client.delete(f"/api/files/{new_id()}", headers=headers),
    ]
    assert [answer.status_code for answer in refused] == [403] * 5
    assert await row_counts(house) == before


async def test_a_write_key_cannot_manage(client: httpx2.AsyncClient, house: House, admin: Member) -> None:
    headers = bearing((await a_key(house, admin.user, Scope.READ, Scope.WRITE)).reveal())
    answer = await client.post("/api/users", json={"email": "x@example.com"}, headers=headers)
    assert answer.status_code == 403
    assert "manage" in fault(answer)["message"]


async def test_a_read_only_operator_key_changes_nothing(client: httpx2.AsyncClient, house: House) -> None:
    full = await an_operator_key(house)
    tenant = (await client.post("/api/admin/tenants", json={"slug": "acme"}, headers=full)).json()
    reader = bearing((await a_key(house, await a_user(house, None, Role.OPERATOR), Scope.READ)).reveal())
    assert (await client.get("/api/admin/tenants", headers=reader)).status_code == 200
    refused = [
        await client.post("/api/admin/tenants", json={"slug": "other"}, headers=reader),
        await client.post(f"/api/admin/tenants/{tenant['id']}/suspend", headers=reader),
    ]
    assert [answer.status_code for answer in refused] == [403, 403]


async def test_a_suspended_tenant_reads_and_revokes_and_creates_nothing(
    client: httpx2.AsyncClient, house: House, admin: Member
) -> None:
    made = await make_key(client, admin.headers)
    async with house.control_tx() as tx:
        await move_tenant(tx, admin.tenant.id, TenantEvent.SUSPEND)
    before = await row_counts(house)
    for path in ("/api/wallet", "/api/files", "/api/keys", "/api/users", "/api/auth/me"):
        assert (await client.get(path, headers=admin.headers)).status_code == 200, path
    file = {"name": "a.png", "mime_type": "image/png", "size": 1}
    refused = [
        await client.post("/api/keys", json={"name": "more"}, headers=admin.headers),
        await client.post("/api/files", json=file, headers=admin.headers),
        await client.post("/api/users", json={"email": "x@example.com"}, headers=admin.headers),
    ]
    assert [answer.status_code for answer in refused] == [403] * 3
    assert {fault(answer)["code"] for answer in refused} == {"tenant_suspended"}
    assert await row_counts(house) == before
    revoked = await client.post(f"/api/keys/{made['key']['id']}/revoke", headers=admin.headers)
    assert revoked.status_code == 200
    async with house.control_tx() as tx:
        await move_tenant(tx, admin.tenant.id, TenantEvent.RESUME)
    assert (await client.post("/api/files", json=file, headers=admin.headers)).status_code == 201


async def test_suspending_one_tenant_leaves_the_others_alone(
    client: httpx2.AsyncClient, house: House, admin: Member
) -> None:
    operator, other = await an_operator_key(house), await a_member(house)
    suspend = await client.post(f"/api/admin/tenants/{other.tenant.id}/suspend", headers=operator)
    assert suspend.json()["status"] == "suspended"
    assert (await client.post("/api/keys", json={"name": "fine"}, headers=admin.headers)).status_code == 201
    assert (await client.post("/api/keys", json={"name": "no"}, headers=other.headers)).status_code == 403
