"""Where a download lands: a file that grows, is hashed on the way, and takes its name when it is whole."""

import errno
import hashlib
import os
import threading
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

CHUNK_BYTES = 1024**2
PART = ".part"


@dataclass(frozen=True, slots=True)
class Downloaded:
    size_bytes: int
    sha256: str

    def differs_from(self, size_bytes: int | None, sha256: str | None) -> str | None:
        if size_bytes is not None and self.size_bytes != size_bytes:
            return f"{self.size_bytes} bytes long, not {size_bytes}"
        if sha256 is not None and self.sha256 != sha256:
            return "its SHA-256 is another"
        return None


class Landing:
    """Every step blocks, and runs in a thread that its caller may have stopped waiting for: `close` ends them all.
    One writer a place: whoever uses it sees to that."""

    def __init__(self, to: Path, bytes_max: int) -> None:
        self._to, self._part, self._bytes_max = to, to.with_name(to.name + PART), bytes_max
        self._file: FileIO | None = None
        self._digest = hashlib.sha256()
        self._lock = threading.Lock()
        self._is_closing = False
        self.size_bytes = 0

    def open(self) -> None:
        """What an earlier try left is read, to go on from there."""
        with self._lock:
            self._to.parent.mkdir(parents=True, exist_ok=True)
            if self._is_closing:
                return
            self._file = FileIO(self._part, "a+")
            self._file.seek(0)
            while not self._is_closing and (chunk := self._file.read(CHUNK_BYTES)):
                self._digest.update(chunk)
                self.size_bytes += len(chunk)
            if self.size_bytes > self._bytes_max:
                self._truncate(self._file)

    def take(self, chunk: bytes | bytearray) -> bool:
        """False: that is more than may come, and none of it was kept."""
        with self._lock, memoryview(chunk) as whole:
            file = self._opened()
            if self.size_bytes + len(chunk) > self._bytes_max:
                self._truncate(file)
                return False
            written = 0
            while written < len(whole):
                written += file.write(whole[written:]) or 0
            self._digest.update(chunk)
            self.size_bytes += len(chunk)
            return True

    def restart(self) -> None:
        with self._lock:
            self._truncate(self._opened())

    def weighed(self) -> Downloaded:
        return Downloaded(self.size_bytes, self._digest.hexdigest())

    def keep(self) -> None:
        with self._lock:
            self._opened()
            os.replace(self._part, self._to)

    def close(self) -> None:
        self._is_closing = True
        with self._lock:
            if self._file is not None:
                self._file.close()

    def _opened(self) -> FileIO:
        if self._file is None or self._is_closing:
            raise OSError(errno.EBADF, "the download was given up")
        return self._file

    def _truncate(self, file: FileIO) -> None:
        file.truncate(0)
        self._digest = hashlib.sha256()
        self.size_bytes = 0
