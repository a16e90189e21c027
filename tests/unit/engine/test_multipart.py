"""Forms are read whatever the network makes of them."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comfyfleet.engine.multipart import BadForm, read_form

CONTENT_TYPE = "multipart/form-data; boundary=xx"


def a_form(parts: list[tuple[str, str | None, bytes]]) -> bytes:
    body = b""
    for name, filename, content in parts:
        head = f'Content-Disposition: form-data; name="{name}"' + (f'; filename="{filename}"' if filename else "")
        body += b"--xx\r\n" + head.encode() + b"\r\n\r\n" + content + b"\r\n"
    return body + b"--xx--\r\n"


async def in_pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for place in range(0, len(body), size):
        yield body[place : place + size]


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(1, 60))
async def test_any_bytes_in_any_pieces_come_out_as_they_went_in(content: bytes, size: int):
    if b"\r\n--xx" in content:
        return
    body = a_form([("image", "ä b.png", content), ("type", None, b"temp"), ("image", "second.png", b"2")])
    form = await read_form(CONTENT_TYPE, in_pieces(body, size))

    assert form["image"].content.read() == content
    assert (form["image"].filename, form["type"].text()) == ("ä b.png", "temp")
    for part in form.values():
        part.close()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--xx\r\n",
        a_form([("image", "a.png", b"x")])[:-8],
        b"--xx\r\nContent-Disposition: form-data\r\n\r\nx\r\n--xx--",
        b"--xx\r\n" + b"a" * 20_000,
        a_form([("type", None, b"x" * 2_000_000)]),
        a_form([("a", None, b"")] * 101),
    ],
)
async def test_what_is_no_form_or_too_much_is_refused(body: bytes):
    with pytest.raises(BadForm):
        await read_form(CONTENT_TYPE, in_pieces(body, 4096))
