"""How the looking process and its parent talk: frames of four bytes of length and a body, over its two pipes."""

import json
import struct
from typing import Any, BinaryIO

HEADER = struct.Struct(">I")
MESSAGE_BYTES_MAX = 16 * 1024
POSTER_BYTES_MAX = 1024**2
TEXT_CHARS_MAX = 500
# One request for so much: a store that is far away is asked a few times, not thousands.
BLOCK_BYTES = 1024**2
BLOCKS_KEPT = 8


def frame(body: bytes) -> bytes:
    return HEADER.pack(len(body)) + body


def message(says: str, **fields: Any) -> bytes:
    """One of those that the parent knows (`answers.py`)."""
    return frame(json.dumps({"says": says, **fields}).encode())


class AskedFile:
    """A file that is read through questions. The process that holds it can open nothing by itself."""

    def __init__(self, ask: BinaryIO, answer: BinaryIO, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self._ask, self._answer = ask, answer
        self._place = 0
        self._blocks: dict[int, bytes] = {}

    def read(self, count: int = -1) -> bytes:
        end = self.size_bytes if count is None or count < 0 else min(self._place + count, self.size_bytes)
        found = bytearray()
        while self._place < end:
            number, start = divmod(self._place, BLOCK_BYTES)
            piece = self._block(number)[start : start + end - self._place]
            if not piece:
                break
            found += piece
            self._place += len(piece)
        return bytes(found)

    def seek(self, offset: int, whence: int = 0) -> int:
        base = (0, self._place, self.size_bytes)[whence]
        self._place = max(0, base + offset)
        return self._place

    def tell(self) -> int:
        return self._place

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            start = number * BLOCK_BYTES
            self._ask.write(message("read", offset=start, count=min(BLOCK_BYTES, self.size_bytes - start)))
            self._ask.flush()
            while len(self._blocks) >= BLOCKS_KEPT:
                del self._blocks[next(iter(self._blocks))]
            (length,) = HEADER.unpack(self._answer.read(HEADER.size))
            self._blocks[number] = self._answer.read(length)
        return self._blocks[number]
