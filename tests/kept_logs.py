"""What the processes of a failed test said is kept: pytest removes its folders, and nobody can ask a second time.

`tests/conftest.py` takes the hook over. Every process of the suites writes its log into a folder of pytest's.
"""

import re
import shutil
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

KEPT = Path(__file__).parents[1] / "test-results" / "logs"
LOGS = ("*.log", "out.txt", "err.txt")
FILES_MAX = 40
TAIL_BYTES = 4 * 1024**2
# Fixtures of a file of tests live as long as it does; what was said since it began may matter.
_began: dict[Path, float] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    began = _began.setdefault(item.path, call.start)
    report = yield
    factory = getattr(item.config, "_tmp_path_factory", None)
    if report.failed and factory is not None:
        folder = KEPT / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', item.nodeid)[-150:]}.{report.when}"
        if kept := keep_logs(factory.getbasetemp(), folder, since=began):
            report.sections.append(("logs of its processes", f"{len(kept)} in {folder}"))
    return report


def keep_logs(base: Path, to: Path, *, since: float) -> list[Path]:
    """Copies the logs under `base` that were written to since then, the latest ones and their last part."""
    found = [path for pattern in LOGS for path in base.rglob(pattern) if path.is_file() and path.stat().st_size]
    found = [path for path in found if path.stat().st_mtime >= since]
    shutil.rmtree(to, ignore_errors=True)
    kept = []
    for path in sorted(found, key=lambda each: each.stat().st_mtime)[-FILES_MAX:]:
        copy = to / path.relative_to(base)
        copy.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as said:
            said.seek(max(0, path.stat().st_size - TAIL_BYTES))
            copy.write_bytes(said.read())
        kept.append(copy)
    return kept


def tail(path: Path, lines: int = 40) -> str:
    """For the message of a fixture that was not ready."""
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else "nothing"


def wait_for(true: Any, *, within_s: float, what: str, log: Path) -> None:
    """Raises with the log's end, so that the failure says why."""
    until = time.monotonic() + within_s
    while not true():
        if time.monotonic() > until:
            raise AssertionError(f"not within {within_s:.0f} s: {what}. Its log ends with:\n{tail(log)}")
        time.sleep(0.05)
