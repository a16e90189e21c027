"""A form, however it is cut on its way."""

from collections.abc import AsyncIterator

import pytest

from comfyfleet.api.forms import HEADERS_BYTES_MAX, PARTS_MAX, FormReader, is_form
from comfyfleet.kernel.errors import InvalidInput

TYPE = 'multipart/form-data; boundary="-b"'
FORM = (
    b'a preamble\r\n---b\r\nContent-Disposition: form-data; name="text"\r\n\r\nz\xc3\xa4hl\r\n---c\r\n'
    b'---b \r\ncontent-disposition: form-data; filename="a \\"b\\".png"; name=file\r\nContent-Type: image/png\r\n\r\n'
    b'\r\n--\x00-b\r\n---b\r\nContent-Disposition: form-data; name="empty"\r\n\r\n\r\n---b--\r\nan epilogue'
)


async def cut(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


async def read(body: bytes, size: int = 7, content_type: str = TYPE) -> list[tuple[str, str | None, str | None, bytes]]:
    reader, found = FormReader(content_type, cut(body, size)), []
    while (part := await reader.next_part()) is not None:
        content = b"".join([piece async for piece in reader.content()])
        found.append((part.name, part.file_name, part.media_type, content))
    return found


async def test_every_way_to_cut_it_gives_the_same() -> None:
    whole = [
        ("text", None, None, "zähl\r\n---c".encode()),
        ("file", 'a "b".png', "image/png", b"\r\n--\x00-b"),
        ("empty", None, None, b""),
    ]
    for size in range(1, len(FORM) + 1):
        assert await read(FORM, size) == whole, size


async def test_a_part_that_nobody_reads_is_passed_over() -> None:
    reader = FormReader(TYPE, cut(FORM, 5))
    names = []
    while (part := await reader.next_part()) is not None:
        names.append(part.name)
    assert names == ["text", "file", "empty"]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "cut off"),
        (FORM[:-20], "cut off"),
        (b"---b\r\nContent-Disposition: form-data\r\n\r\nx\r\n---b--", "no name"),
        (b"---b\r\n" + b"x" * 2 * HEADERS_BYTES_MAX, "headers"),
        (b'---b\r\nContent-Disposition: form-data; name="x"\r\n\r\n\r\n' * (PARTS_MAX + 1), "parts"),
    ],
)
async def test_what_is_no_form_is_said(body: bytes, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        await read(body, 1000)


async def test_a_form_without_a_boundary_is_none() -> None:
    assert is_form("Multipart/Form-Data; boundary=x")
    assert not is_form("application/json")
    with pytest.raises(InvalidInput, match="boundary"):
        await read(b"", content_type="multipart/form-data")


async def test_a_text_must_be_short_and_text() -> None:
    for value, problem in ((b"\xff", "UTF-8"), (b"x" * (1024**2 + 1), "bytes")):
        body = b'---b\r\nContent-Disposition: form-data; name="x"\r\n\r\n' + value + b"\r\n---b--"
        reader = FormReader(TYPE, cut(body, 65_536))
        part = await reader.next_part()
        assert part is not None
        with pytest.raises(InvalidInput, match=problem):
            await reader.text(part)
