"""Workers on this machine, each with an engine of its own: for trying out how a fleet scales.

A machine is a process and a file that names it, so that every process of the server finds the same machines. The
file is made before the process, under a name that follows from the token: a repeated launch finds it.
"""

import asyncio
import contextlib
import hashlib
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.machines.model import AdapterProblem
from comfyfleet.scaling import CloudMachine, CloudState, LaunchAnswer, LaunchRequest, Market

ZONE = ""
HOST = "127.0.0.1"
# A file without a process: whoever made it has died meanwhile.
STARTS_WITHIN_S = 30.0
# After SIGTERM: a drained worker has nothing to finish.
ENDS_WITHIN_S = 15.0
KILLED_WITHIN_S = 2.0
LOOK_EVERY_S = 0.05


class LocalSettings(msgspec.Struct, forbid_unknown_fields=True):
    """`folder`: where the machines live. `until`: a process with which they end."""

    control_plane_url: str
    fleet_secret_file: str
    folder: str
    until: int | None = None


class _Note(msgspec.Struct):
    """What a machine's file says. `began`: when its process started, as the kernel counts: process ids come again."""

    token: str
    machine_class: str
    market: Market
    zone: str
    launched_at_s: float
    pid: int | None = None
    began: str | None = None
    ended_at_s: float | None = None


def check_settings(settings: Mapping[str, Any]) -> LocalSettings:
    try:
        read = msgspec.convert(dict(settings), LocalSettings)
    except msgspec.ValidationError as problem:
        raise InvalidInput("adapter_settings", str(problem)) from None
    for name in ("fleet_secret_file", "folder"):
        if not Path(getattr(read, name)).is_absolute():
            raise InvalidInput(f"adapter_settings.{name}", f"{getattr(read, name)!r} must be an absolute path")
    return read


def build(fleet: str, settings: Mapping[str, Any]) -> "LocalMachines":
    return LocalMachines(fleet, check_settings(settings))


@dataclass(frozen=True, slots=True)
class LocalMachines:
    fleet: str
    settings: LocalSettings

    async def describe(self) -> Sequence[CloudMachine]:
        return await asyncio.to_thread(self._describe)

    async def launch(self, request: LaunchRequest, token: str) -> LaunchAnswer:
        return await asyncio.to_thread(self._launch, request, token)

    async def terminate(self, ids: Sequence[str]) -> None:
        await asyncio.to_thread(self._terminate, ids)

    async def end_all(self, within_s: Sequence[float]) -> None:
        """Ends every machine: one SIGTERM for each of the patiences, then SIGKILL. Their files go with them."""
        await asyncio.to_thread(self._end_all, within_s)

    # ── in a thread ──

    @property
    def _folder(self) -> Path:
        return Path(self.settings.folder)

    def _describe(self) -> list[CloudMachine]:
        found = []
        for path, note in self._notes():
            if not _runs(note) and (note.pid is not None or time.time() - note.launched_at_s > STARTS_WITHIN_S):
                self._forget(path)
                continue
            if note.ended_at_s is not None and time.time() - note.ended_at_s > ENDS_WITHIN_S:
                _send(note, signal.SIGKILL)
            state = CloudState.STOPPING if note.ended_at_s is not None else CloudState.RUNNING
            found.append(CloudMachine(path.stem, state, note.launched_at_s, note.market, note.machine_class, note.zone))
        return found

    def _launch(self, request: LaunchRequest, token: str) -> LaunchAnswer:
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            names = [
                f"local-{hashlib.sha256(f'{token} {number}'.encode()).hexdigest()[:10]}"
                for number in range(request.number)
            ]
            for name in names:
                self._start(name, request, token)
        except OSError as problem:
            raise AdapterProblem("local", f"cannot start a worker: {problem}") from None
        return LaunchAnswer(tuple(names))

    def _start(self, name: str, request: LaunchRequest, token: str) -> None:
        path = self._folder / f"{name}.json"
        note = _Note(token, request.machine_class, request.market, request.zone, time.time())
        try:
            with path.open("xb") as file:  # whoever makes it starts the process
                file.write(msgspec.json.encode(note))
        except FileExistsError:
            return
        home = self._folder / name
        (home / "engine").mkdir(parents=True, exist_ok=True, mode=0o700)
        with (home / "worker.log").open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 our own interpreter and words
                self._words(name, home),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=_environment(home),
                start_new_session=True,
            )
        note.pid, note.began = process.pid, _began(process.pid)
        _write(path, note)

    def _words(self, name: str, home: Path) -> list[str]:
        slug, _, stage = self.fleet.partition("/")
        port = _free_port()
        # Tied to the worker: otherwise it would outlive one that is killed.
        words = [sys.executable, "-m", "comfyfleet.cli.up.tied"]
        options = ["engine", "--host", HOST, "--port", str(port), "--dir", str(home / "engine")]
        engine = ["sh", "-c", f"exec {shlex.join(words)} $PPID {shlex.join(options)}"]
        worker = {
            "--control-plane": self.settings.control_plane_url,
            "--fleet-secret-file": self.settings.fleet_secret_file,
            "--fleet": slug,
            "--stage": stage,
            "--worker-id": name,
            "--server": f"http://{HOST}:{port}",
            "--comfyui-dir": str(home / "engine"),
            "--comfyui-command": shlex.join(engine),
            "--home": str(home),
            "--port": "0",
            "--log-format": "json",
        }
        tied = (
            ["-m", "comfyfleet.cli.up.tied", str(self.settings.until)] if self.settings.until else ["-m", "comfyfleet"]
        )
        return [sys.executable, *tied, "worker", *(word for pair in worker.items() for word in pair)]

    def _terminate(self, ids: Sequence[str]) -> None:
        for name in ids:
            path = self._folder / f"{name}.json"
            note = _read(path)
            if note is None:
                continue
            if note.ended_at_s is None:
                note.ended_at_s = time.time()
                _write(path, note)
            _send(note, signal.SIGTERM)

    def _end_all(self, within_s: Sequence[float]) -> None:
        for patience_s in within_s:
            self._terminate([each.id for each in self._describe()])
            until = time.monotonic() + patience_s
            while self._describe() and time.monotonic() < until:
                time.sleep(LOOK_EVERY_S)
        for path, note in self._notes():
            _send(note, signal.SIGKILL)
            until = time.monotonic() + KILLED_WITHIN_S
            while _runs(note) and time.monotonic() < until:
                time.sleep(LOOK_EVERY_S)
            self._forget(path)

    def _notes(self) -> Iterator[tuple[Path, _Note]]:
        for path in sorted(self._folder.glob("*.json")) if self._folder.exists() else []:
            note = _read(path)
            if note is not None:
                yield path, note

    def _forget(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        shutil.rmtree(self._folder / path.stem, ignore_errors=True)


def _environment(home: Path) -> dict[str, str]:
    """Without our settings: they are not the worker's."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("COMFYFLEET_")}
    return {**kept, "PYTHONUNBUFFERED": "1", "COMFYFLEET_CLOUD_MACHINE": "none"}


def _read(path: Path) -> _Note | None:
    """None: it is gone, or is just being written."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Note)
    except (OSError, msgspec.DecodeError):
        return None


def _write(path: Path, note: _Note) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_bytes(msgspec.json.encode(note))
    fresh.replace(path)


def _runs(note: _Note) -> bool:
    if note.pid is None:
        return False
    with contextlib.suppress(OSError):  # started by this process: else it stays a zombie
        os.waitpid(note.pid, os.WNOHANG)
    return note.began is not None and _began(note.pid) == note.began


def _send(note: _Note, sign: signal.Signals) -> None:
    if note.pid is not None and _runs(note):
        try:
            os.killpg(note.pid, sign)
        except ProcessLookupError:
            return


def _began(pid: int) -> str | None:
    """When the process started; None: it runs no longer."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else fields[19]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
