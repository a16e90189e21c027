"""Processes of the bench: each says its address in its first line, and ends with the block."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
KEPT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG")
END_WITHIN_S = 30.0


def surroundings(home: Path, **settings: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "HOME": str(home), **{f"COMFYFLEET_{name}": value for name, value in settings.items()}}


@contextmanager
def told_address(module: str, arguments: Sequence[object], log: Path) -> Iterator[str]:
    command = [sys.executable, "-m", module, *map(str, arguments)]
    with (
        log.open("ab") as errors,
        subprocess.Popen(
            command, cwd=ROOT, env=surroundings(log.parent), stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            said = process.stdout.readline().strip() if process.stdout is not None else ""
            if not said:
                raise RuntimeError(f"{module} did not start: {log.read_text()[-2000:]}")
            yield said
        finally:
            process.kill()


class WorkerProcess:
    """`comfyfleet worker`."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._process, self._log = process, log

    @property
    def pid(self) -> int:
        return self._process.pid

    def require_alive(self) -> None:
        if self._process.poll() is not None:
            raise RuntimeError(f"the worker stopped: {self._log.read_text()[-2000:]}")

    def tell(self, sign: int) -> None:
        self._process.send_signal(sign)

    def wait(self, within_s: float) -> int:
        return self._process.wait(within_s)

    @property
    def most_resident_mb(self) -> float:
        """Its peak, as the system counts it."""
        return _status_mb(self.pid, "VmHWM")

    @property
    def resident_mb(self) -> float:
        return _status_mb(self.pid, "VmRSS")


def _status_mb(pid: int, field: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    return 0.0


@contextmanager
def a_worker(home: Path, **settings: str) -> Iterator[WorkerProcess]:
    home.mkdir(parents=True, exist_ok=True)
    log = home / "worker.log"
    command = [sys.executable, "-m", "comfyfleet", "worker"]
    given = surroundings(home, HOME=str(home), STATUS_PORT="0", CLOUD_MACHINE="none", **settings)
    with (
        log.open("ab") as said,
        subprocess.Popen(command, cwd=home, env=given, stdin=subprocess.DEVNULL, stdout=said, stderr=said) as process,
    ):
        try:
            yield WorkerProcess(process, log)
        finally:
            process.kill()
