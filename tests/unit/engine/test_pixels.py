"""The arithmetic of pixels, against values worked out by hand from ComfyUI's (torch's) definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comfyfleet.engine.pixels.arrange import (
    Margins,
    crop_batch,
    fit_batch,
    pad_for_outpaint,
    pick_frames,
    repeat_batch,
    rotate_batch,
)
from comfyfleet.engine.pixels.blend import BLEND_MODES, blend_frames, paste_frame
from comfyfleet.engine.pixels.bounds import TooLarge, refuse_absurd
from comfyfleet.engine.pixels.convert import fit_channels, to_bytes, to_picture
from comfyfleet.engine.pixels.filters import bayer_matrix, blur_frame, quantize_frame, sharpen_frame
from comfyfleet.engine.pixels.masks import combine_masks, feather_masks, grow_once
from comfyfleet.engine.pixels.scale import METHODS, cut_to_ratio, keep_ratio, scale_frame
from tests.unit.engine.pictures import a_picture


def row(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float32)[None, :, None]


def values(frame: np.ndarray) -> list[float]:
    return [pytest.approx(float(value), abs=1e-6) for value in frame[0, :, 0]]


@pytest.mark.parametrize(
    ("method", "wide"),
    [
        ("nearest-exact", [0, 0, 1, 1]),
        ("bilinear", [0, 0.25, 0.75, 1]),
        ("area", [0, 0, 1, 1]),
        ("bicubic", [-0.10546875, 0.2265625, 0.7734375, 1.10546875]),
    ],
)
def test_two_pixels_become_four(method: str, wide: list[float]) -> None:
    assert wide == values(scale_frame(row(0, 1), 4, 1, method))


@pytest.mark.parametrize(
    ("method", "narrow"),
    [("nearest-exact", [2, 5]), ("bilinear", [2, 5]), ("area", [2, 5]), ("bicubic", [2, 5])],
)
def test_six_pixels_become_two(method: str, narrow: list[float]) -> None:
    assert narrow == values(scale_frame(row(1, 2, 3, 4, 5, 6), 2, 1, method))


def test_area_weighs_every_pixel_it_touches() -> None:
    assert values(scale_frame(row(0, 1, 2, 3, 4), 2, 1, "area")) == [1, 3]


def test_area_going_up_repeats_and_mixes_at_the_seams() -> None:
    assert values(scale_frame(row(0, 1), 3, 1, "area")) == [0, 0.5, 1]


@settings(max_examples=60, deadline=None)
@given(
    height=st.integers(1, 19),
    width=st.integers(1, 19),
    new_height=st.integers(1, 23),
    new_width=st.integers(1, 23),
    method=st.sampled_from(METHODS),
    crop=st.sampled_from(["disabled", "center"]),
    channels=st.sampled_from([1, 3, 4]),
)
def test_any_size_becomes_any_size_and_a_flat_colour_stays_flat(
    height: int, width: int, new_height: int, new_width: int, method: str, crop: str, channels: int
) -> None:
    frame = np.full((height, width, channels), 0.2, dtype=np.float32)
    scaled = scale_frame(frame, new_width, new_height, method, crop)
    assert scaled.shape == (new_height, new_width, channels)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled, 0.2, atol=1e-5)


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ValueError, match="spline"):
        scale_frame(row(0, 1), 4, 1, "spline")


def test_the_middle_is_kept_when_the_ratio_changes() -> None:
    assert values(cut_to_ratio(row(0, 1, 2, 3, 4, 5), 2.0)) == [2, 3]
    assert cut_to_ratio(a_picture(9, 3)[0], 1.0).shape == (3, 3, 3)


@pytest.mark.parametrize(
    ("wanted", "becomes"),
    [((0, 0), (30, 20)), ((60, 0), (60, 40)), ((0, 10), (15, 10)), ((7, 9), (7, 9)), ((1, 0), (1, 1))],
)
def test_a_side_of_zero_follows_the_other(wanted: tuple[int, int], becomes: tuple[int, int]) -> None:
    assert keep_ratio(30, 20, *wanted) == becomes


def test_blur_equals_the_square_kernel() -> None:
    frame, radius, sigma = a_picture(9, 11)[0], 2, 0.8
    place = np.linspace(-1, 1, 2 * radius + 1)
    kernel = np.exp(-(place[:, None] ** 2 + place[None, :] ** 2) / (2 * sigma**2))
    kernel /= kernel.sum()
    padded = np.pad(frame, ((2, 2), (2, 2), (0, 0)), mode="reflect")
    expected = sum(
        kernel[y, x] * padded[y : y + 9, x : x + 11] for y in range(2 * radius + 1) for x in range(2 * radius + 1)
    )
    np.testing.assert_allclose(blur_frame(frame, radius, sigma), expected, atol=1e-6)


def test_a_blur_wider_than_the_picture_is_refused_in_words() -> None:
    with pytest.raises(RuntimeError, match="Padding size"):
        blur_frame(a_picture(4, 9)[0], 4, 1.0)


def test_sharpen_keeps_flat_colours_and_steepens_edges() -> None:
    flat = np.full((5, 5, 3), 0.4, dtype=np.float32)
    np.testing.assert_allclose(sharpen_frame(flat, 1, 1.0, 1.0), flat, atol=1e-5)
    edge = row(*[0.4] * 4, *[0.6] * 4).repeat(8, axis=0)
    sharp = sharpen_frame(edge, 1, 1.0, 0.1)
    assert sharp[4, 3, 0] < 0.4
    assert sharp[4, 4, 0] > 0.6
    assert sharp.min() >= 0
    assert sharp.max() <= 1


@pytest.mark.parametrize("dither", ["none", "floyd-steinberg", "bayer-2", "bayer-16"])
def test_quantize_leaves_so_many_colours_and_alpha(dither: str) -> None:
    frame = a_picture(16, 16, channels=4)[0]
    reduced = quantize_frame(frame, 4, dither)
    assert len(np.unique(reduced[..., :3].reshape(-1, 3), axis=0)) <= 4
    np.testing.assert_array_equal(reduced[..., 3], frame[..., 3])


def test_a_bayer_matrix_is_balanced_and_has_no_value_twice() -> None:
    matrix = bayer_matrix(4)
    assert matrix.shape == (4, 4)
    assert matrix.sum() == pytest.approx(0)
    assert len(np.unique(matrix)) == 16


@pytest.mark.parametrize(
    ("mode", "mixed"),
    [
        ("normal", 0.75),
        ("multiply", 0.1875),
        ("screen", 0.8125),
        ("overlay", 0.375),
        ("soft_light", 0.25 + 0.5 * (0.5 - 0.25)),
        ("difference", 0.0),
    ],
)
def test_blend_modes(mode: str, mixed: float) -> None:
    below, above = np.full((1, 1, 3), 0.25, dtype=np.float32), np.full((1, 1, 3), 0.75, dtype=np.float32)
    np.testing.assert_allclose(blend_frames(below, above, 1.0, mode), mixed, atol=1e-6)
    np.testing.assert_allclose(blend_frames(below, above, 0.0, mode), below, atol=1e-6)


@pytest.mark.parametrize("mode", BLEND_MODES)
def test_a_blend_stays_a_picture_and_keeps_alpha(mode: str) -> None:
    below, above = a_picture(5, 5, 4)[0], a_picture(5, 5, 4, seed=1)[0]
    blended = blend_frames(below, above, 0.7, mode)
    assert blended.min() >= 0
    assert blended.max() <= 1
    assert blended.dtype == np.float32
    np.testing.assert_array_equal(blended[..., 3], below[..., 3])


@settings(max_examples=50, deadline=None)
@given(x=st.integers(-9, 12), y=st.integers(-9, 12), height=st.integers(1, 9), width=st.integers(1, 9))
def test_a_pasted_frame_shows_where_it_lies_and_nowhere_else(x: int, y: int, height: int, width: int) -> None:
    onto = np.zeros((6, 8, 3), dtype=np.float32)
    pasted = paste_frame(onto, np.ones((height, width, 3), dtype=np.float32), x, y)
    rows, columns = np.mgrid[0:6, 0:8]
    inside = (rows >= y) & (rows < y + height) & (columns >= x) & (columns < x + width)
    np.testing.assert_array_equal(pasted[..., 0], inside)
    assert onto.max() == 0


def test_a_mask_lets_part_of_it_through() -> None:
    onto, over = np.zeros((2, 2, 3), dtype=np.float32), np.ones((2, 2, 3), dtype=np.float32)
    mask = np.array([[0, 0.25], [0.5, 1]], dtype=np.float32)
    np.testing.assert_allclose(paste_frame(onto, over, 0, 0, mask)[..., 0], mask)


def test_crop_moves_a_corner_that_lies_outside() -> None:
    images = a_picture(6, 8)
    np.testing.assert_array_equal(crop_batch(images, 2, 1, 3, 4), images[:, 1:5, 2:5])
    np.testing.assert_array_equal(crop_batch(images, 99, 99, 3, 4), images[:, 5:, 7:])


def test_outpaint_pads_with_grey_and_masks_the_new_part() -> None:
    images = a_picture(8, 8)
    padded, mask = pad_for_outpaint(images, Margins(left=2, top=0, right=0, bottom=3), feathering_px=2)
    assert padded.shape == (1, 11, 10, 3)
    np.testing.assert_array_equal(padded[:, :8, 2:], images)
    assert padded[0, 0, 0, 0] == 0.5
    assert mask.shape == (1, 11, 10)
    assert mask[0, 9, 5] == 1
    assert mask[0, 0, 0] == 1
    # On the border itself, one pixel in, and beyond the feather; the right side was not padded and stays sharp.
    assert [float(mask[0, 2, x]) for x in (2, 3, 4, 9)] == [1, 0.25, 0, 0]
    assert float(mask[0, 7, 6]) == 0.25


def test_a_feather_too_wide_for_the_picture_is_left_out() -> None:
    _, mask = pad_for_outpaint(a_picture(8, 8), Margins(2, 2, 2, 2), feathering_px=4)
    assert mask[0, 2:-2, 2:-2].max() == 0


def test_a_turn_is_clockwise() -> None:
    images = np.arange(6, dtype=np.float32).reshape(1, 2, 3, 1)
    assert rotate_batch(images, 1)[0, :, :, 0].tolist() == [[3, 0], [4, 1], [5, 2]]
    np.testing.assert_array_equal(rotate_batch(images, 4), images)


@pytest.mark.parametrize(
    ("first", "length", "picked"), [(0, 1, [0]), (3, 9, [3, 4]), (-2, 1, [3]), (99, 2, [4]), (-99, 2, [0, 1])]
)
def test_frames_are_picked_as_far_as_there_are_any(first: int, length: int, picked: list[int]) -> None:
    images = np.arange(5, dtype=np.float32).reshape(5, 1, 1, 1)
    assert pick_frames(images, first, length)[:, 0, 0, 0].tolist() == picked


def test_a_batch_is_repeated_in_turn() -> None:
    images = np.arange(2, dtype=np.float32).reshape(2, 1, 1, 1)
    assert repeat_batch(images, 2)[:, 0, 0, 0].tolist() == [0, 1, 0, 1]
    assert fit_batch(images, 5)[:, 0, 0, 0].tolist() == [0, 1, 0, 1, 0]
    assert fit_batch(images, 1)[:, 0, 0, 0].tolist() == [0]


@pytest.mark.parametrize("shape", [(1, 8192, 8193), (1, 1, 16385), (4096, 512, 512), (4096, 16384, 16384)])
def test_absurd_sizes_are_refused_before_memory_is_asked_for(shape: tuple[int, int, int]) -> None:
    with pytest.raises(TooLarge, match="can't allocate memory"):
        refuse_absurd(*shape)


def test_what_a_large_film_needs_is_not_absurd() -> None:
    refuse_absurd(81, 720, 1280)
    with pytest.raises(ValueError, match="at least one pixel"):
        refuse_absurd(1, 0, 5)


def test_bytes_are_cut_off_not_rounded() -> None:
    frame = np.array([[[-1, 0.999, 2]]], dtype=np.float32)
    assert to_bytes(frame).tolist() == [[[0, 254, 255]]]
    np.testing.assert_allclose(to_picture(frame.astype(np.float64)), [[[0, 0.999, 1]]], atol=1e-6)


def test_alpha_is_dropped_or_added_as_opaque() -> None:
    assert fit_channels(a_picture(channels=4), 3).shape[-1] == 3
    assert fit_channels(a_picture(channels=3), 4)[..., 3].min() == 1


@pytest.mark.parametrize(("tapered", "area"), [(True, 5), (False, 9)])
def test_a_point_grows_to_a_cross_or_a_square_and_shrinks_back(tapered: bool, area: int) -> None:
    mask = np.zeros((5, 5), dtype=np.float32)
    mask[2, 2] = 1
    grown = grow_once(mask, shrink=False, tapered_corners=tapered)
    assert grown.sum() == area
    np.testing.assert_array_equal(grow_once(grown, shrink=True, tapered_corners=tapered), mask)


def test_the_border_of_the_picture_does_not_eat_a_mask() -> None:
    assert grow_once(np.ones((3, 3), dtype=np.float32), shrink=True, tapered_corners=False).min() == 1


def test_feathers_meet_in_the_corners() -> None:
    faded = feather_masks(np.ones((1, 4, 4), dtype=np.float32), 2, 4, 0, 0)
    assert faded[0, 0].tolist() == [0.125, 0.25, 0.25, 0.25]
    assert faded[0, 3].tolist() == [0.5, 1, 1, 1]
    assert feather_masks(np.ones((1, 2, 2), dtype=np.float32), 9, 0, 0, 0)[0, 0].tolist() == [0.5, 1]


@pytest.mark.parametrize(
    ("operation", "made"),
    [
        ("multiply", [0, 0, 0.5]),
        ("add", [0, 1, 1.5]),
        ("subtract", [0, -1, 0.5]),
        ("and", [0, 0, 0]),
        ("or", [0, 1, 1]),
        ("xor", [0, 1, 1]),
    ],
)
def test_masks_combine(operation: str, made: list[float]) -> None:
    below, above = (np.array(part, dtype=np.float32) for part in ([0, 0, 1], [0, 1, 0.5]))
    assert combine_masks(below, above, operation).tolist() == made
