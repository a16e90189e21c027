"""What the server says no with is an error of its own, with its facts; and no error shows a key."""

import logging
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest

from comfyfleet.client import (
    ApiUnreachable,
    AsyncClient,
    Client,
    Event,
    InsufficientTokens,
    InvalidInput,
    InvalidRequest,
    KeyMissing,
    MediaRefused,
    NotFound,
    StrangeAnswer,
    Unauthenticated,
)
from comfyfleet.client.errors import read_fault
from comfyfleet.kernel.errors import LimitReached
from tests.client.fleet import PHOTO, Fleet
from tests.server import free_port


def test_no_is_told_by_kind_with_its_facts(fleet: Fleet, client: Client, tmp_path: Path) -> None:
    poor = fleet.another(credit=1)
    with Client(fleet.url, poor.user_key) as other, pytest.raises(InsufficientTokens) as refused:
        other.run(poor.effect, PHOTO)
    assert (refused.value.required_tokens, refused.value.available_tokens) == (12, 1)
    assert refused.value.message == "Insufficient token balance."
    asked, uploaded = refused.value.__notes__
    assert asked.startswith("request ")
    assert uploaded.startswith("the input is uploaded, as video ")
    video = client.upload(PHOTO)
    with pytest.raises(InvalidInput) as wrong:
        client.submit(fleet.effect, video.id, titel="typo")
    assert wrong.value.field == "properties.titel"
    with pytest.raises(InvalidRequest) as odd:
        client.submit(fleet.effect, video.id, priority=1000)
    assert (odd.value.field, odd.value.problems[0]["where"]) == ("priority", "body")
    with pytest.raises(InvalidInput, match="JSON cannot say"):
        client.submit(fleet.effect, video.id, title=object())
    told: list[Event] = []
    for given in (video.id, PHOTO):
        with pytest.raises(NotFound):
            client.submit("no-such-effect", given, on_progress=told.append)
    assert told == []  # nothing was sent for it
    with pytest.raises(MediaRefused) as torn:
        client.upload(PHOTO[:50], media_type="image/png")
    assert torn.value.field == "original_file_id"
    (tmp_path / "empty.png").touch()
    for given, problem in ((tmp_path / "empty.png", "is empty"), (tmp_path / "none.png", "no file"), (b"?", "type")):
        with pytest.raises(InvalidInput, match=problem):
            client.run(fleet.effect, given)
    for path in ("../admin/tenants", "nobody", ""):
        with pytest.raises(InvalidInput):
            client.job(path)


def test_a_code_of_a_newer_server_keeps_its_name_and_family() -> None:
    body = b'{"error": {"code": "moon_phase", "message": "Not now.", "details": {"phase": "new"}}}'
    error = read_fault("host", 429, body, None)
    assert (error.code, error.message, error.facts) == ("moon_phase", "Not now.", {"phase": "new"})
    assert isinstance(error, LimitReached)
    assert not hasattr(error, "tide")
    for strange in (b"<html>", b"", b"[1]", b'{"error": "x"}', b'{"error": {"code": 1, "message": "x"}}', b"\xff"):
        assert isinstance(read_fault("host", 502, strange, None), StrangeAnswer)


async def test_the_key_is_seen_nowhere(fleet: Fleet, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("", "httpx", "httpx2", "httpcore", "httpcore2"):
        caplog.set_level(logging.DEBUG, logger=name or None)  # whatever a server in this process made of them
    wrong = fleet.key[:-4] + "aaaa"
    seen: list[object] = []
    with Client(fleet.url, wrong) as client:
        with pytest.raises(Unauthenticated) as refused:
            client.wallet()
        seen += [repr(client), repr(client._access), repr(refused.value), refused.value.__notes__]
    async with AsyncClient(f"http://127.0.0.1:{free_port()}", wrong, attempts_max=2) as client_away:
        with pytest.raises(ApiUnreachable) as away:
            await client_away.wallet()
        seen += [repr(client_away), repr(away.value), vars(away.value)]
    with Client(fleet.url, fleet.key) as right:
        right.upload(PHOTO)
        uploads = [record.getMessage() for record in caplog.records if "PUT" in record.getMessage()]
    assert len(uploads) > 0
    assert not [line for line in uploads if line.startswith("HTTP Request") and "/objects/" in line]
    everything = str(seen) + caplog.text
    assert wrong not in everything
    assert fleet.key not in everything


def test_a_url_and_a_key_are_wanted_and_checked(monkeypatch: pytest.MonkeyPatch, fleet: Fleet) -> None:
    monkeypatch.delenv("COMFYFLEET_API_KEY", raising=False)
    with pytest.raises(KeyMissing, match="COMFYFLEET_API_KEY"):
        Client(fleet.url)
    for url in ("ftp://x", "fleet.example.com", "https://", "http://[::"):
        with pytest.raises(InvalidInput, match="address"):
            Client(url, "key")
    with pytest.raises(InvalidInput, match="password") as named:
        Client("https://mira:hunter2@fleet.example.com", "key")
    assert "hunter2" not in str(named.value)
    with pytest.raises(InvalidInput) as copied:
        Client(fleet.url, "cf_x y")
    assert "cf_x" not in str(copied.value)
    monkeypatch.setenv("COMFYFLEET_API_KEY", f"{fleet.key}\n")
    monkeypatch.setenv("COMFYFLEET_URL", f"{fleet.url}/")
    with Client() as client:
        assert client.wallet().balance > 0


class WebPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<html>Welcome!</html>"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_somebody_else_at_that_address_is_said() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), WebPage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        with Client(url, "key") as client, pytest.raises(StrangeAnswer, match="a web page"):
            client.wallet()
        server.shutdown()


def test_it_is_light_and_needs_no_server_parts() -> None:
    program = "import sys, comfyfleet.client; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], env=dict(os.environ), capture_output=True, text=True, timeout=60, check=True
    )
    loaded = set(done.stdout.split())
    heavy = {"fastapi", "starlette", "sqlalchemy", "pydantic", "alembic", "boto3", "psycopg", "rich", "typer", "av"}
    assert loaded & heavy == set()
    assert httpx2.__name__ in loaded
