"""Secrets are printed to terminals; anywhere else a private file has them, and a program asks with --json."""

import asyncio
import os
import pty
import re
import shlex
import stat
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from comfyfleet import fleet
from comfyfleet.bootstrap import open_house
from comfyfleet.fleet import NewWorker
from comfyfleet.house import House
from comfyfleet.kernel.ids import LinkId
from comfyfleet.kernel.secret import Secret
from comfyfleet.settings import Settings
from comfyfleet.tenants import credentials
from tests.cli.conftest import CLEAN, Command

SECRET = re.compile(r"cfs?_[\w-]{20,}|token=[\w.~-]+|^[\w-]{40,}$", re.MULTILINE)
EMAIL = "ada@acme.test"
MAKES: dict[str, tuple[str, ...]] = {
    "a key": ("keys", "create", EMAIL),
    "an invitation": ("users", "create", "bob@acme.test", "--tenant", "acme"),
    "a reset": ("users", "create-link", EMAIL),
    "a fleet secret": ("fleet-secrets", "create", "room", "--any-fleet"),
    "a command": ("fleets", "show-command", "video/production", "--new-secret"),
    "a token": ("workers", "rotate-token", "i-1"),
}


@pytest.fixture(scope="module")
def comfyfleet(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """A home with a tenant, a user, a fleet and its worker."""
    command = Command(tmp_path_factory.mktemp("shown"), {})
    command("db", "upgrade")
    command("tenants", "create", "acme")
    command("users", "create", EMAIL, "--tenant", "acme", "--json")
    command("fleets", "create", "video/production")
    inside(command, join)
    return command


def inside(command: Command, work: Callable[[House], Awaitable[object]]) -> None:
    async def opened() -> None:
        async with open_house(Settings(home=command.folder / ".comfyfleet"), makes_home=False) as house:
            await work(house)

    asyncio.run(opened())


async def join(house: House) -> None:
    async with house.control_tx() as tx:
        found = await fleet.find_fleet(tx, "video", "production")
        await fleet.register_worker(tx, NewWorker("i-1", "10.0.0.7"), fleet=found, rules=house.fleet_rules)


def named_file(said: str) -> Path:
    found = re.search(r"^To see it: +cat (.+)$", said, re.MULTILINE)
    assert found is not None, said
    return Path(shlex.split(found[1])[0])


async def opens(house: House, kind: str, text: str) -> object:
    """Raises where the secret opens nothing."""
    async with house.control_tx(read_only=True) as tx:
        match kind:
            case "a key":
                return await credentials.authenticate_key(tx, Secret(text))
            case "an invitation" | "a reset":
                return await credentials.require_live_link(tx, LinkId(house.links.read(text.partition("token=")[2])))
            case "a token":
                return await fleet.authenticate_worker(tx, Secret(text), worker_id="i-1")
            case "a command":
                text = shlex.split(text)[0].partition("=")[2]
        return await fleet.require_fleet_secret(tx, Secret(text))


def test_where_there_is_no_terminal_a_private_file_has_the_secret(comfyfleet: Command) -> None:
    for kind, arguments in MAKES.items():
        said = comfyfleet(*arguments)
        assert not SECRET.search(said), kind
        kept = named_file(said)
        assert kept.is_relative_to(comfyfleet.folder.resolve())
        assert [stat.S_IMODE(path.stat().st_mode) for path in (kept.parent, kept)] == [0o700, 0o600], kind
        inside(comfyfleet, lambda house, kind=kind, kept=kept: opens(house, kind, kept.read_text().strip()))


def test_files_that_nobody_removed_go_after_a_week(comfyfleet: Command) -> None:
    old = named_file(comfyfleet(*MAKES["a key"]))
    fresh = named_file(comfyfleet(*MAKES["a key"]))
    long_ago = time.time() - 8 * 86_400
    os.utime(old, (long_ago, long_ago))
    comfyfleet(*MAKES["a reset"])
    assert (old.exists(), fresh.exists()) == (False, True)


def test_what_cannot_be_shown_is_not_made(tmp_path: Path) -> None:
    bare = Command(tmp_path, {})
    bare("db", "upgrade")
    (tmp_path / ".comfyfleet" / "shown-once").write_text("in the way")
    assert "shown-once" in bare("users", "create", "op@acme.test", "--role", "operator", code=1)
    assert bare.json("users", "list") == []


def test_on_a_terminal_it_is_printed_and_kept_nowhere(comfyfleet: Command) -> None:
    before = kept_files(comfyfleet)
    said = on_terminal(comfyfleet, *MAKES["a key"])
    found = re.search(r"^cf_\S+", said, re.MULTILINE)
    assert found is not None, said
    inside(comfyfleet, lambda house: opens(house, "a key", found[0]))
    assert kept_files(comfyfleet) == before


def kept_files(command: Command) -> set[Path]:
    return set((command.folder / ".comfyfleet").glob("shown-once/*"))


def on_terminal(command: Command, *arguments: str) -> str:
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "comfyfleet", *arguments]
    done = subprocess.run(words, env=CLEAN, cwd=command.folder, stdin=theirs, stdout=theirs, stderr=theirs, check=True)
    os.close(theirs)
    assert done.returncode == 0
    said = os.read(ours, 65_536).decode().replace("\r\n", "\n")
    os.close(ours)
    return said
