"""Object keys and download names."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import FileId, TenantId
from comfyfleet.storage.model import (
    KEY_CHARS_MAX,
    SignedRequest,
    check_key,
    content_disposition,
    file_key,
    object_key,
)

A = UUID("0190b6a0-0000-7000-8000-000000000001")
B = UUID("0190b6a0-0000-7000-8000-000000000002")


def test_a_files_key_is_made_of_ids_only() -> None:
    assert file_key(TenantId(A), FileId(B)) == f"tenants/{A}/files/{B}"


def test_an_outputs_key_is_a_key() -> None:
    key = object_key("tenants", A, "ai-jobs", B, "3-9f8e", f"output-{A}.png")
    assert key == f"tenants/{A}/ai-jobs/{B}/3-9f8e/output-{A}.png"


@given(st.text(max_size=40))
def test_whatever_passes_stays_inside(text: str) -> None:
    try:
        key = check_key(text)
    except InvalidInput:
        return
    assert key.isascii()
    assert key == key.lower()
    assert all(segment and not segment.startswith(".") for segment in key.split("/"))


@pytest.mark.parametrize("segment", ["..", ".", "", "a/../b", "a//b", "Upper", "new\n", "\x00", "a\\b", "ä", "~", "-a"])
def test_a_segment_that_is_no_id_is_refused(segment: str) -> None:
    with pytest.raises(InvalidInput):
        object_key("tenants", segment, "files")


def test_a_key_is_bounded() -> None:
    longest = "/".join(["a" * 127] * 4)
    assert len(longest) < KEY_CHARS_MAX
    assert check_key(longest) == longest
    with pytest.raises(InvalidInput):
        check_key(f"{longest}/{'a' * 10}")


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80))
def test_any_name_makes_one_harmless_header(name: str) -> None:
    header = content_disposition(name)
    assert header.isascii()
    assert header.isprintable()
    assert header.startswith('attachment; filename="')
    assert header.count('"') == 2
    assert header.count(";") == 2


def test_a_signed_url_is_not_printed() -> None:
    request = SignedRequest("GET", "https://store/objects/the-secret-part", {}, 60)
    assert "the-secret-part" not in repr(request)
