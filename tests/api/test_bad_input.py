"""Whatever comes in, the answer is a clear refusal in the one shape, and nothing is written."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

import comfyfleet.cli.main  # noqa: F401 so that every error class there is has been defined
from comfyfleet import fleet
from comfyfleet.api.bodies import ROOMY_BYTES_MAX
from comfyfleet.api.errors import STATUS, status_of
from comfyfleet.api.worker.endpoints import ENDPOINTS
from comfyfleet.fleet import FleetRules, NewWorker
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError
from tests.api.asking import Json, Operation, fault, operations, planted, row_counts, spots
from tests.builders import a_member, an_operator_key

BODY_BYTES_MAX = 1024**2
PAYMENTS = "/api/payments/credit"  # judged by its signature first: see test_payments.py


class Asker:
    """Sends anything to any operation with a credential that would be good enough."""

    def __init__(
        self, client: httpx2.AsyncClient, tenant: dict[str, str], operator: dict[str, str], worker: dict[str, str]
    ) -> None:
        self.client, self.tenant, self.operator, self.worker = client, tenant, operator, worker

    async def ask(self, operation: Operation, url: str | None = None, **sent: Any) -> httpx2.Response:
        credential = self.operator if operation.for_operators else self.tenant
        if operation.for_workers:
            credential = self.worker
        headers = {**credential, **sent.pop("headers", {})}
        return await self.client.request(operation.method, url or operation.url(), headers=headers, **sent)

    async def send(self, operation: Operation, body: Any) -> httpx2.Response:
        # By hand: httpx would refuse to write half a character.
        return await self.send_text(operation, json.dumps(body))

    async def send_text(self, operation: Operation, text: str | bytes) -> httpx2.Response:
        return await self.ask(operation, content=text, headers={"Content-Type": "application/json"})


@pytest.fixture
async def asker(app: FastAPI, client: httpx2.AsyncClient, house: House) -> Asker:
    # Every registration here comes from one address, and every request with one of three keys.
    object.__setattr__(house, "fleet_rules", FleetRules(registrations_per_minute=10**6))
    app.state.options = replace(
        app.state.options, requests_per_minute_per_key=10**6, requests_per_minute_per_tenant=10**6
    )
    async with house.control_tx() as tx:
        crew = await fleet.create_fleet(tx, slug="video", stage="production", name="Video")
        _, secret = await fleet.make_fleet_secret(tx, name="tests", fleet_id=None, allows_workflows=True)
        made = await fleet.register_worker(tx, NewWorker("i-1", "127.0.0.1"), fleet=crew, rules=house.fleet_rules)
    worker = {"Authorization": f"Bearer {made.token.reveal()}", "X-Fleet-Secret": secret.reveal()}
    return Asker(client, (await a_member(house)).headers, await an_operator_key(house), worker)


@pytest.fixture
async def unchanged(house: House, asker: Asker, app: FastAPI) -> AsyncIterator[None]:
    """Nothing that a test sends may leave a row."""
    before = await row_counts(house)
    yield
    assert await row_counts(house) == before


def with_body(app: FastAPI) -> list[Operation]:
    # What workers send is read by another reader, and tried in tests/api/worker.
    found = [
        each for each in operations(app) if each.body is not None and each.path != PAYMENTS and not each.for_workers
    ]
    assert len(found) >= 8
    return found


def require_refusal(answer: httpx2.Response, case: object, *statuses: int) -> Json:
    assert 400 <= answer.status_code < 500, f"{case}: {answer.status_code} {answer.text[:300]}"
    assert not statuses or answer.status_code in statuses, f"{case}: {answer.status_code} {answer.text[:300]}"
    return fault(answer)


MALFORMED = [
    "{",
    "}",
    '{"a"',
    "{'a': 1}",
    '{"a": 1,}',
    "nul",
    '{"a": \x01}',
    '"\\ud8"',
    b"\xff\xfe",
    b"\x00",
]


@pytest.mark.usefixtures("unchanged")
async def test_what_is_no_json_is_refused(app: FastAPI, asker: Asker) -> None:
    for operation in with_body(app):
        for text in MALFORMED:
            error = require_refusal(await asker.send_text(operation, text), (operation, text), 400)
            assert error["code"] in ("malformed_json", "bad_request")


@pytest.mark.usefixtures("unchanged")
async def test_json_that_is_no_object_is_refused(app: FastAPI, asker: Asker) -> None:
    for operation in with_body(app):
        for value in (None, [], [{}], 7, 1e308, True, "text", {"a": {}}):
            require_refusal(await asker.send(operation, value), (operation, value), 422)
        if operation.body and operation.body.get("required"):
            require_refusal(await asker.send(operation, {}), operation, 422)
        for text in ("NaN", "Infinity", "-Infinity"):
            require_refusal(await asker.send_text(operation, text), (operation, text), 400, 422)


@pytest.mark.usefixtures("unchanged")
async def test_deep_nesting_is_refused(app: FastAPI, asker: Asker) -> None:
    for operation in with_body(app):
        for opening, closing in (("[", "]"), ('{"a":', "}")):
            for text in (opening * 100_000, opening * 100_000 + "1" + closing * 100_000):
                require_refusal(await asker.send_text(operation, text), (operation, opening), 400, 422)


@pytest.mark.usefixtures("unchanged")
async def test_huge_numbers_are_refused(app: FastAPI, asker: Asker) -> None:
    for operation in with_body(app):
        body = operation.example() or {}
        for spot in spots(body):
            text = json.dumps(planted(body, spot, "HERE"))
            for number in ("1" + "0" * 30, "-" + "9" * 5000, "1e400", "1" * 4301, "-0.5"):
                answer = await asker.send_text(operation, text.replace('"HERE"', number))
                require_refusal(answer, (operation, spot, number), 400, 422)


NOT_TEXT = {"NUL": "a\x00b", "half a pair": "a\ud800b", "the other half": "\udfff", "halves swapped": "\udc00\ud800"}


def _bytes_max(path: str) -> int:
    if path.startswith("/api/admin/workflows"):
        return ROOMY_BYTES_MAX
    return ENDPOINTS["definitions"].body_bytes_max if path.endswith("/worker/definitions") else BODY_BYTES_MAX


@pytest.mark.usefixtures("unchanged")
async def test_text_that_cannot_be_kept_is_refused_in_every_field(app: FastAPI, asker: Asker) -> None:
    for operation in with_body(app):
        body = operation.example() or {}
        for spot in spots(body):
            for what, text in NOT_TEXT.items():
                answer = await asker.send(operation, planted(body, spot, text))
                require_refusal(answer, (operation, spot, what), 422)


@pytest.mark.usefixtures("unchanged")
async def test_field_names_that_are_no_text_are_refused(app: FastAPI, asker: Asker) -> None:
    for operation in with_body(app):
        for name in (*NOT_TEXT.values(), "", "x" * 5000, "__proto__", "\r\nX: y"):
            answer = await asker.send(operation, {**(operation.example() or {}), name: 1})
            require_refusal(answer, (operation, name), 422)
            answer = await asker.send(operation, {**(operation.example() or {}), name: "a\x00b"})
            require_refusal(answer, (operation, name), 422)


WRONG_TYPES: list[Any] = [None, True, 7.5, [], {}, [[]], {"a": 1}, ["text"], 3]


@pytest.mark.usefixtures("unchanged")
async def test_values_of_another_type_are_refused(app: FastAPI, asker: Asker) -> None:
    tried = 0
    for operation in with_body(app):
        for spot, value in _misfits(operation):
            require_refusal(
                await asker.send(operation, planted(operation.example() or {}, spot, value)),
                (operation, spot, value),
                422,
            )
            tried += 1
    assert tried > 100


def _misfits(operation: Operation) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Values whose type the schema does not name for that spot."""
    body = operation.example() or {}
    for spot in spots(body):
        schema: Any = operation.body
        for step in spot:
            schema = schema["items"] if isinstance(step, int) else schema["properties"][step]
            allowed = [schema, *schema.get("anyOf", [])]
            schema = allowed[1] if len(allowed) > 1 else schema
        types = {each.get("type") for each in allowed}
        for value in WRONG_TYPES:
            fits = {type(None): "null", bool: "boolean", list: "array", dict: "object", str: "string"}
            whole = isinstance(value, int) and not isinstance(value, bool)
            if whole and "number" in types:
                continue
            if ("integer" if whole else fits.get(type(value), "number")) not in types:
                if value is True and "integer" in types:
                    continue  # pydantic reads true as 1; harmless
                yield spot, value


MONEY = re.compile("token|amount|cost|price|budget|credit|jobs_max")
NO_AMOUNTS: list[Any] = [True, "7", 1000.0]


@pytest.mark.usefixtures("unchanged")
async def test_money_is_a_whole_number_and_nothing_that_could_be_made_one(app: FastAPI, asker: Asker) -> None:
    tried = set()
    for operation in with_body(app):
        schema = operation.body or {}
        for name, field in schema.get("properties", {}).items():
            types = {each.get("type") for each in [field, *field.get("anyOf", [])]}
            if "integer" not in types or not MONEY.search(name):
                continue
            tried.add(name)
            for value in NO_AMOUNTS:
                answer = await asker.send(operation, {**(operation.example() or {}), name: value})
                error = require_refusal(answer, (operation, name, value), 422)
                assert name in error["message"]
    assert tried >= {"amount", "credits_cost", "tokens_max", "jobs_max"}


@pytest.mark.usefixtures("unchanged")
async def test_unknown_fields_are_refused(app: FastAPI, asker: Asker) -> None:
    for operation in with_body(app):
        for name in ("status", "cost", "tenant_id", "attempts", "id", "is_admin", "balance", "password_hash"):
            answer = await asker.send(operation, {**(operation.example() or {}), name: "1"})
            error = require_refusal(answer, (operation, name), 422)
            assert name in error["message"]


@pytest.mark.usefixtures("unchanged")
async def test_what_was_sent_is_not_repeated_in_the_refusal(client: httpx2.AsyncClient) -> None:
    """A password in the wrong field, or of the wrong type, must not come back in an answer or a log."""
    for body in (
        {"email": "x@example.com", "password": ["canary-7f3a"]},
        {"email": 5, "password": "canary-7f3a", "x": "canary-7f3a"},
    ):
        answer = await client.post("/api/auth/login", json=body)
        assert answer.status_code == 422
        assert "canary" not in answer.text


@pytest.mark.usefixtures("unchanged")
async def test_a_body_of_another_type_is_refused(app: FastAPI, asker: Asker) -> None:
    for operation in with_body(app):
        if not (operation.body or {}).get("required"):
            continue
        content = json.dumps(operation.example()).encode()
        for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "image/png", "é"):
            headers = {"Content-Type": media_type.encode()}
            require_refusal(await asker.ask(operation, content=content, headers=headers), (operation, media_type), 422)
        require_refusal(await asker.ask(operation, content=content), (operation, "none"), 422)


async def _in_chunks(size_bytes: int) -> AsyncIterator[bytes]:
    for _ in range(0, size_bytes, 65_536):
        yield b" " * 65_536


@pytest.mark.usefixtures("unchanged")
async def test_a_body_that_is_too_large_is_refused(app: FastAPI, asker: Asker) -> None:
    headers = {"Content-Type": "application/json"}
    for operation in [each for each in operations(app) if each.body is not None]:
        bytes_max = _bytes_max(operation.path)
        for content in (b" " * (bytes_max + 1), _in_chunks(2 * bytes_max)):
            answer = await asker.ask(operation, content=content, headers=headers)
            error = require_refusal(answer, operation, 413)
            assert error["code"] == "body_too_large"
            assert answer.headers["x-request-id"]


async def test_a_body_that_just_fits_is_read(client: httpx2.AsyncClient) -> None:
    body = b'{"email": "x@example.com", "password": "wrong"}'
    padded = body + b" " * (BODY_BYTES_MAX - len(body))
    answer = await client.post("/api/auth/login", content=padded, headers={"Content-Type": "application/json"})
    assert answer.status_code == 401


async def test_a_large_upload_is_not_held_to_the_limit_for_json(client: httpx2.AsyncClient, asker: Asker) -> None:
    size = BODY_BYTES_MAX + 7
    announced = await client.post(
        "/api/files", json={"name": "a", "mime_type": "video/mp4", "size": size}, headers=asker.tenant
    )
    put = announced.json()["upload"]["requests"][0]
    assert (await client.put(put["url"], content=b"x" * size, headers=put["headers"])).status_code == 200


CURSORS = [
    "",
    "x",
    "é",
    "\x00",
    "====",
    "A" * 22,
    "A" * 21,
    "A" * 23,
    "A" * 65,
    "../..",
    "' OR 1=1 --",
    "\ud7ff",
    "_-" * 11,
]
TREE = "/api/pipeline-runs/{run_id}/tree"  # a thousand pictures are one look
LIMITS = ["0", "-1", "101", "1e3", "x", "", "9" * 400, "1.5", "١", "null", "\x00"]


@pytest.mark.usefixtures("unchanged")
async def test_bad_cursors_and_limits_are_refused(app: FastAPI, asker: Asker) -> None:
    pages = [each for each in operations(app) if each.method == "GET" and "limit" in _query_of(app, each)]
    assert len(pages) >= 5
    for operation in pages:
        for cursor in CURSORS:
            answer = await asker.ask(operation, params={"cursor": cursor})
            if len(cursor) == 22 and cursor.isascii():  # well formed, if made up: an empty page, or no such tenant
                assert answer.status_code in (200, 404), (operation, cursor)
            else:
                require_refusal(answer, (operation, cursor), 404, 422)
        for limit in LIMITS:
            if limit != "١" and not (limit == "101" and operation.path == TREE):  # digits are digits
                require_refusal(await asker.ask(operation, params={"limit": limit}), (operation, limit), 422)
        for query in ("limit=%ff", "cursor=%ff%fe", "cursor=%ED%A0%80", "limit=1&limit=x", "%00=1&limit=%00"):
            answer = await asker.ask(operation, url=f"{operation.url()}?{query}")
            require_refusal(answer, (operation, query), 404, 422)


def _query_of(app: FastAPI, operation: Operation) -> set[str]:
    entry = app.openapi()["paths"][operation.path][operation.method.lower()]
    return {each["name"] for each in entry.get("parameters", []) if each["in"] == "query"}


UUIDS = [
    "x",
    "%00",
    "%20",
    "0",
    "-",
    "..",
    "%2e%2e",
    "%ff",
    "%ED%A0%80",
    "g" * 32,
    "1" * 31,
    "1" * 5000,
    "null",
    "%0d%0aX:y",
]


@pytest.mark.usefixtures("unchanged")
async def test_bad_ids_are_refused(app: FastAPI, asker: Asker) -> None:
    for operation in [each for each in operations(app) if each.ids]:
        for text in UUIDS:
            if ".." in text and operation.path.endswith("/events"):
                continue  # folded away it is another stream, which does not end
            url = operation.path.format(**dict.fromkeys(operation.ids, text))
            answer = await asker.ask(operation, url=url, json=operation.example())
            if answer.status_code == 307:
                continue  # '..' was folded away before it left
            require_refusal(answer, (operation, text), 404, 405, 422)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/api",
        "/api/nothing",
        "/api/admin",
        "/api/worker",
        "/api/worker/nothing",
        "/objects/",
        "/assets/../index.html",
        "/API/wallet",
    ],
)
async def test_an_unknown_address_is_not_found(client: httpx2.AsyncClient, asker: Asker, path: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        answer = await client.request(method, path, headers=asker.tenant)
        assert require_refusal(answer, (method, path), 404, 405)["code"] in ("not_found", "method_not_allowed")


@pytest.mark.usefixtures("unchanged")
async def test_a_method_an_address_does_not_take_is_refused(app: FastAPI, asker: Asker) -> None:
    every = operations(app)
    for operation in every:
        # A fixed word may also stand where another path has an id: `/videos/uploads`, `/videos/{video_id}`.
        taken = {each.method for each in every if re.fullmatch(re.sub(r"{\w+}", "[^/]+", each.path), operation.path)}
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW"} - taken:
            headers = {**asker.operator}
            answer = await asker.client.request(method, operation.url(), headers=headers)
            assert require_refusal(answer, (method, operation), 405)["code"] == "method_not_allowed"
            assert set(answer.headers["allow"].replace(" ", "").split(",")) <= taken


HOSTS = [
    b"[",
    b"]",
    b"[::1",
    b"a b",
    b"",
    b"localhost:notaport",
    b"localhost:99999999",
    b"\xff",
    b"@",
    b"localhost@evil",
]


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("host", HOSTS)
async def test_an_odd_host_breaks_nothing(client: httpx2.AsyncClient, host: bytes) -> None:
    headers = {b"Host": host, b"Cookie": b"__Host-comfyfleet_session=x", b"Sec-Fetch-Site": b"same-origin"}
    for answer in (
        await client.get("/api/auth/me", headers=headers),
        await client.post("/api/keys", json={"name": "x"}, headers=headers),
        await client.post("/api/auth/login", json={"email": "x@example.com", "password": "x"}, headers=headers),
    ):
        require_refusal(answer, host, 400, 401, 403)


async def test_a_query_of_raw_bytes_breaks_nothing(app: FastAPI) -> None:
    """As a server may hand it on: not every client writes %FF."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"cookie", b"__Host-comfyfleet_session=x")]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http"}
    scope |= {"path": "/api/auth/me", "raw_path": b"/api/auth/me", "query_string": b"\xff\xfe", "root_path": ""}
    await app(scope | {"headers": headers, "client": ("127.0.0.1", 1), "server": ("localhost", 80)}, receive, send)
    assert sent[0]["status"] == 401


@pytest.mark.parametrize(
    "email",
    [
        "x",
        "@",
        "a@",
        "@b.c",
        "a@b@c",
        "a b@example.com",
        "a@exa mple.com",
        "a@-x.com",
        "a@[127.0.0.1]",
        '"a"@b',
        "a\r\nBcc: c@d.e",
        "a@example..com",
        "a@" + "b" * 64 + ".com",
        "a@\u2024.com",
        "\u202ea@example.com",
        "a@xn--.com",
    ],
)
@pytest.mark.usefixtures("unchanged")
async def test_what_is_no_email_is_refused(client: httpx2.AsyncClient, asker: Asker, email: str) -> None:
    for path, headers in (("/api/users", asker.tenant), ("/api/auth/password-reset", {})):
        require_refusal(await client.post(path, json={"email": email}, headers=headers), (path, email), 422)
    body = {"email": email, "password": "wrong"}
    require_refusal(await client.post("/api/auth/login", json=body), email, 401, 422)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("name", ["a/b", "..", ".", "a\\b", "a\nb", "a\x7fb", "x" * 256, "", "   "])
async def test_a_file_name_that_is_none_is_refused(client: httpx2.AsyncClient, asker: Asker, name: str) -> None:
    body = {"name": name, "mime_type": "image/png", "size": 1}
    require_refusal(await client.post("/api/files", json=body, headers=asker.tenant), name, 422)


@pytest.mark.usefixtures("unchanged")
@pytest.mark.parametrize("token", ["x", ".", "a.b", "%00", "%ff", "é", "A" * 3000, "..%2f..%2fetc%2fpasswd"])
async def test_a_made_up_object_address_is_refused(client: httpx2.AsyncClient, token: str) -> None:
    for method in ("GET", "PUT", "HEAD"):
        answer = await client.request(method, f"/objects/{token}", content=b"x" if method == "PUT" else None)
        assert answer.status_code in (403, 404), (method, token)
        if method != "HEAD":
            fault(answer)


# Other processes' errors, and those that stop a start: no request can meet them.
ELSEWHERE = tuple(f"comfyfleet.{name}" for name in ("cli", "client", "gauges", "settings", "traces", "worker"))


def _families(error: type[FleetError] = FleetError) -> Iterator[type[FleetError]]:
    """Whatever other tests have loaded."""
    for each in error.__subclasses__():
        if not each.__module__.startswith(ELSEWHERE):
            yield each
        yield from _families(each)


def test_every_error_has_a_status_and_a_code_of_its_own() -> None:
    families = list(_families())
    assert len(families) >= 20
    for error in families:
        status = status_of(error.__new__(error))
        assert status in set(STATUS.values()), error
    codes = [each.code for each in families]
    assert len(codes) == len(set(codes))


EXPECTED = {
    "not_found": 404, "conflict": 409, "illegal_move": 409, "duplicate_key": 409, "already_exists": 409,
    "upload_missing": 409, "upload_mismatch": 409, "nothing_delivered": 409,
    "refused": 422, "insufficient_tokens": 422, "invalid_input": 422,
    "invalid_cursor": 422, "link_spent": 422, "balance_limit": 422, "rate_limited": 429, "unauthenticated": 401,
    "forbidden": 403, "tenant_suspended": 403, "signature_refused": 403, "unavailable": 503,
    "database_unavailable": 503, "schema_trouble": 503, "storage_unavailable": 503,
}  # fmt: skip


def test_codes_keep_their_status() -> None:
    """Programs match on both."""
    found = {each.code: status_of(each.__new__(each)) for each in _families() if each.code in EXPECTED}
    assert found == EXPECTED


async def test_a_foreign_path_is_not_served_by_a_trailing_slash(client: httpx2.AsyncClient, asker: Asker) -> None:
    """The redirect says where to ask, and answers nothing itself."""
    answer = await client.get("/api/wallet/", headers=asker.tenant)
    assert (answer.status_code, answer.content) == (307, b"")
    assert answer.headers["location"] == "http://localhost/api/wallet"
