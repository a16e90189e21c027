"""How a file is cut for its upload. Pure: the same size always gives the same parts, so URLs can be signed again."""

from collections.abc import AsyncIterator, Sequence

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.storage.model import MIB, UploadedPart

SINGLE_BYTES_MAX = 64 * MIB
PART_BYTES_MIN = 64 * MIB
# S3 takes 10,000, but each costs a signature and a line in the answer.
PARTS_MAX = 500
ETAG_CHARS_MAX = 128


def part_size(size_bytes: int) -> int:
    """Whole mebibytes, and so many that `PARTS_MAX` parts are enough."""
    smallest = -(-size_bytes // PARTS_MAX)
    return max(PART_BYTES_MIN, -(-smallest // MIB) * MIB)


def plan_parts(size_bytes: int) -> list[int]:
    """The size of each part in order; one part means an ordinary PUT."""
    if size_bytes <= SINGLE_BYTES_MAX:
        return [size_bytes]
    size = part_size(size_bytes)
    whole, rest = divmod(size_bytes, size)
    return [size] * whole + ([rest] if rest else [])


async def in_blocks(chunks: AsyncIterator[bytes], *, bytes_min: int) -> AsyncIterator[bytearray]:
    """However small they come, so large at least; the last one what is left."""
    block = bytearray()
    async for chunk in chunks:
        block += chunk
        if len(block) >= bytes_min:
            yield block
            block = bytearray()
    if block:
        yield block


def check_parts(parts: Sequence[UploadedPart], *, size_bytes: int) -> list[UploadedPart]:
    """All parts of the plan, each once, in order: anything else would make another file than was announced."""
    count = len(plan_parts(size_bytes))
    in_order = sorted(parts, key=lambda part: part.number)
    if [part.number for part in in_order] != list(range(1, count + 1)):
        raise InvalidInput("parts", f"must name each part from 1 to {count} once")
    if not all(0 < len(part.etag) <= ETAG_CHARS_MAX and part.etag.isascii() for part in in_order):
        raise InvalidInput("parts", "an etag is not one that a part's PUT was answered with")
    return in_order
