"""A failed test leaves the logs of its processes behind, and names the place."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kept_logs import keep_logs, wait_for

ROOT = Path(__file__).parents[2]
SUITE = """
import pytest

@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    (folder / "err.txt").write_text("the reason why")
    return folder

@pytest.fixture
def never_ready(server):
    raise AssertionError("not ready")

def test_that_passes(server): pass
def test_that_falls(server): assert False
def test_whose_fixture_falls(never_ready): pass
"""


def test_logs_of_failed_tests_and_fixtures_are_kept_and_their_place_is_printed(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    plugin = "import tests.kept_logs as kept\nfrom pathlib import Path\nkept.KEPT = Path(__file__).parent / 'kept'\n"
    (tmp_path / "conftest.py").write_text(f"{plugin}from tests.kept_logs import pytest_runtest_makereport\n")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:randomly",
            "-c",
            "/dev/null",
            "--rootdir",
            ".",
            "test_suite.py",
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert "1 passed, 1 failed, 1 error" in done.stdout or "1 failed, 1 passed, 1 error" in done.stdout, done.stdout
    kept = sorted((tmp_path / "kept").iterdir())
    assert [each.name.partition("::")[0].rpartition(".")[2] for each in kept] == ["call", "setup"]
    for folder in kept:
        assert str(folder) in done.stdout
        assert [each.read_text() for each in folder.rglob("err.txt")] == ["the reason why"]


def test_what_was_said_before_is_not_kept(tmp_path: Path) -> None:
    for name, age_s in (("old.log", 100), ("new.log", 0)):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, (1_000_000 - age_s, 1_000_000 - age_s))
    assert [each.name for each in keep_logs(tmp_path, tmp_path / "to", since=999_990)] == ["new.log"]


def test_a_fixture_that_is_not_ready_says_what_its_process_said(tmp_path: Path) -> None:
    (tmp_path / "err.txt").write_text("no server is ready")
    with pytest.raises(AssertionError, match=r"the worker takes work.*\n.*no server is ready"):
        wait_for(lambda: False, within_s=0.0, what="the worker takes work", log=tmp_path / "err.txt")
