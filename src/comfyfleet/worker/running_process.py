"""One process of another program: begun by us or by the worker before us, ended with all that it started."""

import asyncio
import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

# Programs of others get no secret of ours: a custom node reads the environment too.
OURS = ("COMFYFLEET_", "COMFY_CLOUD_API_KEY", "OTEL_EXPORTER_")


class Running:
    """Known by its pidfd: the number may be another process's tomorrow, the descriptor never is."""

    def __init__(self, pid: int, child: asyncio.subprocess.Process | None = None) -> None:
        self.pid = pid
        self._child = child
        self._fd = os.pidfd_open(pid)
        self._ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._fd, self._note_end)

    def _note_end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._fd)
        self._ended.set()

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    async def wait(self) -> str:
        """How it ended, in words. Of a process that an earlier worker began nobody is told more than that."""
        await self._ended.wait()
        if self._child is None:
            return "it ended"
        code = await self._child.wait()
        return f"it ended with {code}" if code >= 0 else f"it was ended by signal {-code}"

    async def end(self, *, within_s: float) -> None:
        """Asked first, then killed, and whatever it had started with it."""
        if not self.ended:
            self._send(signal.SIGTERM)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), within_s)
        self._send(signal.SIGKILL)
        await self.wait()

    def close(self) -> None:
        if not self.ended:
            asyncio.get_running_loop().remove_reader(self._fd)
        os.close(self._fd)

    def _send(self, what: signal.Signals) -> None:
        # Its session is its own, so the group has its number; members may outlive it.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, what)


async def launch(command: Sequence[str], *, said: Path, folder: Path | None) -> Running:
    """What it says goes to the file `said`: a pipe would break, and it with it, when this worker is killed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    with said.open("ab") as out:
        child = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    return Running(child.pid, child)


def adopt(pid_file: Path) -> Running | None:
    """The process that the worker before us began, if it still runs."""
    try:
        pid, began = pid_file.read_text().split()
        return Running(int(pid)) if began_at(int(pid)) == began else None
    except (OSError, ValueError):
        return None


def remember(running: Running, pid_file: Path) -> None:
    new = pid_file.with_suffix(".new")
    new.write_text(f"{running.pid} {began_at(running.pid)}\n")
    new.replace(pid_file)


def began_at(pid: int) -> str | None:
    """In ticks since the machine came up: with it a number names one process and no later one."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *rest = stat.rpartition(")")[2].split()
    return None if state in "ZX" else rest[18]
