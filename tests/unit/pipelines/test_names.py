"""Names of files that every file system takes."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.pipelines.names import check_folder, file_name, step_slug


@pytest.mark.parametrize(
    ("name", "slug"), [("Face fix", "face-fix"), ("Überarbeiten (2x)", "uberarbeiten-2x"), ("a" * 200, "a" * 80)]
)
def test_a_steps_folder(name: str, slug: str) -> None:
    assert step_slug(name) == slug


@given(st.text())
def test_a_steps_folder_is_safe_whatever_it_is_called(name: str) -> None:
    assert set(step_slug(name)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


@pytest.mark.parametrize(
    "folder",
    [
        *("../etc", "a/../b", ".", "", "/", "/abs", "C:/x", "C:x", "a\\b", "con", "a/NUL.txt", "a.", " a", "a\x00b"),
        *("a|b", "x" * 201, "ü" * 121, "COM¹", "lpt³.txt", "CONOUT$", "nul .png", "a\u202egnp", "a\x85", "a\ud800"),
    ],
)
def test_a_folder_that_would_lead_astray_is_refused(folder: str) -> None:
    with pytest.raises(InvalidInput):
        check_folder("target_folder", folder)


def test_a_folder_keeps_its_parts() -> None:
    assert check_folder("target_folder", "gym shoot//November/") == "gym shoot/November"


def test_a_file_is_named_as_the_seed_names_it() -> None:
    made_at = datetime(2025, 11, 10, 0, 23, 45, tzinfo=UTC)
    assert file_name("runs/gym-shoot", "face-fix", "123", made_at, "png") == (
        "runs/gym-shoot/face-fix/123_20251110002345.png"
    )
