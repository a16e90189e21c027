"""`comfyfleet …` in a process of its own that need not load the code first: forked by one that has.

Hundreds of commands are run by tests, and loading is most of what each of them does. How a command starts from nothing
is asked by `tests/journeys`, which call Python.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from comfyfleet.cli.groups import GROUPS

_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(
    ["comfyfleet.cli.main", *(f"comfyfleet.cli.{module}" for module in GROUPS.values()), "aiosqlite", "psycopg"]
)


def run_warm(
    *arguments: str, env: Mapping[str, str], cwd: Path, stdin: str = "", timeout_s: float = 60
) -> "subprocess.CompletedProcess[str]":
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder) / name for name in ("stdin", "stdout", "stderr")]
        streams[0].write_text(stdin)
        process = _forks.Process(target=_command, args=(arguments, dict(env), cwd, streams))
        process.start()
        process.join(timeout_s)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(arguments, timeout_s)
        said = [stream.read_text() if stream.exists() else "" for stream in streams[1:]]
        return subprocess.CompletedProcess(arguments, process.exitcode, *said)


def _command(arguments: tuple[str, ...], env: dict[str, str], cwd: Path, streams: list[Path]) -> None:
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    for number, stream in enumerate(streams):
        opened = os.open(stream, os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
    sys.argv = ["comfyfleet", *arguments]
    from comfyfleet.cli.main import run
    from comfyfleet.cli.output import console

    # Rich asks for the width once, where the code is loaded.
    if "COLUMNS" in env:
        console.width = int(env["COLUMNS"])
    run()
