"""A film that ends before it says it does is cut off."""

from io import BytesIO

import pytest

from comfyfleet.media.whole import iso_is_whole, matroska_is_whole
from tests.made_media import a_film, a_live_recording

CHECKS = {
    "video/mp4": iso_is_whole,
    "video/quicktime": iso_is_whole,
    "video/webm": matroska_is_whole,
    "video/x-matroska": matroska_is_whole,
}
FASTSTART = (("movflags", "faststart"),)
FRAGMENTS = (("movflags", "frag_keyframe+empty_moov"),)


class File(BytesIO):
    @property
    def size_bytes(self) -> int:
        return len(self.getbuffer())


@pytest.mark.parametrize("media_type", CHECKS)
@pytest.mark.parametrize("kept", [0.05, 0.5, 0.9, 0.999])
def test_a_cut_film_is_not_whole(media_type: str, kept: float) -> None:
    film = a_film(media_type)
    assert CHECKS[media_type](File(film))
    assert not CHECKS[media_type](File(film[: int(len(film) * kept)]))
    assert not CHECKS[media_type](File(film[:-1]))


def test_a_film_with_its_index_first_is_cut_as_soon_as_a_byte_is_missing() -> None:
    film = a_film(options=FASTSTART)
    assert film.index(b"moov") < film.index(b"mdat")
    assert iso_is_whole(File(film))
    assert not iso_is_whole(File(film[:-1]))


def test_films_that_do_not_know_their_length_count_as_whole() -> None:
    assert iso_is_whole(File(a_film(options=FRAGMENTS)))
    assert matroska_is_whole(File(a_live_recording()))


@pytest.mark.parametrize(
    "nonsense",
    [b"", bytes(16), b"\x00\x00\x00\x04moov", b"\x00\x00\x00\x01mdat" + b"\xff" * 8, b"\x1a\x45\xdf\xa3", b"\xff" * 64],
)
def test_nonsense_is_not_whole_and_ends(nonsense: bytes) -> None:
    assert not iso_is_whole(File(nonsense))
    assert not matroska_is_whole(File(nonsense))


def test_a_file_of_endless_tiny_boxes_ends() -> None:
    assert not iso_is_whole(File(b"\x00\x00\x00\x08free" * 100_000))
