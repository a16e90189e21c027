"""Is a film all there? Its outermost boxes say how long they are; a file that ends before they do was cut off.

The decoder would not tell: it plays what there is.
"""

from typing import Protocol

BOXES_MAX = 1_000
SEGMENT = 0x18538067
EBML = 0x1A45DFA3
BEYOND = 1 << 62


class Seekable(Protocol):
    size_bytes: int

    def read(self, count: int = -1) -> bytes: ...

    def seek(self, offset: int, whence: int = 0) -> int: ...


def iso_is_whole(file: Seekable) -> bool:
    """Of a film in fragments only what comes before them is looked at: each fragment stands for itself."""
    place, has_index = 0, False
    for _ in range(BOXES_MAX):
        if place >= file.size_bytes:
            break
        name, length = _box(file, place)
        if length < 8 or place + length > file.size_bytes:
            return False
        if name == b"moof":
            break
        has_index = has_index or name == b"moov"
        place += length
    return has_index


def matroska_is_whole(file: Seekable) -> bool:
    """A recording made live does not know its own length, and counts as whole."""
    file.seek(0)
    head = file.read(4096)
    name, size, place = _element(head, 0)
    if name != EBML or size is None:
        return False
    name, size, place = _element(head, place + size)
    return name == SEGMENT and (size is None or place + size <= file.size_bytes)


def _box(file: Seekable, place: int) -> tuple[bytes, int]:
    file.seek(place)
    head = file.read(16)
    length, name = int.from_bytes(head[:4], "big"), head[4:8]
    if length == 1:
        return name, int.from_bytes(head[8:16], "big")
    return name, length or file.size_bytes - place  # zero: to the end of the file


def _element(head: bytes, place: int) -> tuple[int, int | None, int]:
    """Its name, its size or None for unknown, and where its body starts."""
    name, place, _ = _number(head, place, keeps_mark=True)
    size, place, unknown = _number(head, place, keeps_mark=False)
    return name, None if unknown else size, place


def _number(head: bytes, place: int, *, keeps_mark: bool) -> tuple[int, int, bool]:
    first = head[place] if place < len(head) else 0
    length = 9 - first.bit_length()
    if first == 0 or place + length > len(head):
        return BEYOND, place + 1, False  # no name, and no size that could fit
    value = int.from_bytes(head[place : place + length], "big")
    mark = 1 << (7 * length)
    return (value if keeps_mark else value - mark), place + length, not keeps_mark and value - mark == mark - 1
