"""Where a download lands: a file that grows, is hashed on the way, and takes its name when it is whole."""

import hashlib
import os
from dataclasses import dataclass
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
    """Every step blocks. One writer a place: whoever uses it sees to that."""

    def __init__(self, to: Path, bytes_max: int) -> None:
        self._to, self._part, self._bytes_max = to, to.with_name(to.name + PART), bytes_max
        to.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._part.open("a+b", buffering=0)
        self._digest = hashlib.sha256()
        self.size_bytes = 0
        self._read_what_is_there()

    def _read_what_is_there(self) -> None:
        self._file.seek(0)
        while chunk := self._file.read(CHUNK_BYTES):
            self._digest.update(chunk)
            self.size_bytes += len(chunk)
        if self.size_bytes > self._bytes_max:
            self.restart()

    def take(self, chunk: bytes | bytearray) -> bool:
        """False: that is more than may come, and none of it was kept."""
        if self.size_bytes + len(chunk) > self._bytes_max:
            self.restart()
            return False
        view = memoryview(chunk)
        while view:
            view = view[self._file.write(view) or 0 :]
        self._digest.update(chunk)
        self.size_bytes += len(chunk)
        return True

    def restart(self) -> None:
        self._file.truncate(0)
        self._digest = hashlib.sha256()
        self.size_bytes = 0

    def weighed(self) -> Downloaded:
        return Downloaded(self.size_bytes, self._digest.hexdigest())

    def keep(self) -> None:
        os.replace(self._part, self._to)

    def close(self) -> None:
        self._file.close()
