"""Read a multipart/form-data body part by part, as it comes: of a file never more than a piece is held."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from comfyfleet.kernel.errors import InvalidInput

HEADERS_BYTES_MAX = 16 * 1024
VALUE_BYTES_MAX = 1024**2
PARTS_MAX = 64
_BOUNDARY = re.compile(r';\s*boundary=(?:"([^"]{1,70})"|([^\s;,"]{1,70}))', re.IGNORECASE)
_PARAMETER = re.compile(r';\s*(name|filename)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))', re.IGNORECASE)
_ESCAPED = re.compile(r"\\(.)")


def is_form(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "multipart/form-data"


@dataclass(frozen=True, slots=True)
class Part:
    """With a file name it is a file."""

    name: str
    file_name: str | None
    media_type: str | None


class FormReader:
    def __init__(self, content_type: str, chunks: AsyncIterator[bytes]) -> None:
        found = _BOUNDARY.search(content_type)
        if found is None:
            raise InvalidInput("body", "a form needs a boundary in its Content-Type")
        self._delimiter = b"\r\n--" + (found[1] or found[2]).encode("latin-1")
        self._chunks = chunks
        self._buffer = bytearray(b"\r\n")  # the first delimiter stands at the start of a line too
        self._between_parts = False
        self._count = 0

    async def next_part(self) -> Part | None:
        """What is left of the part before is passed over. None: the form is over."""
        async for _ in self.content():
            pass
        while len(self._buffer) < 2:
            await self._fill()
        if self._buffer[:2] == b"--":
            await self._pass_over_the_rest()
            return None
        self._count += 1
        if self._count > PARTS_MAX:
            raise InvalidInput("body", f"has more than {PARTS_MAX} parts")
        part = _read_headers(await self._headers())
        self._between_parts = False
        return part

    async def content(self) -> AsyncIterator[bytes]:
        """Of the part that was read last, as it comes."""
        while not self._between_parts:
            place = self._buffer.find(self._delimiter)
            # The end of what has come may be the start of a delimiter.
            size = place if place >= 0 else max(0, len(self._buffer) - len(self._delimiter) + 1)
            piece = bytes(self._buffer[:size])
            del self._buffer[: size + (len(self._delimiter) if place >= 0 else 0)]
            self._between_parts = place >= 0
            if piece:
                yield piece
            if not self._between_parts:
                await self._fill()

    async def text(self, part: Part) -> str:
        found = bytearray()
        async for piece in self.content():
            found += piece
            if len(found) > VALUE_BYTES_MAX:
                raise InvalidInput(part.name, f"has more than {VALUE_BYTES_MAX} bytes")
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise InvalidInput(part.name, "is not UTF-8") from None

    async def _headers(self) -> str:
        while (place := self._buffer.find(b"\r\n\r\n")) < 0:
            if len(self._buffer) > HEADERS_BYTES_MAX:
                raise InvalidInput("body", f"the headers of a part have more than {HEADERS_BYTES_MAX} bytes")
            await self._fill()
        headers = self._buffer[:place].decode("utf-8", "replace")
        # An empty part is followed by its delimiter at once: the line break before it belongs to it.
        del self._buffer[: place + 4]
        return headers

    async def _fill(self) -> None:
        try:
            self._buffer += await anext(self._chunks)
        except StopAsyncIteration:
            raise InvalidInput("body", "the form is cut off") from None

    async def _pass_over_the_rest(self) -> None:
        async for _ in self._chunks:
            pass


def _read_headers(text: str) -> Part:
    headers = {}
    for line in text.split("\r\n"):
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    disposition = headers.get("content-disposition", "")
    found = _PARAMETER.findall(disposition)
    facts = {key.lower(): _ESCAPED.sub(r"\1", quoted) or bare for key, quoted, bare in found}
    if not facts.get("name"):
        raise InvalidInput("body", "a part of the form has no name")
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower() or None
    return Part(facts["name"], facts.get("filename"), media_type)
