"""The real process, as a person starts it: `comfyfleet up`, Ctrl-C, and again."""

import json
import re
import signal
import socket
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from queue import Queue

import httpx2
import pytest

from tests.server import ServerProcess, run_command, server_process

TOLD = {"actions", "status", "overview", "fleet"}
KEY = re.compile(r"cf_[0-9a-f]{16}_[\w-]{43}")
LINK = re.compile(r"/enter#token=([\w-]+)")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with server_process(tmp_path) as found:
        yield found


def mode(path: Path) -> str:
    return oct(stat.S_IMODE(path.stat().st_mode))


def test_on_a_terminal_the_first_start_prints_where_it_is_and_a_key_and_a_link_that_work(tmp_path: Path) -> None:
    with server_process(tmp_path, terminal="yes") as server:
        assert server.url in server.out
        assert f"{server.url}/docs" in server.out
        found = KEY.search(server.out)
        assert found is not None
        assert found[0] == (server.home / "operator.key").read_text().strip()
        headers = {"Authorization": f"Bearer {found[0]}"}
        me = httpx2.get(f"{server.url}/api/auth/me", headers=headers).json()
        assert (me["role"], me["email"]) == ("operator", "operator@localhost")
        require_entry(server, server.out)
        assert not KEY.search(server.errors)
        assert not (server.home / "login.links").exists()


def test_in_a_journal_it_says_where_the_key_and_the_link_are(server: ServerProcess) -> None:
    assert f"{server.url}/docs" in server.out
    assert not KEY.search(server.out + server.errors)
    assert not LINK.search(server.out + server.errors)
    for name in ("operator.key", "login.links"):
        assert f"cat {server.home / name}" in server.out
        assert mode(server.home / name) == "0o600"
    require_entry(server, (server.home / "login.links").read_text())
    assert server.stop() == 0
    assert not (server.home / "login.links").exists()


def require_entry(server: ServerProcess, said: str) -> None:
    link = LINK.search(said)
    assert link is not None
    entered = httpx2.post(f"{server.url}/api/auth/enter", json={"token": link[1]})
    me = httpx2.get(f"{server.url}/api/auth/me", headers=server.operator).json()
    assert (entered.status_code, entered.json()["user_id"]) == (200, me["user_id"])


def test_files_are_for_their_owner_only(server: ServerProcess) -> None:
    assert mode(server.home) == "0o700"
    assert (mode(server.home / "operator.key"), mode(server.home / "secret.key")) == ("0o600", "0o600")
    assert not list(server.home.glob(".*"))  # no half-written file is left


def test_health_readiness_and_reference_answer(server: ServerProcess) -> None:
    with httpx2.Client(base_url=server.url) as client:
        assert client.get("/healthz").json()["status"] == "ok"
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()["status"]) == (200, "ready")
        page = client.get("/docs")
        assert page.status_code == 200
        assert re.findall(r"""(?:src|href|url)\s*[=:]\s*["']([^"']+)""", page.text)
        for address in re.findall(r"""(?:src|href|url)\s*[=:]\s*["']([^"']+)""", page.text):
            assert address.startswith("/")
            assert not address.startswith("//")
            assert client.get(address).status_code == 200, address
        assert "//" not in re.sub(r"<!--.*?-->", "", page.text).replace("window.location.origin +", "")


def test_it_listens_on_this_machine_only(server: ServerProcess) -> None:
    """127.0.0.2 is another address of this machine: a server that listens everywhere would answer there."""
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", server.port), timeout=2):
        pass


def test_odd_bytes_on_the_wire_get_an_answer(server: ServerProcess) -> None:
    """What no client library would send."""
    requests = {
        "raw bytes in the query": b"GET /api/auth/me?\xff\xfe HTTP/1.1\r\nHost: x\r\nCookie: comfyfleet_session=x\r\n",
        "raw bytes in the path": b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n",
        "a raw byte and a slash to cut": b"GET /api/wallet/?\xff HTTP/1.1\r\nHost: x\r\n",
        "an odd host": b"GET /api/auth/me HTTP/1.1\r\nHost: [::\r\nCookie: comfyfleet_session=x\r\n",
        "no host": b"GET /api/auth/me HTTP/1.0\r\n",
        "no HTTP": b"\x16\x03\x01\x02\x00\r\n",
        "two lengths": b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "a negative length": b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n",
        "a whole address": b"GET http://evil.example/healthz HTTP/1.1\r\nHost: x\r\n",
    }
    for what, request in requests.items():
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            connection.sendall(request + b"Connection: close\r\n\r\n")
            status = connection.recv(4096).partition(b" ")[2][:3]
        assert status[:1] in (b"2", b"3", b"4"), (what, status)
    assert "crashed" not in server.errors
    assert "Traceback" not in server.errors
    assert httpx2.get(f"{server.url}/healthz").status_code == 200


class Stream(threading.Thread):
    """Reads server-sent events until the server ends the stream; `events` gets each as it comes, then its end."""

    def __init__(self, server: ServerProcess) -> None:
        super().__init__(daemon=True)
        self.server, self.events = server, Queue[tuple[str, str]]()
        self.start()

    def run(self) -> None:
        address = f"{self.server.url}/api/admin/live"
        try:
            with httpx2.stream("GET", address, headers=self.server.operator, timeout=20) as answer:
                self.events.put(("type", answer.headers["content-type"]))
                name = ""
                for line in answer.iter_lines():
                    field, _, value = line.partition(": ")
                    if field == "event":
                        name = value
                    if field == "data":
                        self.events.put((name, value))
            self.events.put(("end", "clean"))
        except httpx2.HTTPError as error:
            self.events.put(("end", repr(error)))

    def next(self) -> tuple[str, str]:
        return self.events.get(timeout=10)


def test_the_stream_tells_how_the_server_is(server: ServerProcess) -> None:
    stream = Stream(server)
    assert stream.next() == ("type", "text/event-stream; charset=utf-8")
    seen = []
    while len(seen) < 2:
        name, text = stream.next()
        assert name in TOLD
        if name == "status":
            seen.append(json.loads(text))
    assert seen[0]["status"] == "ready"
    assert seen[0]["parts"] == {"central": "ok", "pool:main": "ok", "storage": "ok"}
    assert server.process is not None
    assert seen[0]["process_id"] == server.process.pid
    assert seen[1]["uptime_s"] > seen[0]["uptime_s"]


def test_a_revoked_key_does_not_go_on_listening(server: ServerProcess) -> None:
    stream = Stream(server)
    assert stream.next()[0] == "type"
    assert stream.next()[0] == "status"
    [key] = json.loads(server.command("keys", "list", "operator@localhost", "--json"))
    server.command("keys", "revoke", key["id"])
    revoked = time.monotonic()
    while (event := stream.next())[0] != "end":
        assert event[0] in TOLD
    assert event == ("end", "clean")
    assert time.monotonic() - revoked < 8


@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_signal_stops_it_quickly_even_with_a_stream_open(server: ServerProcess, sign: int, code: int) -> None:
    """Ctrl-C is a clean end; SIGTERM ends as a process that was told to terminate does."""
    streams = [Stream(server), Stream(server)]
    for stream in streams:
        assert stream.next()[0] == "type"
        assert stream.next()[0] == "status"
    started = time.monotonic()
    assert server.stop(sign) in {code, 0}
    assert time.monotonic() - started < 3
    for stream in streams:
        rest = [stream.next()]
        while rest[-1][0] != "end":
            rest.append(stream.next())
        assert rest[-2:] == [("stopping", "{}"), ("end", "clean")]
    assert "Traceback" not in server.errors


def test_a_stop_lets_the_request_under_way_finish(server: ServerProcess) -> None:
    """Half of a request has arrived when the signal comes; the rest is taken and answered."""
    body = b'{"email": "nobody@example.com", "password": "wrong"}'
    head = f"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n".encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(head + b"Content-Type: application/json\r\n\r\n" + body[:10])
        assert httpx2.get(f"{server.url}/healthz").status_code == 200  # so the server has seen it
        assert server.process is not None
        server.process.send_signal(signal.SIGINT)
        connection.sendall(body[10:])
        assert connection.recv(4096).startswith(b"HTTP/1.1 401")
    assert server.process.wait(10) == 0


def test_a_second_start_finds_the_same_key_and_data(server: ServerProcess) -> None:
    key = (server.home / "operator.key").read_text()
    made = httpx2.post(f"{server.url}/api/admin/tenants", json={"slug": "acme"}, headers=server.operator)
    assert made.status_code == 201
    server.command("fleet-secrets", "create", "older", "--any-fleet", "--json")
    assert server.stop() == 0
    # As the migration leaves one that was made before secrets had a scope.
    with closing(sqlite3.connect(server.home / "central.sqlite")) as central, central:
        central.execute("UPDATE fleet_secrets SET allows_workflows = NULL WHERE name = 'older'")
    server.start()
    assert (server.home / "operator.key").read_text() == key
    [warning] = [line for line in server.errors.splitlines() if "fleet_secret.without_scope" in line]
    assert '"older"' in warning
    found = httpx2.get(f"{server.url}/api/admin/tenants", headers=server.operator).json()["tenants"]
    assert found == [made.json()]


def test_killed_in_the_middle_it_starts_again_with_everything_it_answered(server: ServerProcess) -> None:
    slugs = [f"tenant-{number}" for number in range(5)]
    for slug in slugs:
        made = httpx2.post(f"{server.url}/api/admin/tenants", json={"slug": slug}, headers=server.operator)
        assert made.status_code == 201
    server.kill()
    server.start()
    found = httpx2.get(f"{server.url}/api/admin/tenants", headers=server.operator).json()["tenants"]
    assert sorted(each["slug"] for each in found) == slugs


def test_a_port_that_is_taken_is_said_in_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_command(tmp_path, "up", "--no-engine", "--home", str(tmp_path / "home"), "--port", str(port))
    assert done.returncode not in (0, None)
    assert f"127.0.0.1:{port}" in done.stderr
    assert "--port" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    assert not KEY.search(done.stdout + done.stderr)


def test_port_0_takes_a_free_one_and_prints_it(tmp_path: Path) -> None:
    with server_process(tmp_path, port="0") as server:
        assert server.port != 0
        assert f"http://127.0.0.1:{server.port}" in server.out
