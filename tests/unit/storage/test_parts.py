"""How a file is cut for its upload."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.storage.model import MIB, UploadedPart
from comfyfleet.storage.parts import PARTS_MAX, SINGLE_BYTES_MAX, check_parts, part_size, plan_parts

S3_PART_BYTES_MIN, S3_PART_BYTES_MAX = 5 * MIB, 5 * 1024 * MIB


@given(st.integers(min_value=1, max_value=2 * 1024**4))
def test_parts_add_up_and_fit_s3(size_bytes: int) -> None:
    parts = plan_parts(size_bytes)
    assert sum(parts) == size_bytes
    assert 1 <= len(parts) <= PARTS_MAX
    assert all(0 < part <= S3_PART_BYTES_MAX for part in parts)
    assert all(S3_PART_BYTES_MIN <= part == part_size(size_bytes) for part in parts[:-1])


@pytest.mark.parametrize(
    ("size_bytes", "parts"),
    [
        (1, [1]),
        (SINGLE_BYTES_MAX, [SINGLE_BYTES_MAX]),
        (SINGLE_BYTES_MAX + 1, [64 * MIB, 1]),
        (128 * MIB, [64 * MIB, 64 * MIB]),
    ],
)
def test_a_small_file_is_one_put_and_a_large_one_is_parts(size_bytes: int, parts: list[int]) -> None:
    assert plan_parts(size_bytes) == parts


def parts_of(*numbers: int) -> list[UploadedPart]:
    return [UploadedPart(number, f"etag-{number}") for number in numbers]


def test_parts_are_put_in_order() -> None:
    assert check_parts(parts_of(2, 1, 3), size_bytes=150 * MIB) == parts_of(1, 2, 3)


@pytest.mark.parametrize("numbers", [(), (1, 2), (1, 2, 2), (0, 1, 2), (1, 2, 3, 4), (2, 3, 4)])
def test_any_other_set_of_parts_is_refused(numbers: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInput):
        check_parts(parts_of(*numbers), size_bytes=150 * MIB)


@pytest.mark.parametrize("etag", ["", "ä", "x" * 129])
def test_a_strange_etag_is_refused(etag: str) -> None:
    with pytest.raises(InvalidInput):
        check_parts([UploadedPart(1, etag)], size_bytes=MIB)
