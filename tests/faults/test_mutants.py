"""Each guard of the queue is needed: taken away, a test fails. A test that passes without its guard proves nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUEUE = "dispatch/sql.py"

# name: (file, what stands there, what stands there instead)
MUTANTS = {
    "epoch": (QUEUE, "        d.c.epoch == b.c.epoch,\n", ""),
    "lease hash": (QUEUE, "        d.c.lease_hash == b.c.lease_hash,\n", ""),
    "incarnation": (QUEUE, "        d.c.incarnation == b.c.incarnation,\n", ""),
    "leased": (
        QUEUE,
        "        d.c.status == DispatchStatus.LEASED,\n    )\n\n\n# ── ending",
        "    )\n\n\n# ── ending",
    ),
    "claim only what waits": (
        "dispatch/lease/sql.py",
        "d.c.status.in_(DISPATCH.sources(DispatchEvent.LEASE))",
        "sa.true()",
    ),
    "cancel only what waits": (QUEUE, "        .where(d.c.status.in_(waiting))\n", ""),
    "sweep only what expired": (QUEUE, "sa.or_(d.c.lease_expires_at < now(), d.c.deadline_at < now()),", "sa.true(),"),
    "settlement with the outcome": ("dispatch/finish.py", "    if terminal:\n", "    if False:\n"),
    "attempt given back on expiry": (
        QUEUE,
        "            status=DISPATCH.target(DispatchEvent.DELAY),\n",
        "            status=DISPATCH.target(DispatchEvent.DELAY),\n            releases=d.c.releases + 1,\n",
    ),
    "attempt closed": ("dispatch/finish.py", "    await tx.run(sql.end_attempts(attempts))\n", ""),
    "one open attempt": (
        "db/migrations/central/versions/0002_expand_dispatch.py",
        """        ["dispatch_id"],
        unique=True,
        sqlite_where=sa.text("ended_at IS NULL"),""",
        """        ["dispatch_id"],
        unique=False,
        sqlite_where=sa.text("ended_at IS NULL"),""",
    ),
    "one probe": (
        "dispatch/blocks/sql.py",
        "            sa.or_(k.c.probe_dispatch_id.is_(None), k.c.probe_until <= now()),\n",
        "",
    ),
}


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", MUTANTS)
def test_without_this_guard_a_test_fails(name: str, tmp_path: Path) -> None:
    file, old, new = MUTANTS[name]
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    mutated = tmp_path / "src" / "comfyfleet" / file
    text = mutated.read_text()
    assert old in text, "the mutant no longer fits the code"
    mutated.write_text(text.replace(old, new))
    done = _run_queue_tests(tmp_path)
    assert done.returncode == 1, f"survived:\n{done.stdout[-2000:]}"
    assert "failed" in done.stdout


def _run_queue_tests(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider"]
    # The quick ones first: most mutants fall there, and -x stops at the first.
    tests = ("test_guards.py", "test_queue.py", "test_queue_machine.py")
    command += ["-k", "sqlite", *(f"tests/database/dispatch/{each}" for each in tests)]
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{ROOT}"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
