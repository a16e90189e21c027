"""Each node executed once and more, through the registry."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from comfyfleet.engine.folders import Folders
from comfyfleet.engine.node import Context, Interrupted, Preview
from comfyfleet.engine.pixels.bounds import TooLarge
from tests.unit.engine.conftest import RunNode
from tests.unit.engine.pictures import a_picture


def test_an_empty_image_has_its_colour(run_node: RunNode) -> None:
    (image,) = run_node("EmptyImage", width=5, height=4, batch_size=2, color=0xFF8000).values
    assert image.shape == (2, 4, 5, 3)
    assert image.dtype == np.float32
    np.testing.assert_allclose(image[1, 3, 4], [1, 128 / 255, 0], atol=1e-6)


def test_an_image_nobody_could_hold_is_refused(run_node: RunNode) -> None:
    with pytest.raises(RuntimeError, match="you tried to allocate"):
        run_node("EmptyImage", width=16384, height=16384, batch_size=4096)


@pytest.mark.parametrize(
    ("name", "inputs", "size"),
    [
        ("ImageScale", {"upscale_method": "lanczos", "width": 16, "height": 0, "crop": "disabled"}, (12, 16)),
        ("ImageScale", {"upscale_method": "area", "width": 0, "height": 3, "crop": "disabled"}, (3, 4)),
        ("ImageScale", {"upscale_method": "bicubic", "width": 4, "height": 6, "crop": "center"}, (6, 4)),
        ("ImageScale", {"upscale_method": "area", "width": 0, "height": 0, "crop": "disabled"}, (6, 8)),
        ("ImageScaleBy", {"upscale_method": "nearest-exact", "scale_by": 1.5}, (9, 12)),
        ("ImageScaleBy", {"upscale_method": "area", "scale_by": 0.01}, (1, 1)),
        ("ImageScaleToTotalPixels", {"upscale_method": "area", "megapixels": 0.01, "resolution_steps": 8}, (88, 120)),
        ("ImageScaleToMaxDimension", {"upscale_method": "area", "largest_size": 4}, (3, 4)),
        ("ImageCrop", {"width": 3, "height": 2, "x": 1, "y": 1}, (2, 3)),
        ("ImageFlip", {"flip_method": "x-axis: vertically"}, (6, 8)),
        ("ImageRotate", {"rotation": "90 degrees"}, (8, 6)),
        ("ImageInvert", {}, (6, 8)),
        ("ImageBlur", {}, (6, 8)),
        ("ImageSharpen", {}, (6, 8)),
        ("ImageQuantize", {"colors": 3, "dither": "bayer-4"}, (6, 8)),
        ("ImageAddNoise", {"seed": 3}, (6, 8)),
    ],
)
def test_pictures_in_pictures_out(run_node: RunNode, name: str, inputs: dict[str, Any], size: tuple[int, int]) -> None:
    images = a_picture(batch=2)
    before = images.copy()
    (made,) = run_node(name, image=images, **inputs).values
    assert made.shape == (2, *size, 3)
    assert made.dtype == np.float32
    np.testing.assert_array_equal(images, before)  # the cache holds what a node was given


def test_flips_and_inverts(run_node: RunNode) -> None:
    image = a_picture()
    np.testing.assert_array_equal(
        run_node("ImageFlip", image=image, flip_method="x-axis: vertically").values[0], image[:, ::-1]
    )
    np.testing.assert_array_equal(
        run_node("ImageFlip", image=image, flip_method="y-axis: horizontally").values[0], image[:, :, ::-1]
    )
    np.testing.assert_allclose(run_node("ImageInvert", image=image).values[0], 1 - image)


def test_a_scale_that_would_not_fit_is_refused(run_node: RunNode) -> None:
    image = np.zeros((9, 3000, 3000, 3), dtype=np.float32)
    with pytest.raises(TooLarge):
        run_node("ImageScaleBy", image=image, upscale_method="bilinear", scale_by=4.0)


def test_outpaint_gives_a_picture_and_its_mask(run_node: RunNode) -> None:
    image, mask = run_node("ImagePadForOutpaint", image=a_picture(), left=8, feathering=1).values
    assert image.shape == (1, 6, 16, 3)
    assert mask.shape == (1, 6, 16)


def test_a_picture_of_another_size_is_fitted_into_a_blend(run_node: RunNode) -> None:
    below, above = a_picture(6, 8, batch=2), a_picture(3, 9, channels=4)
    (made,) = run_node("ImageBlend", image1=below, image2=above, blend_mode="screen").values
    assert made.shape == below.shape
    (same,) = run_node("ImageBlend", image1=below, image2=above, blend_factor=0.0, blend_mode="normal").values
    np.testing.assert_allclose(same, below, atol=1e-6)


def test_batches_are_joined_picked_repeated_and_cut(run_node: RunNode) -> None:
    (joined,) = run_node("ImageBatch", image1=a_picture(channels=4), image2=a_picture(3, 3, batch=2)).values
    assert joined.shape == (3, 6, 8, 4)
    assert run_node("ImageFromBatch", image=joined, batch_index=-1, length=1).values[0].shape[0] == 1
    assert run_node("RepeatImageBatch", image=joined, amount=3).values[0].shape[0] == 9
    (cut,) = run_node("RebatchImages", images=[joined, joined], batch_size=[4]).values
    assert [len(part) for part in cut] == [4, 2]


def test_masks_from_nothing_and_back(run_node: RunNode) -> None:
    (mask,) = run_node("SolidMask", value=0.25, width=8, height=6).values
    assert run_node("InvertMask", mask=mask).values[0].max() == 0.75
    (image,) = run_node("MaskToImage", mask=mask).values
    assert image.shape == (1, 6, 8, 3)
    np.testing.assert_array_equal(run_node("ImageToMask", image=image, channel="green").values[0], mask)
    with pytest.raises(IndexError, match="no alpha channel"):
        run_node("ImageToMask", image=image, channel="alpha")
    assert run_node("ThresholdMask", mask=mask, value=0.2).values[0].min() == 1
    assert run_node("CropMask", mask=mask, x=6, y=4, width=9, height=9).values[0].shape == (1, 2, 2)
    with pytest.raises(ValueError, match="outside the mask"):
        run_node("CropMask", mask=mask, x=8, y=0, width=1, height=1)


def test_one_colour_becomes_a_mask(run_node: RunNode) -> None:
    (image,) = run_node("EmptyImage", width=2, height=1, color=0x102030).values
    image[0, 0, 1] = 0
    assert run_node("ImageColorToMask", image=image, color=0x102030).values[0].tolist() == [[[1, 0]]]


def test_masks_grow_fade_and_combine(run_node: RunNode) -> None:
    mask = np.zeros((1, 9, 9), dtype=np.float32)
    mask[0, 4, 4] = 1
    assert run_node("GrowMask", mask=mask, expand=2, tapered_corners=False).values[0].sum() == 25
    assert run_node("GrowMask", mask=mask, expand=16384).values[0].min() == 1
    assert run_node("GrowMask", mask=mask, expand=-1).values[0].max() == 0
    assert run_node("FeatherMask", mask=np.ones_like(mask), left=3).values[0][0, 0, 0] == pytest.approx(1 / 3)
    (combined,) = run_node(
        "MaskComposite", destination=mask, source=np.ones_like(mask), x=7, y=8, operation="add"
    ).values
    assert combined.sum() == 3


def test_a_source_is_pasted_through_a_mask_of_any_size(run_node: RunNode) -> None:
    onto, over = np.zeros((2, 6, 8, 3), dtype=np.float32), np.ones((1, 2, 2, 4), dtype=np.float32)
    mask = np.full((1, 64, 64), 0.5, dtype=np.float32)
    (pasted,) = run_node("ImageCompositeMasked", destination=onto, source=over, x=7, y=0, mask=mask).values
    assert pasted.sum() == pytest.approx(2 * 2 * 3 * 0.5)
    (covered,) = run_node("ImageCompositeMasked", destination=onto, source=over, resize_source=True).values
    assert covered.min() == 1


def test_the_size_is_told_and_said(run_node: RunNode, context: Context) -> None:
    said: list[str] = []
    made = run_node("GetImageSize", image=a_picture(48, 64), within=replace(context, say=said.append))
    assert made.values == (64, 48, 1)
    assert said == ["width: 64, height: 48\n batch size: 1"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("PrimitiveInt", 3), ("PrimitiveFloat", 0.5), ("PrimitiveBoolean", True)),
        *(("PrimitiveString", "wörd"), ("PrimitiveStringMultiline", "a\nb")),
    ],
)
def test_primitives_give_back_what_they_were_given(run_node: RunNode, name: str, value: object) -> None:
    assert run_node(name, value=value).values == (value,)


@pytest.mark.parametrize(
    ("value", "shown"), [("hello wörld", "hello wörld"), (64, "64"), (None, "None"), ({"a": 1}, '{\n    "a": 1\n}')]
)
def test_anything_is_shown_as_text(run_node: RunNode, value: object, shown: str) -> None:
    made = run_node("PreviewAny", source=value)
    assert made.ui == {"text": [shown]}
    assert made.values == (shown,)


@pytest.mark.parametrize(
    ("name", "inputs", "made"),
    [
        ("StringConcatenate", {"string_a": "a", "string_b": "b", "delimiter": ", "}, "a, b"),
        ("StringReplace", {"string": "a cat", "find": "cat", "replace": "dog"}, "a dog"),
        ("StringTrim", {"string": " x ", "mode": "Left"}, "x "),
        ("StringLength", {"string": "four"}, 4),
        ("StringContains", {"string": "A Cat", "substring": "cat", "case_sensitive": False}, True),
        ("CaseConverter", {"string": "a cat", "mode": "Title Case"}, "A Cat"),
    ],
)
def test_text_in_text_out(run_node: RunNode, name: str, inputs: dict[str, Any], made: object) -> None:
    assert run_node(name, **inputs).values == (made,)


def test_a_text_that_would_fill_the_memory_is_refused(run_node: RunNode) -> None:
    with pytest.raises(ValueError, match="longer than"):
        run_node("StringReplace", string="a" * 100_000, find="", replace="b" * 1000)


def test_a_long_batch_reports_each_frame_and_a_short_one_none(run_node: RunNode, context: Context) -> None:
    steps: list[tuple[float, float]] = []
    watched = replace(context, report=lambda value, total, _preview: steps.append((value, total)))
    run_node("ImageBlur", image=a_picture(batch=8), within=watched)
    assert steps == []
    run_node("ImageBlur", image=a_picture(batch=12), within=watched)
    assert steps == [(done, 12) for done in range(1, 13)]


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("ImageSharpen", {"image": a_picture(batch=4)}),
        ("SaveImage", {"images": a_picture(batch=4)}),
        ("SaveAnimatedPNG", {"images": a_picture(batch=4)}),
        ("SaveWEBM", {"images": a_picture(batch=4), "codec": "vp9"}),
        ("GrowMask", {"mask": np.ones((1, 5, 5), dtype=np.float32), "expand": 9}),
    ],
)
def test_an_interrupt_takes_effect_between_frames(
    run_node: RunNode, context: Context, folders: Folders, name: str, inputs: dict[str, Any]
) -> None:
    looks = iter(range(3))

    def check() -> None:
        if next(looks) == 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        run_node(name, **inputs, within=replace(context, check=check))
    assert not list(folders.output.glob("*.webm")), "a half film is taken away"


def test_pictures_for_the_socket_go_out_as_png(run_node: RunNode, context: Context) -> None:
    sent: list[tuple[float, float, Preview | None]] = []
    within = replace(context, report=lambda *step: sent.append(step))
    made = run_node("SaveImageWebsocket", images=a_picture(batch=2), within=within)
    assert [(value, steps) for value, steps, _ in sent] == [(0, 2), (1, 2)]
    assert [preview and (preview.format, preview.image[:4]) for *_, preview in sent] == [("PNG", b"\x89PNG")] * 2
    assert made.ui is None


def test_latents_are_empty_and_saved_as_safetensors(run_node: RunNode, folders: Folders) -> None:
    (latent,) = run_node("EmptyLatentImage", width=64, height=32, batch_size=2).values
    assert latent["samples"].shape == (2, 4, 4, 8)
    made = run_node("SaveLatent", samples=latent, filename_prefix="k1/latent")
    assert made.ui == {"latents": [{"filename": "latent_00001_.latent", "subfolder": "k1", "type": "output"}]}
    written = (folders.output / "k1/latent_00001_.latent").read_bytes()
    assert written.endswith(b"\0" * 2 * 4 * 4 * 8 * 4)
    assert b"latent_tensor" in written
