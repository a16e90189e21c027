"""`comfyfleet dispatches create`, in a process of its own."""

import json
import sqlite3
from collections.abc import Iterator
from uuid import UUID

import pytest

from tests.cli.conftest import Command

GRAPH = b'{"1": {"class_type": "SaveImage", "inputs": {}}}'


@pytest.fixture
def central(comfyfleet: Command) -> Iterator[sqlite3.Connection]:
    """The central database of a home with a tenant, a user and a workflow."""
    comfyfleet("db", "upgrade")
    comfyfleet("tenants", "create", "acme")
    comfyfleet("users", "create", "ada@acme.test", "--tenant", "acme")
    (comfyfleet.folder / "graph.json").write_bytes(GRAPH)
    comfyfleet("workflows", "create", "swap", "graph.json")
    opened = sqlite3.connect(comfyfleet.folder / ".comfyfleet" / "central.sqlite", isolation_level=None)
    yield opened
    opened.close()


def test_jobs_are_created_paid_for_and_queued_in_batches(comfyfleet: Command, central: sqlite3.Connection) -> None:
    comfyfleet("wallets", "credit", "ada@acme.test", "5000", "--id", "pay-1")
    made = comfyfleet.json(
        "dispatches", "create", "--tenant", "acme", "--workflow", "swap", "--count", "1201", "--cost", "2"
    )
    assert "no fleet may run its workflow" in made["waits_because"]
    assert (made["count"], made["queued"], made["tenant"], made["workflow"]) == (1201, 1201, "acme", "swap")
    assert central.execute("SELECT COUNT(*) FROM ai_job_dispatches WHERE status = 'queued'").fetchone() == (1201,)
    payload = json.loads(central.execute("SELECT payload FROM dispatch_payloads LIMIT 1").fetchone()[0])
    assert payload["workflow"] == json.loads(GRAPH)
    assert "2598 tokens" in comfyfleet("wallets", "show", "ada@acme.test")
    said = comfyfleet("dispatches", "create", "--tenant", "acme", "--workflow", "swap")
    newest = central.execute("SELECT id FROM ai_job_dispatches ORDER BY id DESC LIMIT 1").fetchone()[0]
    assert f"Created job {UUID(newest)} of swap for acme." in said
    assert "No worker can run it now: no fleet may run its workflow" in said
    assert json.loads(comfyfleet("dispatches", "show-graph", str(UUID(newest)))) == json.loads(GRAPH)
    assert "not_found" in comfyfleet("dispatches", "show-result", str(UUID(newest)), code=3)
    attempt = "INSERT INTO dispatch_attempts (dispatch_id, epoch, nonce, worker_id, incarnation, granted_at, reason,"
    attempt += (
        " service_reason) VALUES (?, 1, 'n', ?, 1, '2026-01-01T00:00:00.000000Z', 'infra', 'service_job_not_found')"
    )
    central.execute(attempt, (newest, newest))
    kept = (newest, 1, '{"status": {"completed": false}}', "2026-01-01T00:00:00.000000Z")
    central.execute("INSERT INTO attempt_results VALUES (?, ?, ?, ?)", kept)
    said = comfyfleet("dispatches", "show-result", str(UUID(newest)))
    assert json.loads(said) == {"status": {"completed": False}}
    assert "infra · service_job_not_found" in comfyfleet("dispatches", "show", str(UUID(newest)))


def test_what_cannot_be_is_said(comfyfleet: Command, central: sqlite3.Connection) -> None:
    create = ("dispatches", "create", "--tenant", "acme", "--workflow", "swap")
    assert "(required tokens: 7, available tokens: 0)" in comfyfleet(*create, "--cost", "7", code=2)
    assert "not_found" in comfyfleet("dispatches", "create", "--tenant", "acme", "--workflow", "none", code=3)
    comfyfleet("tenants", "create", "empty")
    assert "no such user" in comfyfleet("dispatches", "create", "--tenant", "empty", "--workflow", "swap", code=2)
    assert "no such user" in comfyfleet(
        "dispatches", "create", "--tenant", "empty", "--workflow", "swap", "--user", "ada@acme.test", code=2
    )
    assert central.execute("SELECT COUNT(*) FROM ai_job_dispatches").fetchone() == (0,)
