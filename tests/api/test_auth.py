"""Log in, stay in, get out; and the one-time links by which a password is chosen."""

import asyncio
import email as email_parser
import re
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from http.cookies import Morsel, SimpleCookie
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP
from fastapi import FastAPI

from comfyfleet.api.app import build_app
from comfyfleet.api.cookies import PLAIN_COOKIE, SECURE_COOKIE
from comfyfleet.api.options import ApiOptions
from comfyfleet.db.tables import api_keys, one_time_links, web_sessions
from comfyfleet.house import House
from comfyfleet.kernel.secret import Secret
from comfyfleet.tenants import Postbox, Role, User, credentials, disable_user, enable_user
from tests.api.asking import at
from tests.builders import PASSWORD, Member, a_member, a_tenant, a_user
from tests.conftest import ManualClock

NEW_PASSWORD = "a quite different phrase"
SAME_ORIGIN = {"Origin": "http://localhost"}


async def log_in(client: httpx2.AsyncClient, user: User, password: str = PASSWORD, **headers: str) -> httpx2.Response:
    return await client.post("/api/auth/login", json={"email": user.email, "password": password}, headers=headers)


def cookie_of(answer: httpx2.Response) -> Morsel[str]:
    """Read by hand: a jar would not send a Secure cookie over http, which browsers do for localhost."""
    cookies = SimpleCookie(answer.headers["set-cookie"])
    (morsel,) = cookies.values()
    return morsel


def carried(answer: httpx2.Response) -> dict[str, str]:
    morsel = cookie_of(answer)
    return {"Cookie": f"{morsel.key}={morsel.value}"}


async def a_session(client: httpx2.AsyncClient, member: Member) -> dict[str, str]:
    answer = await log_in(client, member.user)
    assert answer.status_code == 200, answer.text
    return carried(answer)


async def count(house: House, table: sa.Table) -> int:
    async with house.central.engine.connect() as connection:
        return int(await connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0)


async def a_link_token(house: House, user: User, *, ttl_s: float = 3600) -> str:
    async with house.control_tx() as tx:
        link = await credentials.make_link(tx, user, ttl_s=ttl_s)
    return house.links.url(link).partition("#token=")[2]


async def choose(client: httpx2.AsyncClient, token: str, password: str = NEW_PASSWORD) -> httpx2.Response:
    return await client.post("/api/auth/password", json={"token": token, "password": password})


@pytest.fixture
async def member(house: House) -> Member:
    return await a_member(house, password=PASSWORD)


async def test_a_login_opens_a_session_that_says_who_you_are(client: httpx2.AsyncClient, member: Member) -> None:
    answer = await log_in(client, member.user)
    assert answer.json() == {"user_id": str(member.user.id), "warning": None}
    me = await client.get("/api/auth/me", headers=carried(answer))
    assert me.json() == {
        "user_id": str(member.user.id),
        "email": member.user.email,
        "role": "admin",
        "scopes": ["manage", "read", "write"],
        "tenant_id": str(member.tenant.id),
        "tenant_slug": member.tenant.slug,
    }


async def test_an_operator_logs_in_by_the_same_door(client: httpx2.AsyncClient, house: House) -> None:
    operator = await a_user(house, None, Role.OPERATOR, password=PASSWORD)
    me = await client.get("/api/auth/me", headers=carried(await log_in(client, operator)))
    assert (me.json()["role"], me.json()["tenant_id"]) == ("operator", None)


async def test_an_email_is_the_same_in_any_spelling(client: httpx2.AsyncClient, member: Member) -> None:
    body = {"email": f"  {member.user.email.upper()} ", "password": PASSWORD}
    assert (await client.post("/api/auth/login", json=body)).status_code == 200


@pytest.mark.parametrize("password", ["  spaces at both ends  ", "a tab at the end\t", "twelve letters\u00a0"])
async def test_a_password_is_taken_as_it_was_typed(client: httpx2.AsyncClient, house: House, password: str) -> None:
    """`comfyfleet users set-password` keeps every character; the door must not trim what it compares."""
    member = await a_member(house, password=password)
    assert (await log_in(client, member.user, password)).status_code == 200
    assert (await log_in(client, member.user, password.strip())).status_code == 401


async def test_wrong_password_unknown_email_and_locked_out_get_one_answer(
    client: httpx2.AsyncClient, house: House, member: Member
) -> None:
    disabled = await a_member(house, password=PASSWORD)
    async with house.control_tx() as tx:
        await disable_user(tx, disabled.user.id, within=disabled.tenant.id)
    invited = await a_user(house, member.tenant)
    stranger = replace(member.user, email="nobody@example.com")
    answers = [
        await log_in(client, member.user, "wrong password entirely"),
        await log_in(client, stranger),
        await log_in(client, disabled.user),
        await log_in(client, invited),
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1
    assert all("set-cookie" not in answer.headers for answer in answers)
    assert answers[0].json()["error"]["code"] == "unauthenticated"
    assert await count(house, web_sessions) == 0


async def test_an_unknown_email_takes_as_long_as_a_wrong_password(
    client: httpx2.AsyncClient, house: House, member: Member
) -> None:
    """Both check a hash. Without one, unknown would be a hundred times faster; five leaves room for noise."""

    async def took_s(user: User) -> float:
        started = time.perf_counter()
        assert (await log_in(client, user, "wrong password entirely")).status_code == 401
        return time.perf_counter() - started

    stranger = replace(member.user, email="nobody@example.com")
    wrong = min([await took_s(member.user) for _ in range(3)])
    unknown = min([await took_s(stranger) for _ in range(3)])
    assert wrong / 5 < unknown < wrong * 5


@pytest.mark.parametrize("base_url", ["https://fleet.example.com", "http://localhost", "http://127.0.0.1:8700"])
async def test_a_protected_connection_gets_a_cookie_bound_to_its_host(
    app: FastAPI, member: Member, base_url: str
) -> None:
    async with at(app, base_url) as client:
        answer = await log_in(client, member.user)
        assert answer.json()["warning"] is None
        assert (await client.get("/api/auth/me", headers=carried(answer))).status_code == 200
    cookie = cookie_of(answer)
    assert cookie.key == SECURE_COOKIE == "__Host-comfyfleet_session"
    assert cookie["secure"]
    assert cookie["httponly"]
    assert (cookie["samesite"].lower(), cookie["path"], cookie["domain"]) == ("lax", "/", "")
    assert int(cookie["max-age"]) == 14 * 86_400


async def test_an_open_connection_gets_a_plain_cookie_and_a_warning(app: FastAPI, member: Member) -> None:
    async with at(app, "http://10.0.0.5") as client:
        answer = await log_in(client, member.user)
        assert "not encrypted" in answer.json()["warning"]
        assert (await client.get("/api/auth/me", headers=carried(answer))).status_code == 200
    cookie = cookie_of(answer)
    assert cookie.key == PLAIN_COOKIE
    assert not cookie["secure"]
    assert cookie["httponly"]
    assert (cookie["samesite"].lower(), cookie["path"]) == ("lax", "/")


async def test_a_plain_cookie_is_not_taken_on_a_protected_connection(app: FastAPI, member: Member) -> None:
    """Another site on the domain, or somebody on the network, can plant a plain cookie; a __Host- one it cannot."""
    async with at(app, "http://10.0.0.5") as plain, at(app, "https://fleet.example.com") as protected:
        planted = carried(await log_in(plain, member.user))
        assert (await protected.get("/api/auth/me", headers=planted)).status_code == 401


async def test_logout_ends_the_session_everywhere(client: httpx2.AsyncClient, member: Member) -> None:
    session, other = await a_session(client, member), await a_session(client, member)
    answer = await client.post("/api/auth/logout", headers=session | SAME_ORIGIN)
    assert answer.status_code == 204
    assert (cookie_of(answer).value, cookie_of(answer)["max-age"]) == ("", "0")
    assert cookie_of(answer)["secure"]
    assert (await client.get("/api/auth/me", headers=session)).status_code == 401
    assert (await client.get("/api/auth/me", headers=other)).status_code == 200


async def test_logging_out_twice_or_without_a_session_is_fine(client: httpx2.AsyncClient, member: Member) -> None:
    session = await a_session(client, member) | SAME_ORIGIN
    answers = [await client.post("/api/auth/logout", headers=headers) for headers in (session, session, {})]
    assert [answer.status_code for answer in answers] == [204, 204, 204]


async def test_a_foreign_page_cannot_log_anybody_out(client: httpx2.AsyncClient, member: Member) -> None:
    session = await a_session(client, member)
    answer = await client.post("/api/auth/logout", headers=session | {"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert (await client.get("/api/auth/me", headers=session)).status_code == 200


async def test_a_disabled_user_is_out_at_once(client: httpx2.AsyncClient, house: House, member: Member) -> None:
    session = await a_session(client, member)
    for headers in (session, member.headers):
        assert (await client.get("/api/wallet", headers=headers)).status_code == 200
    async with house.control_tx() as tx:
        await disable_user(tx, member.user.id, within=member.tenant.id)
    for headers in (session, member.headers):
        assert (await client.get("/api/wallet", headers=headers)).status_code == 401
    async with house.control_tx() as tx:
        await enable_user(tx, member.user.id, within=member.tenant.id)
    # Programs go on; a session that was ended stays ended.
    assert (await client.get("/api/wallet", headers=member.headers)).status_code == 200
    assert (await client.get("/api/wallet", headers=session)).status_code == 401


async def test_a_new_password_ends_all_sessions_and_keeps_keys(
    client: httpx2.AsyncClient, house: House, member: Member
) -> None:
    sessions = [await a_session(client, member), await a_session(client, member)]
    assert (await choose(client, await a_link_token(house, member.user))).status_code == 200
    for session in sessions:
        assert (await client.get("/api/auth/me", headers=session)).status_code == 401
    assert (await client.get("/api/auth/me", headers=member.headers)).status_code == 200
    assert (await log_in(client, member.user)).status_code == 401
    assert (await log_in(client, member.user, NEW_PASSWORD)).status_code == 200


async def test_a_session_expires(client: httpx2.AsyncClient, clock: ManualClock, member: Member) -> None:
    session = await a_session(client, member)
    clock.advance(14 * 86_400 - 60)
    assert (await client.get("/api/auth/me", headers=session)).status_code == 200
    clock.advance(61)
    assert (await client.get("/api/auth/me", headers=session)).status_code == 401


@pytest.mark.parametrize("cookie", ["", "x", "é", "a" * 4000, "=;=", '"', "cf_0000000000000000_x"])
async def test_a_made_up_cookie_is_no_session(client: httpx2.AsyncClient, cookie: str) -> None:
    headers = {b"Cookie": f"{SECURE_COOKIE}={cookie}".encode("latin-1")}
    assert (await client.get("/api/auth/me", headers=headers)).status_code == 401


FOREIGN = {
    "no origin at all": {},
    "another site": {"Origin": "https://evil.example"},
    "another port": {"Origin": "http://localhost:9999"},
    "our name as a prefix": {"Origin": "http://localhost.evil.example"},
    "our name as a user": {"Origin": "http://localhost@evil.example"},
    "an opaque origin": {"Origin": "null"},
    "a broken origin": {"Origin": "http://["},
    "cross-site": {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"},
    "same-site, other host": {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"},
    "made-up fetch metadata": {"Sec-Fetch-Site": "SAME-ORIGIN?"},
}


async def test_a_cookie_from_a_foreign_page_changes_nothing(
    client: httpx2.AsyncClient, house: House, member: Member
) -> None:
    session = await a_session(client, member)
    before = await count(house, api_keys)
    for whence, headers in FOREIGN.items():
        answer = await client.post("/api/keys", json={"name": "forged"}, headers=session | headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden"), whence
        assert (await client.get("/api/keys", headers=session | headers)).status_code == 200, "reading is harmless"
    assert await count(house, api_keys) == before


async def test_a_cookie_from_our_own_page_works(client: httpx2.AsyncClient, member: Member) -> None:
    session = await a_session(client, member)
    for headers in (SAME_ORIGIN, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
        answer = await client.post("/api/keys", json={"name": "mine"}, headers=session | headers)
        assert answer.status_code == 201, headers


async def test_a_key_needs_no_origin(client: httpx2.AsyncClient, member: Member) -> None:
    """Browsers do not add a key by themselves, so nobody can be tricked into sending it."""
    headers = member.headers | {"Origin": "https://partner.example"}
    assert (await client.post("/api/keys", json={"name": "from afar"}, headers=headers)).status_code == 201


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://["}]
)
async def test_a_foreign_page_cannot_log_its_visitor_in(
    client: httpx2.AsyncClient, house: House, member: Member, headers: dict[str, str]
) -> None:
    answer = await log_in(client, member.user, **headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert await count(house, web_sessions) == 0


@asynccontextmanager
async def throttled(house: House, *, logins_per_minute: int) -> Any:
    app = build_app(house, ApiOptions(logins_per_minute=logins_per_minute))
    async with at(app, "http://localhost") as client:
        yield client


async def test_logins_are_throttled_per_address(house: House, member: Member) -> None:
    async with throttled(house, logins_per_minute=1) as client:
        for number in range(5):
            stranger = replace(member.user, email=f"nobody-{number}@example.com")
            assert (await log_in(client, stranger)).status_code == 401
        refused = await log_in(client, member.user)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert refused.json()["error"]["details"] == {"retry_after_s": int(refused.headers["retry-after"])}


@pytest.mark.parametrize("spelling", ["{0}", " {0}\t", "{1}", "user@EXAMPLE。com"])
async def test_logins_are_throttled_per_email_in_every_spelling(house: House, member: Member, spelling: str) -> None:
    """An attacker with many addresses gets no further than ten times as far, however he writes the email."""
    app = build_app(house, ApiOptions(logins_per_minute=1))
    local, _, _ = member.user.email.partition("@")
    written = spelling.format(member.user.email, member.user.email.upper()).replace("user@", f"{local}@")
    answers = []
    for number in range(11):
        async with at(app, address=f"198.51.100.{number}") as client:
            email = written if number % 2 else member.user.email
            answers.append(await client.post("/api/auth/login", json={"email": email, "password": "wrong"}))
    assert [answer.status_code for answer in answers] == [401] * 10 + [429]


async def test_strangers_lock_nobody_out(house: House, member: Member) -> None:
    """Neither one of them, nor many together where the owner has logged in before."""
    app = build_app(house, ApiOptions(logins_per_minute=2))
    async with at(app, address="203.0.113.7") as home:
        assert (await log_in(home, member.user)).status_code == 200
    async with at(app, address="198.51.100.1") as stranger:
        tried = [(await log_in(stranger, member.user, "wrong")).status_code for _ in range(3)]
    assert tried == [401, 401, 429]
    async with at(app, address="192.0.2.1") as elsewhere:
        assert (await log_in(elsewhere, member.user)).status_code == 200
    for number in range(20):
        async with at(app, address=f"198.18.{number}.1") as stranger:
            last = await log_in(stranger, member.user, "wrong")
    assert last.status_code == 429
    async with at(app, address="203.0.113.7") as home:
        assert (await log_in(home, member.user)).status_code == 200


async def test_reset_requests_are_throttled_too(house: House) -> None:
    async with throttled(house, logins_per_minute=2) as client:
        body = {"email": "nobody@example.com"}
        answers = [await client.post("/api/auth/password-reset", json=body) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [202, 202, 429]


async def test_a_strangers_reset_requests_refuse_no_owner(house: House) -> None:
    app, body = build_app(house, ApiOptions(logins_per_minute=2)), {"email": "nobody@example.com"}
    answers = []
    for number in range(4):
        async with at(app, address=f"198.51.100.{number}") as client:
            answers.append((await client.post("/api/auth/password-reset", json=body)).status_code)
    assert answers == [202] * 4


async def test_a_link_works_once(client: httpx2.AsyncClient, house: House, member: Member) -> None:
    token = await a_link_token(house, member.user)
    first, second = await choose(client, token), await choose(client, token, "a third phrase, too late")
    assert (first.status_code, second.status_code) == (200, 422)
    assert first.json()["user_id"] == str(member.user.id)
    assert second.json()["error"]["code"] == "link_spent"
    assert (await log_in(client, member.user, NEW_PASSWORD)).status_code == 200


async def test_of_two_uses_at_once_exactly_one_wins(client: httpx2.AsyncClient, house: House, member: Member) -> None:
    token = await a_link_token(house, member.user)
    phrases = [f"phrase number {number}" for number in range(2)]
    answers = await asyncio.gather(*(choose(client, token, phrase) for phrase in phrases))
    assert sorted(answer.status_code for answer in answers) == [200, 422]
    won = phrases[[answer.status_code for answer in answers].index(200)]
    logins = [(await log_in(client, member.user, phrase)).status_code for phrase in phrases]
    assert logins == [200 if phrase == won else 401 for phrase in phrases]


async def test_a_link_expires(client: httpx2.AsyncClient, house: House, clock: ManualClock, member: Member) -> None:
    token = await a_link_token(house, member.user, ttl_s=3600)
    clock.advance(3601)
    answer = await choose(client, token)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "link_spent")
    assert (await log_in(client, member.user)).status_code == 200


async def test_a_newer_link_replaces_the_older(client: httpx2.AsyncClient, house: House, member: Member) -> None:
    older, newer = [await a_link_token(house, member.user) for _ in range(2)]
    assert (await choose(client, older)).json()["error"]["code"] == "link_spent"
    assert (await choose(client, newer)).status_code == 200


async def test_a_new_password_voids_links_that_were_not_used(
    client: httpx2.AsyncClient, house: House, member: Member
) -> None:
    token = await a_link_token(house, member.user)
    async with house.control_tx() as tx:
        chosen = await credentials.hash_password(Secret(NEW_PASSWORD))
        await credentials.replace_password(tx, member.user, password_hash=chosen)
    assert (await choose(client, token, "too late for this one")).status_code == 422


def _tampered(token: str) -> Iterator[str]:
    payload, _, signature = token.rpartition(".")
    # The first sign and not the last one, of which some bits mean nothing.
    yield payload + "." + ("A" if signature[0] != "A" else "B") + signature[1:]
    yield ("A" if payload[0] != "A" else "B") + payload[1:] + "." + signature
    yield payload
    yield "." + token
    yield payload + "."
    yield token * 3
    yield "not-a-token"
    yield "é" * 20
    yield "ImEi.AAAA"


async def test_a_link_that_was_tampered_with_is_refused(
    client: httpx2.AsyncClient, house: House, member: Member
) -> None:
    for token in _tampered(await a_link_token(house, member.user)):
        answer = await choose(client, token)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "link_spent"), token
    assert (await log_in(client, member.user)).status_code == 200


async def test_an_objects_signature_is_no_link(client: httpx2.AsyncClient, house: House, member: Member) -> None:
    """One key signs both; what it says for one must mean nothing for the other."""
    body = {"name": "a.png", "mime_type": "image/png", "size": 1}
    announced = await client.post("/api/files", json=body, headers=member.headers)
    token = announced.json()["upload"]["requests"][0]["url"].rpartition("/")[2]
    assert (await choose(client, token)).json()["error"]["code"] == "link_spent"


async def test_a_password_that_is_too_short_does_not_spend_the_link(
    client: httpx2.AsyncClient, house: House, member: Member
) -> None:
    token = await a_link_token(house, member.user)
    refused = await choose(client, token, "short")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "invalid_input")
    assert (await choose(client, token)).status_code == 200


async def test_a_reset_request_never_tells_who_exists(client: httpx2.AsyncClient, house: House, member: Member) -> None:
    answers = [
        await client.post("/api/auth/password-reset", json={"email": email})
        for email in (member.user.email, "nobody@example.com")
    ]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].content == answers[1].content


class Letters:
    """What a mail server took."""

    def __init__(self) -> None:
        self.taken: list[tuple[list[str], str, str]] = []

    async def handle_DATA(self, _server: SMTP, _session: Any, envelope: Any) -> str:
        letter = email_parser.message_from_bytes(envelope.content)
        text = letter.get_payload(decode=True).decode()
        self.taken.append((envelope.rcpt_tos, letter["Subject"], text))
        return "250 OK"


class AnyPort(Controller):
    """aiosmtpd knocks at the port it was asked for; with 0 it has to look which one it got."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        super()._trigger_server()


@pytest.fixture
def letters() -> Iterator[tuple[Letters, str]]:
    found = Letters()
    controller = AnyPort(found, hostname="127.0.0.1", port=0)
    controller.start()
    yield found, f"smtp://127.0.0.1:{controller.port}"
    controller.stop()


def _token_in(text: str) -> str:
    found = re.search(r"http://localhost/set-password#token=(\S+)", text)
    assert found is not None, text
    return found[1]


async def test_a_reset_letter_arrives_and_its_link_works(
    house: House, member: Member, letters: tuple[Letters, str]
) -> None:
    taken, url = letters
    app = build_app(replace(house, postbox=Postbox(Secret(url), "fleet@example.com")), ApiOptions())
    async with at(app, "http://localhost") as client:
        for email in ("nobody@example.com", member.user.email):
            assert (await client.post("/api/auth/password-reset", json={"email": email})).status_code == 202
        [(to, subject, text)] = taken.taken
        assert (to, subject) == ([member.user.email], "Your new comfyfleet password")
        assert (await choose(client, _token_in(text))).status_code == 200
        assert (await log_in(client, member.user, NEW_PASSWORD)).status_code == 200


async def test_a_disabled_user_gets_no_letter(house: House, member: Member, letters: tuple[Letters, str]) -> None:
    taken, url = letters
    async with house.control_tx() as tx:
        await disable_user(tx, member.user.id, within=member.tenant.id)
    app = build_app(replace(house, postbox=Postbox(Secret(url), "fleet@example.com")), ApiOptions())
    async with at(app, "http://localhost") as client:
        answer = await client.post("/api/auth/password-reset", json={"email": member.user.email})
    assert (answer.status_code, taken.taken) == (202, [])


async def test_an_invitation_goes_by_mail_and_is_not_shown(
    house: House, member: Member, letters: tuple[Letters, str]
) -> None:
    taken, url = letters
    app = build_app(replace(house, postbox=Postbox(Secret(url), "fleet@example.com")), ApiOptions())
    async with at(app, "http://localhost") as client:
        answer = await client.post("/api/users", json={"email": "new@example.com"}, headers=member.headers)
        assert (answer.status_code, answer.json()["link"]) == (201, None)
        [(to, subject, text)] = taken.taken
        assert (to, subject) == (["new@example.com"], "You are invited to comfyfleet")
        assert (await choose(client, _token_in(text))).status_code == 200


DEAD_MAIL = "smtp://127.0.0.1:1"


async def test_when_mail_is_down_the_link_goes_to_the_admin_to_hand_on(house: House, member: Member) -> None:
    dead = build_app(replace(house, postbox=Postbox(Secret(DEAD_MAIL), "fleet@example.com")), ApiOptions())
    async with at(dead, "http://localhost") as client:
        reset = await client.post("/api/auth/password-reset", json={"email": member.user.email})
        assert reset.status_code == 202
        invited = await client.post("/api/users", json={"email": "new@example.com"}, headers=member.headers)
        assert invited.status_code == 201
        assert (await choose(client, _token_in(invited.json()["link"]))).status_code == 200


async def test_without_mail_a_reset_request_makes_no_link(client: httpx2.AsyncClient, house: House) -> None:
    user = await a_user(house, await a_tenant(house), password=PASSWORD)
    await client.post("/api/auth/password-reset", json={"email": user.email})
    assert await count(house, one_time_links) == 0


async def test_a_reset_revokes_keys_where_its_user_wants_that(
    client: httpx2.AsyncClient, house: House, member: Member
) -> None:
    for wanted, status in ((False, 200), (True, 401)):
        said = {"token": await a_link_token(house, member.user), "password": NEW_PASSWORD, "revoke_keys": wanted}
        answer = await client.post("/api/auth/password", json=said)
        assert answer.json()["keys_revoked"] == int(wanted)
        assert (await client.get("/api/wallet", headers=member.headers)).status_code == status
    said = {"token": "x", "password": NEW_PASSWORD, "revoke_keys": "true"}
    assert (await client.post("/api/auth/password", json=said)).status_code == 422
