"""A real server process for tests: `comfyfleet up` with an environment of its own, and the command line beside it."""

import contextlib
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from tests.warm import run_warm

START_WITHIN_S = 100
WORKER_WITHIN_S = 90
STOP_WITHIN_S = 20
COMMAND_WITHIN_S = 100


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """Nothing of the developer's own but where programs are; settings without their prefix."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "HOME": str(folder), **as_variables(settings)}


def as_variables(settings: dict[str, str]) -> dict[str, str]:
    """Those of OpenTelemetry have names of their own."""
    return {name if name.startswith("OTEL_") else f"COMFYFLEET_{name}": value for name, value in settings.items()}


def run_command(folder: Path, *arguments: str, stdin: str = "", **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "comfyfleet", *arguments],
        env=environment(folder, **settings),
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=COMMAND_WITHIN_S,
        check=False,
    )


@dataclass
class ServerProcess:
    folder: Path
    port: int
    settings: dict[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ("--no-engine",)
    process: subprocess.Popen[bytes] | None = None
    # Whether it writes to a terminal, as for a person; else to a file, as in a journal.
    terminal: bool = False

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def out(self) -> str:
        return (self.folder / "out.txt").read_text()

    @property
    def errors(self) -> str:
        return (self.folder / "err.txt").read_text()

    @property
    def operator(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {(self.home / 'operator.key').read_text().strip()}"}

    def start(self) -> None:
        with self._output() as out, (self.folder / "err.txt").open("wb") as err:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "comfyfleet", "up", *self.arguments),
                    *("--home", str(self.home), "--port", str(self.port)),
                ],
                env=environment(self.folder, **self.settings),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        self._wait_until_it_answers()

    @contextlib.contextmanager
    def _output(self) -> Iterator[int]:
        with (self.folder / "out.txt").open("wb") as kept:
            if not self.terminal:
                yield kept.fileno()
                return
        ours, theirs = pty.openpty()
        threading.Thread(target=_copy, args=(ours, self.folder / "out.txt"), daemon=True).start()
        yield theirs
        os.close(theirs)

    def stop(self, sign: int = signal.SIGINT) -> int:
        assert self.process is not None
        self.process.send_signal(sign)
        return self.process.wait(STOP_WITHIN_S)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def command(self, *arguments: str, stdin: str = "") -> str:
        """Run `comfyfleet …` on the same home; what it printed."""
        given = {"HOME": str(self.home), "PORT": str(self.port), **self.settings}
        env = environment(self.folder, **given)
        done = run_warm(*arguments, env=env, cwd=self.folder, stdin=stdin, timeout_s=COMMAND_WITHIN_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def wait_for_worker(self) -> None:
        """Effects are sold only while a worker can run them."""
        until = time.monotonic() + WORKER_WITHIN_S
        while time.monotonic() < until:
            answer = httpx2.get(f"{self.url}/api/admin/workers", headers=self.operator, timeout=20)
            if any(each["status"] == "approved" for each in answer.json()["workers"]):
                return
            time.sleep(0.05)
        raise AssertionError(f"no worker took work:\n{self.out}\n{self.errors}")

    def _wait_until_it_answers(self) -> None:
        assert self.process is not None
        until = time.monotonic() + START_WITHIN_S
        while time.monotonic() < until and self.process.poll() is None:
            if self.port == 0 and (printed := re.search(r"http://127\.0\.0\.1:(\d+)", self.out)):
                self.port = int(printed[1])
            with contextlib.suppress(httpx2.TransportError):
                if httpx2.get(f"{self.url}/healthz", timeout=5).status_code == 200:
                    return
            time.sleep(0.05)
        self.kill()
        raise AssertionError(f"the server did not start:\n{self.out}\n{self.errors}")


def _copy(terminal: int, path: Path) -> None:
    """What a terminal shows, until the last process has left it."""
    with path.open("ab", buffering=0) as kept, contextlib.suppress(OSError):
        while said := os.read(terminal, 4096):
            kept.write(said)
    os.close(terminal)


@contextlib.contextmanager
def server_process(folder: Path, *arguments: str, **settings: str) -> Iterator[ServerProcess]:
    """The control plane alone, unless `arguments` say otherwise; on a free port, unless `port` does.

    `terminal="yes"`: it writes to one.
    """
    terminal = settings.pop("terminal", "no") == "yes"
    port = int(settings.pop("port")) if "port" in settings else free_port()
    server = ServerProcess(folder, port, settings, arguments or ("--no-engine",), terminal=terminal)
    try:
        server.start()
        yield server
    finally:
        server.kill()
