"""Plant secrets, do everything that handles them, also wrongly and in a crash, and look for them in the logs."""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa
from standardwebhooks import Webhook

from tests.postgres import Cluster
from tests.server import ServerProcess, run_command, server_process

WEBHOOK = "whsec_" + "Y2FuYXJ5LXdlYmhvb2stc2VjcmV0LWNhbmFyeQ=="
SECRET_KEY = "canary-signing-key-" + secrets.token_hex(16)
DSN_PASSWORD = "canary-dsn-password"
SMTP_PASSWORD = "canary-smtp-password"
PASSWORD = "canary first password"
NEW_PASSWORD = "canary second password"
WRONG_PASSWORD = "canary almost password"
GARBAGE = "canary-garbage-credential"


@dataclass
class Planted:
    """What must not turn up, by what it is."""

    secrets: dict[str, str] = field(default_factory=dict)

    def plant(self, **found: str) -> None:
        for name, secret in found.items():
            assert len(secret) > 8, name
            self.secrets[name] = secret

    def seen_in(self, text: str) -> list[str]:
        return [name for name, secret in self.secrets.items() if secret in text]


@pytest.fixture
def planted() -> Planted:
    found = Planted()
    found.plant(
        webhook_secret=WEBHOOK.removeprefix("whsec_"),
        secret_key=SECRET_KEY,
        dsn_password=DSN_PASSWORD,
        smtp_password=SMTP_PASSWORD,
        password=PASSWORD,
        new_password=NEW_PASSWORD,
        wrong_password=WRONG_PASSWORD,
        garbage=GARBAGE,
        password_hash="$argon2id$",
    )
    return found


SETTINGS = {
    "LOG_FORMAT": "json",
    "LOG_LEVEL": "debug",
    "SECRET_KEY": SECRET_KEY,
    "PAYMENT_WEBHOOK_SECRETS": json.dumps([WEBHOOK]),
    "SMTP_URL": f"smtp://postman:{SMTP_PASSWORD}@127.0.0.1:1",
}


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[ServerProcess]:
    with server_process(tmp_path, **SETTINGS) as found:
        yield found


@pytest.fixture
def on_postgresql(tmp_path: Path, cluster: Cluster) -> Iterator[ServerProcess]:
    names = [f"{kind}_{secrets.token_hex(6)}" for kind in ("canary_central", "canary_pool")]
    urls = [sa.make_url(cluster.create(name)).set(password=DSN_PASSWORD) for name in names]
    central, pool = (url.render_as_string(hide_password=False) for url in urls)
    assert DSN_PASSWORD in central
    with server_process(tmp_path, **SETTINGS, DATABASE_URL=central, POOLS=json.dumps({"main": pool})) as found:
        yield found
    for name in names:
        cluster.drop(name)


def everything(server: ServerProcess, planted: Planted) -> None:
    """Every journey in which a secret is made, shown, sent or checked."""
    with httpx2.Client(base_url=server.url, timeout=20) as client:
        operator = server.operator
        planted.plant(operator_key=operator["Authorization"].split("_", 2)[2])
        planted.plant(console_link=(server.home / "login.links").read_text().partition("#token=")[2].strip())
        tenant = _ok(client.post("/api/admin/tenants", json={"slug": "acme"}, headers=operator))
        args = ("--tenant", "acme", "--role", "admin", "--password-stdin", "--json")
        user = json.loads(server.command("users", "create", "ada@example.com", *args, stdin=f"{PASSWORD}\n"))
        _passwords(client, server, planted)
        headers = _keys(client, planted)
        _objects(client, headers, planted)
        _payments(client, tenant, user, planted)
        _nonsense(client)


def _ok(answer: httpx2.Response) -> Any:
    assert answer.status_code < 300, answer.text
    return answer.json() if answer.content else None


def _log_in(client: httpx2.Client, password: str) -> httpx2.Response:
    return client.post("/api/auth/login", json={"email": "ada@example.com", "password": password})


def _session(client: httpx2.Client, password: str) -> tuple[str, dict[str, str]]:
    answer = _log_in(client, password)
    _ok(answer)
    pair = answer.headers["set-cookie"].partition(";")[0]
    return pair.partition("=")[2], {"Cookie": pair, "Sec-Fetch-Site": "same-origin"}


def _passwords(client: httpx2.Client, server: ServerProcess, planted: Planted) -> None:
    assert _log_in(client, WRONG_PASSWORD).status_code == 401
    cookie, session = _session(client, PASSWORD)
    planted.plant(cookie=cookie)
    _ok(client.get("/api/auth/me", headers=session))
    _ok(client.post("/api/auth/logout", headers=session))
    assert client.get("/api/auth/me", headers=session).status_code == 401
    assert client.post("/api/auth/password-reset", json={"email": "ada@example.com"}).status_code == 202
    link = json.loads(server.command("users", "create-link", "ada@example.com", "--json"))["link"]
    token = link.partition("#token=")[2]
    planted.plant(one_time_token=token)
    _ok(client.post("/api/auth/password", json={"token": token, "password": NEW_PASSWORD}))
    assert client.post("/api/auth/password", json={"token": token, "password": NEW_PASSWORD}).status_code == 422
    # Where a person might put it by mistake.
    client.get(f"/set-password?token={token}")
    client.get(f"/set-password/{token}")


def _keys(client: httpx2.Client, planted: Planted) -> dict[str, str]:
    cookie, session = _session(client, NEW_PASSWORD)
    made = _ok(client.post("/api/keys", json={"name": "robot"}, headers=session))
    planted.plant(second_cookie=cookie, key=made["secret"].split("_", 2)[2])
    headers = {"Authorization": f"Bearer {made['secret']}"}
    _ok(client.get("/api/wallet", headers=headers))
    assert client.get("/api/wallet", headers={"Authorization": f"Bearer {made['secret']}x"}).status_code == 401
    assert client.get(f"/api/wallet/{made['secret']}").status_code == 404
    return headers


def _objects(client: httpx2.Client, headers: dict[str, str], planted: Planted) -> None:
    body = {"name": "a.bin", "mime_type": "application/octet-stream", "size": 3}
    announced = _ok(client.post("/api/files", json=body, headers=headers))
    put = announced["upload"]["requests"][0]
    planted.plant(upload_token=put["url"].rpartition("/")[2])
    assert client.put(put["url"], content=b"abcd", headers={**put["headers"], "Content-Length": "4"}).status_code == 403
    for status in (200, 412):
        assert client.put(put["url"], content=b"abc", headers=put["headers"]).status_code == status
    file = f"/api/files/{announced['file']['id']}"
    _ok(client.post(f"{file}/confirm", json={}, headers=headers))
    get = _ok(client.get(file, headers=headers))["download"]
    planted.plant(download_token=get["url"].rpartition("/")[2])
    assert client.get(get["url"]).content == b"abc"
    assert client.put(get["url"], content=b"abc").status_code == 403
    assert client.get(get["url"] + "x").status_code == 403


def _payments(client: httpx2.Client, tenant: Any, user: Any, planted: Planted) -> None:
    body = {"tenant": tenant["slug"], "user_id": user["id"], "amount": 5, "provider_transaction_id": "order-1"}
    text, now = json.dumps(body), datetime.now(UTC)
    signature = Webhook(WEBHOOK).sign("msg_1", now, text)
    planted.plant(webhook_signature=signature.partition(",")[2])
    signed = {"webhook-id": "msg_1", "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signature}
    for status in (201, 200):
        assert client.post("/api/payments/credit", content=text, headers=signed).status_code == status
    assert client.post("/api/payments/credit", content=text + " ", headers=signed).status_code == 403


def _nonsense(client: httpx2.Client) -> None:
    for headers in (
        {"Authorization": f"Bearer {GARBAGE}"},
        {"Authorization": f"Bearer cf_0123456789abcdef_{GARBAGE}"},
        {"Authorization": f"Basic {GARBAGE}"},
        {"Cookie": f"__Host-comfyfleet_session={GARBAGE}"},
    ):
        assert client.get("/api/wallet", headers=headers).status_code == 401
    bad = [f'{{"password": "{PASSWORD}"', f'{{"email": 1, "password": ["{PASSWORD}"]}}', f'"{PASSWORD}"', "[" * 100_000]
    for content in bad:
        answer = client.post("/api/auth/login", content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 422)
        assert PASSWORD not in answer.text
    client.get(f"/objects/{GARBAGE}")
    client.get(f"/nowhere/{GARBAGE}?password={PASSWORD}")


def events(server: ServerProcess) -> list[dict[str, Any]]:
    """What was logged. Every line is JSON, the last word to the person at the terminal excepted."""
    lines = [line for line in server.errors.splitlines() if line.startswith("{")]
    return [json.loads(line) for line in lines]


def test_no_secret_reaches_the_log(embedded: ServerProcess, planted: Planted) -> None:
    everything(embedded, planted)
    assert embedded.stop() == 0
    logged = events(embedded)
    assert len([event for event in logged if event["event"] == "request"]) > 30
    assert "auth.letter_failed" in {event["event"] for event in logged}
    assert {event["level"] for event in logged} >= {"info", "error"}
    assert len(planted.secrets) >= 16
    assert planted.seen_in(embedded.errors) == []
    assert planted.seen_in(embedded.out) == []


def test_not_even_when_the_database_breaks(on_postgresql: ServerProcess, planted: Planted, cluster: Cluster) -> None:
    """A traceback is where secrets like to hide: statements with their values, addresses with their passwords."""
    server = on_postgresql
    everything(server, planted)
    database = sa.make_url(json.loads(server.settings["POOLS"])["main"]).database
    central = sa.create_engine(sa.make_url(server.settings["DATABASE_URL"]).set(drivername="postgresql+psycopg"))
    with central.begin() as connection:
        connection.execute(sa.text("DROP TABLE web_sessions CASCADE"))
    central.dispose()
    with httpx2.Client(base_url=server.url, timeout=20) as client:
        crashed = _log_in(client, NEW_PASSWORD)
        assert crashed.status_code == 500
        assert crashed.json()["error"]["code"] == "internal"
        assert database is not None
        cluster.drop(database)
        assert client.get("/readyz").json()["parts"]["pool:main"] == "database_unavailable"
    assert server.stop() == 0
    logged = events(server)
    crashes = [event for event in logged if event["event"] == "request.crashed"]
    assert [event["route"] for event in crashes] == ["/api/auth/login"]
    assert "web_sessions" in crashes[0]["exception"]
    assert planted.seen_in(server.errors) == []


def test_a_start_that_fails_does_not_print_the_password_of_its_database(tmp_path: Path) -> None:
    settings = {"POOLS": json.dumps({"main": f"postgresql://fleet:{DSN_PASSWORD}@127.0.0.1:1/nothing"})}
    done = run_command(
        tmp_path, "up", "--no-engine", "--home", str(tmp_path / "home"), "--port", "0", **SETTINGS, **settings
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    for text in (done.stdout, done.stderr):
        assert DSN_PASSWORD not in text
        assert SECRET_KEY not in text
        assert SMTP_PASSWORD not in text
