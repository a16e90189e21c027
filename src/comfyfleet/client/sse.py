"""Server-sent events, out of chunks as they come. Comments are seen by nobody; whatever comes keeps the line alive."""

from collections.abc import Iterator
from dataclasses import dataclass

EVENT_BYTES_MAX = 4 * 1024**2


class TooLong(Exception):
    """An event without an end."""


@dataclass(frozen=True, slots=True)
class Said:
    event: str
    data: str
    id: str | None


class Parser:
    def __init__(self) -> None:
        self._rest = b""
        self._event, self._data, self._size_bytes = "", list[str](), 0
        self._id: str | None = None

    def feed(self, chunk: bytes) -> Iterator[Said]:
        *lines, self._rest = (self._rest + chunk).replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            self._size_bytes += len(line)
            self._check()
            if line:
                self._take(line.decode(errors="replace"))
            else:
                yield from self._end()
        self._check()

    def _take(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._event = value
            case "data":
                self._data.append(value)
            case "id":
                self._id = value
            case _:
                pass

    def _end(self) -> Iterator[Said]:
        if self._data:
            yield Said(self._event or "message", "\n".join(self._data), self._id)
        self._event, self._data, self._size_bytes, self._id = "", [], 0, None

    def _check(self) -> None:
        if self._size_bytes + len(self._rest) > EVENT_BYTES_MAX:
            raise TooLong
