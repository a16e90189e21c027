"""`comfyfleet audit` and `comfyfleet audit-log`, as an operator types them."""

import getpass
import json
import sqlite3
from contextlib import closing

import pytest

from tests.cli.conftest import Command


@pytest.fixture
def installation(comfyfleet: Command) -> Command:
    comfyfleet("db", "upgrade")
    comfyfleet("tenants", "create", "acme")
    comfyfleet("users", "create", "ada@acme.test", "--tenant", "acme")
    comfyfleet("wallets", "credit", "ada@acme.test", "500", "--id", "pay[/]1")
    comfyfleet("wallets", "credit", "ada@acme.test", "500", "--id", "pay[/]1")
    comfyfleet("tenants", "suspend", "acme")
    return comfyfleet


def _damage(installation: Command, database: str, *statements: str) -> None:
    path = installation.folder / ".comfyfleet" / database
    with closing(sqlite3.connect(path)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            assert connection.execute(statement).rowcount == 1
        connection.commit()


def test_what_was_typed_stands_in_the_log_with_who_typed_it(installation: Command) -> None:
    actions = installation.json("audit-log", "list")
    assert [each["action"] for each in actions] == ["tenant.suspend", "user.create", "tenant.create"]
    assert {each["actor"] for each in actions} == {f"cli {getpass.getuser()}"}
    (credit,) = installation.json("audit-log", "list", "--tenant", "acme")
    assert credit["action"] == "PAYMENT_CREDIT"
    assert json.loads(credit["detail"])["amount"] == 500
    assert "pay[/]1" in installation("audit-log", "list", "--tenant", "acme")


def test_an_untouched_log_verifies(installation: Command) -> None:
    assert "ok" in installation("audit-log", "verify")
    report = installation.json("audit-log", "verify")
    assert [(each["rows"], each["head"], each["result"]) for each in report["chains"]] == [(3, 3, "ok"), (1, 1, "ok")]


def test_a_changed_row_ends_verification_with_its_number(installation: Command) -> None:
    _damage(installation, "central.sqlite", "UPDATE audit_log SET actor = 'nobody' WHERE seq = 2")
    said = installation.output("audit-log", "verify", code=1)
    assert "row 2 was changed" in said
    report = json.loads(installation.output("audit-log", "verify", "--json", code=1))
    assert [each["first_bad_row"] for each in report["chains"]] == [2, None]


def test_a_sound_system_passes_the_audit(installation: Command) -> None:
    said = installation("audit")
    assert "a balance is the sum of its transactions" in said
    assert "violated" not in said
    assert {each["state"] for each in installation.json("audit")} == {"ok"}


def test_the_audit_names_what_is_wrong_and_ends_with_a_code(installation: Command) -> None:
    _damage(installation, "pool-main.sqlite", "UPDATE token_wallets SET balance = 501")
    said = installation.output("audit", code=1)
    assert "main: violated 1" in said
    assert "balance=501 sum_of_transactions=500" in said
    found = json.loads(installation.output("audit", "--json", code=1))
    assert [each["code"] for each in found if each["state"] == "violated"] == ["V11"]
