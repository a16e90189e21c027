"""Read a multipart/form-data body as it arrives: values in memory, files to disk when they are large.

Small on purpose: what browsers and HTTP libraries send. File names are taken as they are, without percent-decoding,
as aiohttp does in the real server.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Any

IN_MEMORY_BYTES_MAX = 1024 * 1024
HEADERS_BYTES_MAX = 16 * 1024
VALUE_BYTES_MAX = 1024 * 1024
PARTS_MAX = 100
_BOUNDARY = re.compile(r'boundary="?([^";,]{1,200})"?', re.IGNORECASE)
_PARAMETER = re.compile(r';\s*(name|filename)="((?:[^"\\]|\\.)*)"', re.IGNORECASE)


class BadForm(ValueError):
    """Not a form that can be read."""


@dataclass(slots=True)
class Part:
    """A field of a form; with a filename it is a file."""

    name: str
    filename: str | None
    content: Any  # SpooledTemporaryFile[bytes]: its type is generic for type checkers only

    def text(self) -> str:
        self.content.seek(0)
        return bytes(self.content.read(VALUE_BYTES_MAX)).decode()

    def close(self) -> None:
        self.content.close()


async def read_form(content_type: str, chunks: AsyncIterator[bytes]) -> dict[str, Part]:
    """The parts by name; of equal names the first."""
    found = _BOUNDARY.search(content_type)
    if found is None or not content_type.lower().startswith("multipart/form-data"):
        raise BadForm("not multipart/form-data")
    reader = _Reader(found[1].encode())
    try:
        async for chunk in chunks:
            reader.feed(chunk)
        return reader.finish()
    except BaseException:
        reader.close()
        raise


class _Reader:
    def __init__(self, boundary: bytes) -> None:
        self._delimiter = b"\r\n--" + boundary
        self._buffer = b"\r\n"  # the first delimiter stands at the start of a line too
        self._parts: list[Part] = []
        self._current: Part | None = None
        self._started = False
        self._ended = False

    def feed(self, chunk: bytes) -> None:
        self._buffer += chunk
        while not self._ended and self._advance():
            pass

    def finish(self) -> dict[str, Part]:
        if not self._ended:
            raise BadForm("the form is cut off")
        parts: dict[str, Part] = {}
        for part in self._parts:
            part.content.seek(0)
            if parts.setdefault(part.name, part) is not part:
                part.close()
        return parts

    def close(self) -> None:
        for part in self._parts:
            part.close()

    def _advance(self) -> bool:
        """One step; False: more bytes are needed."""
        if self._started:
            return self._read_headers()
        place = self._buffer.find(self._delimiter)
        if place < 0:
            # The end of what has come may be the start of a delimiter.
            self._write(self._buffer[: -len(self._delimiter)])
            self._buffer = self._buffer[-len(self._delimiter) :]
            return False
        self._write(self._buffer[:place])
        self._buffer = self._buffer[place + len(self._delimiter) :]
        self._started = True
        return True

    def _read_headers(self) -> bool:
        if self._buffer[:2] == b"--":
            self._ended = True
            return False
        place = self._buffer.find(b"\r\n\r\n")
        if place < 0:
            if len(self._buffer) > HEADERS_BYTES_MAX:
                raise BadForm("headers of a part are too long")
            return False
        self._open(self._buffer[:place].decode(errors="surrogateescape"))
        # The line break before a delimiter belongs to it: an empty part has only one.
        self._buffer = self._buffer[place + 4 :]
        self._started = False
        return True

    def _open(self, headers: str) -> None:
        line = next((each for each in headers.split("\r\n") if each.lower().startswith("content-disposition:")), "")
        facts = {key.lower(): value.replace('\\"', '"') for key, value in _PARAMETER.findall(line)}
        if "name" not in facts:
            raise BadForm("a part has no name")
        if len(self._parts) >= PARTS_MAX:
            raise BadForm("too many parts")
        content = SpooledTemporaryFile(max_size=IN_MEMORY_BYTES_MAX)  # noqa: SIM115 - whoever reads the form closes it
        self._current = Part(facts["name"], facts.get("filename"), content)
        self._parts.append(self._current)

    def _write(self, piece: bytes) -> None:
        if self._current is None:
            return  # before the first delimiter
        self._current.content.write(piece)
        if self._current.filename is None and self._current.content.tell() > VALUE_BYTES_MAX:
            raise BadForm("a value is too long")
