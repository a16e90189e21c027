"""What lies in a home that somebody else made, and that others may look into."""

import sqlite3
import stat
from pathlib import Path

import pytest

from comfyfleet.bootstrap import build_house
from comfyfleet.settings import Settings


@pytest.mark.parametrize("before", ["a new database", "one that others can read"])
async def test_databases_are_for_their_owner_only(tmp_path: Path, before: str) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    path = home / "central.sqlite"
    if before != "a new database":
        path.touch(mode=0o644)
    await build_house(Settings(mode="embedded", home=home)).close()
    connection = sqlite3.connect(path)
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute("create table t (id integer)")
        found = {each.name: stat.S_IMODE(each.stat().st_mode) for each in home.glob("*.sqlite*")}
    finally:
        connection.close()
    assert found.keys() >= {"central.sqlite", "central.sqlite-wal", "pool-main.sqlite"}
    assert set(found.values()) == {0o600}
