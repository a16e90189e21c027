"""What must be known after a crash: one small file a lease, replaced as a whole, on disk before the step it covers."""

import asyncio
import contextlib
import fcntl
import os
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid5

import msgspec
import structlog
from msgspec import Struct

from comfyfleet.kernel.errors import Conflict
from comfyfleet.wire import worker_v1 as wire

FOLDER = "journal"
LOCK = "worker.lock"
ENTRY_BYTES_MAX = 64 * 1024**2

log = structlog.get_logger()


class HomeInUse(Conflict):
    """Two workers on one journal would run each other's jobs."""

    code = "worker_home_in_use"
    text = "Another worker runs on {home}. Stop it, or give this one a folder of its own: `comfyfleet worker --home`."

    def __init__(self, home: Path) -> None:
        super().__init__(home=str(home))


class Entry(Struct, frozen=True, kw_only=True):
    """`job` as it was leased, with the token of now. `prompt_id` is written before the POST, `posted` after its answer,
    `ending` before it is said. `posted_at` and `checked_at`: when the server was sent the prompt,
    and last asked about it before the ending."""

    job: wire.Job
    leased_at: float  # of this machine's clock: only how long ago it was counts
    server: str | None = None
    nonce: str | None = None
    day: str | None = None
    prompt_id: str | None = None
    posted: bool = False
    posted_at: float | None = None  # as `leased_at`
    checked_at: float | None = None
    ending: wire.Complete | wire.Fail | wire.Requeue | None = None

    @property
    def dispatch_id(self) -> UUID:
        return self.job.dispatch_id

    @property
    def proof(self) -> wire.LeaseProof:
        return wire.LeaseProof(dispatch_id=self.job.dispatch_id, lease_token=self.job.lease_token)


def prompt_id_of(dispatch_id: UUID, *, epoch: int, nonce: str) -> str:
    """Canonical and lower-case, as servers from 0.33 on want it."""
    return str(uuid5(NAMESPACE_OID, f"{dispatch_id}:{epoch}:{nonce}"))


class Journal:
    """Its writes are short and in order; they go to a thread, for a sync may take as long as the disk wants."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._folder = home / FOLDER
        self._lock: int | None = None

    def open(self) -> None:
        """Raises HomeInUse. The lock goes with the process, however it ends."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # What jobs are given and make lies here, too; folders above this one may be everybody's.
        with contextlib.suppress(PermissionError):  # another user's
            self._home.chmod(0o700)
        descriptor = os.open(self._home / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise HomeInUse(self._home) from None
        self._lock = descriptor

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def read(self) -> list[Entry]:
        """What an earlier life left, oldest first. A file that cannot be read proves nothing and is put aside."""
        found = []
        for path in sorted(self._folder.glob("*.json"), key=lambda each: each.stat().st_mtime):
            try:
                found.append(_decode(path))
            except (OSError, msgspec.MsgspecError, ValueError) as problem:
                log.error("journal.unreadable", file=path.name, problem=str(problem)[:200])
                path.replace(path.with_suffix(".unreadable"))
        for path in self._folder.glob("*.new"):
            path.unlink(missing_ok=True)
        return found

    async def write(self, entry: Entry) -> None:
        await asyncio.to_thread(self.write_now, entry)

    async def forget(self, dispatch_id: UUID) -> None:
        await asyncio.to_thread(self._path(dispatch_id).unlink, missing_ok=True)

    def write_now(self, entry: Entry) -> None:
        path = self._path(entry.dispatch_id)
        fresh = path.with_suffix(".new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            _write_whole(descriptor, _encode(entry))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        fresh.replace(path)
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _path(self, dispatch_id: UUID) -> Path:
        return self._folder / f"{dispatch_id}.json"


class _Line(Struct, kw_only=True):
    """On disk: the ending's kind beside it, for the wire's structs carry no tag."""

    entry: dict[str, msgspec.Raw]
    ending_kind: str | None = None


KINDS: dict[str, type[wire.Complete] | type[wire.Fail] | type[wire.Requeue]] = {
    kind.__name__: kind for kind in (wire.Complete, wire.Fail, wire.Requeue)
}


def _encode(entry: Entry) -> bytes:
    parts: dict[str, Any] = {name: getattr(entry, name) for name in Entry.__struct_fields__}
    kind = type(entry.ending).__name__ if entry.ending is not None else None
    return msgspec.json.encode({"entry": parts, "ending_kind": kind})


def _decode(path: Path) -> Entry:
    if path.stat().st_size > ENTRY_BYTES_MAX:
        raise ValueError("too large")
    line = msgspec.json.decode(path.read_bytes(), type=_Line)
    parts = line.entry
    kind = KINDS[line.ending_kind] if line.ending_kind else None
    kept = {name: raw for name, raw in parts.items() if name not in ("job", "ending")}
    return Entry(
        job=msgspec.json.decode(parts["job"], type=wire.Job),
        ending=None if kind is None else msgspec.json.decode(parts["ending"], type=kind),
        **msgspec.structs.asdict(msgspec.convert(_plain(kept), _Facts)),
    )


class _Facts(Struct, kw_only=True):
    leased_at: float
    server: str | None
    nonce: str | None
    day: str | None
    prompt_id: str | None
    posted: bool


def _plain(parts: dict[str, msgspec.Raw]) -> dict[str, Any]:
    return {name: msgspec.json.decode(raw) for name, raw in parts.items()}


def _write_whole(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
