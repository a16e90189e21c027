"""The real command, in a process of its own, on embedded SQLite."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.warm import run_warm

# Without what the machine says of Python: a user's machine keeps compiled files, and starts the faster for it.
CLEAN = {name: value for name, value in os.environ.items() if not name.startswith(("COMFYFLEET_", "PYTHON"))}


@dataclass(frozen=True)
class Command:
    folder: Path
    environment: dict[str, str]

    def __call__(self, *arguments: str, given: str = "", code: int = 0) -> str:
        done = self._run(*arguments, given=given, code=code)
        return done.stdout if code == 0 else done.stderr

    def output(self, *arguments: str, code: int) -> str:
        """What is printed by a command that did its work and has bad news."""
        return self._run(*arguments, given="", code=code).stdout

    def _run(self, *arguments: str, given: str, code: int) -> "subprocess.CompletedProcess[str]":
        env = {**CLEAN, "COLUMNS": "200", **self.environment}
        done = run_warm(*arguments, env=env, cwd=self.folder, stdin=given)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    def json(self, *arguments: str, given: str = "") -> Any:
        return json.loads(self(*arguments, "--json", given=given))


@pytest.fixture
def comfyfleet(tmp_path: Path) -> Command:
    return Command(tmp_path, {})
