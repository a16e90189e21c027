"""A session at the terminal."""

import json
import os
from dataclasses import replace

from tests.cli.conftest import Command
from tests.postgres import Cluster


def test_from_nothing_to_a_credited_wallet(comfyfleet: Command) -> None:
    assert "no comfyfleet in" in comfyfleet("tenants", "list", code=3)
    assert not (comfyfleet.folder / ".comfyfleet").exists()
    assert "upgraded" in comfyfleet("db", "upgrade")
    assert {line["state"] for line in comfyfleet.json("db", "upgrade")} == {"current"}
    assert {line["state"] for line in comfyfleet.json("db", "show")} == {"current"}
    assert {line["state"] for line in comfyfleet.json("db", "check")} == {"same"}

    tenant = comfyfleet.json("tenants", "create", "acme", "--weight", "3")
    assert (tenant["slug"], tenant["pool"], tenant["weight"], tenant["status"]) == ("acme", "main", 3, "active")
    assert "acme" in comfyfleet("tenants", "list")

    user = comfyfleet.json("users", "create", "ada@acme.test", "--tenant", "acme", "--role", "admin")
    assert user["status"] == "invited"
    assert "/set-password#token=" in user["link"]
    comfyfleet("users", "set-password", "ada@acme.test", "--password-stdin", given="correct horse battery\n")
    assert comfyfleet.json("users", "list", "--tenant", "acme")[0]["status"] == "active"
    assert "link" in comfyfleet.json("users", "create-link", "ada@acme.test")
    assert comfyfleet.json("users", "disable", "ada@acme.test")["status"] == "disabled"
    assert comfyfleet.json("users", "enable", "ada@acme.test")["status"] == "active"

    key = comfyfleet.json("keys", "create", "ada@acme.test", "--name", "ci", "--scope", "read")
    assert key["secret"].startswith(f"cf_{key['prefix']}_")
    listed = comfyfleet.json("keys", "list", "ada@acme.test")
    assert [(each["name"], each["scopes"]) for each in listed] == [("ci", ["read"])]
    assert "secret" not in listed[0]
    assert comfyfleet.json("keys", "revoke", key["id"])["revoked_at"] is not None

    comfyfleet("wallets", "credit", "ada@acme.test", "500", "--id", "pay-1")
    assert "had been credited before" in comfyfleet("wallets", "credit", "ada@acme.test", "500", "--id", "pay-1")
    assert "500 tokens" in comfyfleet("wallets", "show", "ada@acme.test")

    assert comfyfleet.json("tenants", "suspend", "acme")["status"] == "suspended"
    assert comfyfleet.json("tenants", "resume", tenant["id"])["status"] == "active"


def test_errors_teach_and_have_exit_codes(comfyfleet: Command) -> None:
    comfyfleet("db", "upgrade")
    comfyfleet("tenants", "create", "acme")
    assert "already_exists" in comfyfleet("tenants", "create", "acme", code=4)
    assert "lower-case" in comfyfleet("tenants", "create", "Acme Films", code=2)
    assert "nowhere" in comfyfleet("tenants", "create", "x", "--pool", "nowhere", code=2)
    assert "not_found" in comfyfleet("tenants", "suspend", "nobody", code=3)
    assert "12 to" in comfyfleet(
        "users", "create", "a@acme.test", "--tenant", "acme", "--password-stdin", given="short\n", code=2
    )
    error = json.loads(comfyfleet("tenants", "create", "acme", "--json", code=4))
    assert error["error"]["code"] == "already_exists"


def test_a_wrong_setting_stops_every_command_and_is_named(comfyfleet: Command) -> None:
    wrong = replace(comfyfleet, environment={"COMFYFLEET_PROT": "1"})
    assert "COMFYFLEET_PROT: there is no such setting" in wrong("tenants", "list", code=1)
    assert "COMFYFLEET_PROT" in wrong("up", code=1)


def test_files_made_by_a_command_are_private(comfyfleet: Command) -> None:
    comfyfleet("db", "upgrade")
    home = comfyfleet.folder / ".comfyfleet"
    assert os.stat(home).st_mode & 0o777 == 0o700
    assert os.stat(home / "secret.key").st_mode & 0o777 == 0o600


def test_a_dead_pool_is_named_and_the_others_are_upgraded(comfyfleet: Command, cluster: Cluster) -> None:
    """Resumable: when the dead pool is back, the same command does the rest."""
    alive = cluster.create("upgrade_alive")
    central = cluster.create("upgrade_central")
    pools = {"dead": "postgresql://x:canary-password@127.0.0.1:1/x", "alive": alive}
    environment = {"COMFYFLEET_DATABASE_URL": central, "COMFYFLEET_POOLS": json.dumps(pools)}
    try:
        broken = replace(comfyfleet, environment=environment)
        done = broken("db", "upgrade", "--json", code=6)
        assert "canary-password" not in done
        revived = {**environment, "COMFYFLEET_POOLS": json.dumps({"dead": "sqlite:///revived.sqlite", "alive": alive})}
        lines = {line["database"]: line for line in replace(comfyfleet, environment=revived).json("db", "upgrade")}
        assert {name: line["state"] for name, line in lines.items()} == {
            "central": "current",
            "dead": "upgraded",
            "alive": "current",
        }
    finally:
        cluster.drop("upgrade_alive")
        cluster.drop("upgrade_central")


def test_a_dead_pool_stops_neither_the_others_commands_nor_a_start(comfyfleet: Command) -> None:
    pools = {"main": "sqlite:///main.sqlite", "dead": "postgresql://x:canary-password@127.0.0.1:1/x"}
    comfyfleet("db", "upgrade")
    home = {"COMFYFLEET_POOLS": json.dumps({"main": "sqlite:///main.sqlite"})}
    replace(comfyfleet, environment=home)("db", "upgrade")
    half = replace(comfyfleet, environment={"COMFYFLEET_POOLS": json.dumps(pools)})
    assert half.json("tenants", "create", "acme")["pool"] == "main"


def test_a_link_leads_to_the_port_the_server_has(comfyfleet: Command) -> None:
    comfyfleet("db", "upgrade")
    (comfyfleet.folder / ".comfyfleet" / "address").write_text("http://127.0.0.1:8750\n")
    link = comfyfleet.json("users", "create", "op@acme.test", "--role", "operator")["link"]
    assert link.startswith("http://127.0.0.1:8750/set-password#token=")


def test_a_damaged_key_file_is_not_used(comfyfleet: Command) -> None:
    comfyfleet("db", "upgrade")
    (comfyfleet.folder / ".comfyfleet" / "secret.key").write_text("")
    assert "secret_key" in comfyfleet("tenants", "list", code=1)


def test_a_folder_that_others_write_into_is_no_home(comfyfleet: Command) -> None:
    shared = comfyfleet.folder / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    said = replace(comfyfleet, environment={"COMFYFLEET_HOME": str(shared)})("db", "upgrade", code=1)
    assert "others can write" in said
    assert shared.stat().st_mode & 0o777 == 0o777


def test_production_refuses_a_forgetful_postgresql(comfyfleet: Command, cluster: Cluster) -> None:
    central, pool = (
        cluster.create("forgetful_central", template="cf_central"),
        cluster.create("forgetful_pool", template="cf_tenant"),
    )
    environment = {
        "COMFYFLEET_MODE": "production",
        "COMFYFLEET_PUBLIC_URL": "https://fleet.example.com",
        "COMFYFLEET_SECRET_KEY": "kM3x9Qw7Zt5Rv1Yb8Nc4Hd6Jf0Lg2Ps+",
        "COMFYFLEET_DATABASE_URL": central,
        "COMFYFLEET_POOLS": json.dumps({"main": pool}),
    }
    try:
        said = replace(comfyfleet, environment=environment)("serve", "--port", "0", code=1)
        assert "central: PostgreSQL runs with fsync = off" in said
        assert "main: PostgreSQL runs with synchronous_commit = off" in said
    finally:
        cluster.drop("forgetful_central")
        cluster.drop("forgetful_pool")
