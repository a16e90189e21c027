"""A real server notices that nobody takes a job, and tells operators by webhook and mail; and again when it is over."""

import asyncio
import json
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from tests.api.test_auth import AnyPort, Letters
from tests.kept_logs import wait_for
from tests.receiver import Receiver, a_receiver
from tests.server import ServerProcess, server_process

GRAPH = {
    "1": {"class_type": "EmptyImage", "inputs": {"width": 8, "height": 8, "batch_size": 1, "color": 7}},
    "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "draw"}},
}
SOON = {"ALERTS_EVERY_S": "1", "ALERTS_FOR_S": "2", "ALERTS_RESOLVE_S": "2"}


def order(server: ServerProcess, folder: Path) -> str:
    """A job that a fleet may run and no worker is there for. Its id."""
    (folder / "graph.json").write_text(json.dumps(GRAPH))
    server.command("workflows", "create", "draw", str(folder / "graph.json"), "--yes")
    server.command("fleets", "create", "video/production")
    server.command("fleets", "assign", "video/production", "draw")
    server.command("tenants", "create", "acme")
    server.command("users", "create", "ada@acme.test", "--tenant", "acme", "--role", "admin")
    server.command("wallets", "credit", "ada@acme.test", "100", "--id", "one")
    server.command("dispatches", "create", "--tenant", "acme", "--workflow", "draw", "--cost", "1")
    [job] = json.loads(server.command("dispatches", "list", "--json"))
    return str(job["id"])


@pytest.mark.timeout(300)
async def test_a_fleet_without_a_worker_is_told_once_and_once_more_when_it_is_over(tmp_path: Path) -> None:
    letters = Letters()
    mail = AnyPort(letters, hostname="127.0.0.1", port=0)
    mail.start()
    try:
        async with a_receiver() as receiver:
            await asyncio.to_thread(lived_through, tmp_path, receiver, letters, f"smtp://127.0.0.1:{mail.port}")
    finally:
        mail.stop()


def lived_through(folder: Path, receiver: Receiver, letters: Letters, mail_url: str) -> None:
    networks = json.dumps(["127.0.0.0/8"])
    with server_process(folder, **SOON, NOTIFICATION_NETWORKS=networks, SMTP_URL=mail_url) as server:
        made = json.loads(server.command("notifications", "create-channel", "pager", receiver.url, "--json"))
        server.command("notifications", "create-channel", "office", "ops@example.com", "--kind", "mail")
        job = order(server, folder)
        log = folder / "err.txt"
        wait_for(lambda: receiver.received and letters.taken, within_s=60, what="it fires", log=log)
        assert "firing" in server.command("alerts", "list")
        server.command("dispatches", "cancel", job)
        wait_for(lambda: receiver.received[1:] and letters.taken[1:], within_s=60, what="it is over", log=log)
        said = [Webhook(made["secret"]).verify(each.body.decode(), each.headers) for each in receiver.received]
        assert [each["type"] for each in said] == ["alert.firing", "alert.resolved"]
        assert said[0]["data"]["alerts"][0]["subject"] == "video/production"
        assert said[0]["data"]["console_url"].endswith("/console/notifications")
        subjects = [subject for _, subject, _ in letters.taken]
        assert [each.split(":")[0] for each in subjects] == ["[comfyfleet] FIRING", "[comfyfleet] RESOLVED"]
        sent = json.loads(server.command("notifications", "list", "--json"))
        assert sorted((each["channel"], each["kind"], each["status"]) for each in sent) == [
            ("office", "firing", "delivered"),
            ("office", "resolved", "delivered"),
            ("pager", "firing", "delivered"),
            ("pager", "resolved", "delivered"),
        ]
        assert "alert.firing" in server.errors + server.out
        assert made["secret"] not in server.errors + server.out
