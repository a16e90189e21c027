"""What a file is, by its first bytes."""

import pytest

from comfyfleet.kernel.errors import MediaRefused
from comfyfleet.media.model import FAMILIES, MEDIA_TYPES
from comfyfleet.media.sniff import describe, require_type, sniff_family
from tests.made_media import CONTAINERS, FORMATS, a_film, a_picture


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_every_type_that_is_taken_is_known_by_its_first_bytes_and_taken_for_no_other(media_type: str) -> None:
    made = a_picture(media_type) if media_type in FORMATS else a_film(media_type)
    assert sniff_family(made[:64]) == FAMILIES[media_type]
    for other in MEDIA_TYPES:
        if FAMILIES[other] == FAMILIES[media_type]:
            require_type(made, other, field="file")
        else:
            with pytest.raises(MediaRefused, match=f"announced as {other}") as refused:
                require_type(made, other, field="file")
            assert refused.value.holds == FAMILIES[media_type]


def test_there_is_a_maker_for_every_type() -> None:
    assert {*FORMATS, *CONTAINERS} == set(MEDIA_TYPES)


def ftyp(*brands: bytes) -> bytes:
    return (16 + 4 * len(brands[1:])).to_bytes(4, "big") + b"ftyp" + brands[0] + bytes(4) + b"".join(brands[1:])


@pytest.mark.parametrize("brands", [(b"isom",), (b"XAVC", b"mp42"), (b"qt  ",), (b"iso6", b"dash")])
def test_films_of_many_brands_are_films(brands: tuple[bytes, ...]) -> None:
    assert sniff_family(ftyp(*brands)) == "iso"


STRANGERS = {
    "HTML": b"<!DOCTYPE html><script>alert(1)</script>",
    "HTML after white space": b"\xef\xbb\xbf \n\t<HTML>",
    "SVG": b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    "SVG behind XML": b"<?xml version='1.0'?><!-- x --><svg/>",
    "a script": b"#!/bin/sh\nrm -rf /",
    "PDF": b"%PDF-1.7\n",
    "ZIP": b"PK\x03\x04" + bytes(40),
    "EXE": b"MZ" + bytes(60),
    "HEIC": ftyp(b"heic", b"mif1", b"isom"),
    "AVIF": ftyp(b"avif", b"mif1"),
    "a sound": b"RIFF\x00\x00\x00\x00WAVEfmt ",
    "an EBML file of another kind": b"\x1a\x45\xdf\xa3" + bytes(60),
    "a playlist": b"#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n",
    "half a signature": b"\x89PNG\r\n",
    "nothing": b"",
    "nonsense": b"\x00\x01\x02\x03",
}


@pytest.mark.parametrize("name", STRANGERS)
def test_what_is_not_taken_is_refused_whatever_it_was_announced_as(name: str) -> None:
    assert sniff_family(STRANGERS[name]) is None
    for media_type in MEDIA_TYPES:
        with pytest.raises(MediaRefused) as refused:
            require_type(STRANGERS[name], media_type, field="original_file_id")
        assert refused.value.facts["field"] == "original_file_id"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *(("HTML", "HTML"), ("SVG", "SVG"), ("SVG behind XML", "SVG"), ("PDF", "pdf"), ("nothing", "nothing")),
        *(("ZIP", "zip"), ("EXE", "program"), ("HEIC", "image/heic"), ("AVIF", "image/avif"), ("a sound", "audio/wav")),
        *(("a playlist", "playlist"), ("a script", "script"), ("nonsense", "something unknown")),
    ],
)
def test_a_refusal_says_what_came_instead(name: str, said: str) -> None:
    assert said in describe(STRANGERS[name])
