"""Nodes and real files: pictures read, pictures written."""

import json
import struct
import zlib
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, UnidentifiedImageError

from comfyfleet.engine.folders import Folders
from comfyfleet.engine.nodes.saving import fill_dates
from comfyfleet.engine.registry import Registry
from tests.unit.engine.conftest import RunNode
from tests.unit.engine.pictures import a_picture, save_png


def test_alpha_becomes_the_mask(run_node: RunNode, folders: Folders) -> None:
    pixels = np.zeros((4, 6, 4), dtype=np.uint8)
    pixels[..., 0], pixels[0, 0, 3], pixels[0, 1, 3] = 255, 255, 51
    save_png(folders.input / "half.png", pixels)
    image, mask = run_node("LoadImage", image="half.png").values
    assert image.shape == (1, 4, 6, 3)
    np.testing.assert_allclose(image[0, 3, 5], [1, 0, 0])
    assert mask.shape == (1, 4, 6)
    np.testing.assert_allclose(mask[0, 0, :3], [0, 0.8, 1], atol=1e-6)


def test_a_picture_without_alpha_has_a_small_empty_mask(run_node: RunNode, folders: Folders) -> None:
    save_png(folders.input / "rgb.png", np.full((4, 6, 3), 128))
    _, mask = run_node("LoadImage", image="rgb.png").values
    assert mask.shape == (1, 64, 64)
    assert mask.max() == 0


def test_a_photograph_is_turned_upright(run_node: RunNode, folders: Folders) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held upright: to be turned a quarter clockwise
    pixels = np.zeros((16, 32, 3), dtype=np.uint8)
    pixels[:, :16] = 255
    Image.fromarray(pixels).save(folders.input / "photo.jpg", exif=exif, quality=95)
    (image, _) = run_node("LoadImage", image="photo.jpg").values
    assert image.shape == (1, 32, 16, 3)
    assert image[0, 4].mean() > 0.9
    assert image[0, 28].mean() < 0.1


def test_an_animation_becomes_a_batch(run_node: RunNode, folders: Folders) -> None:
    frames = [Image.new("RGB", (8, 6), (40 * number, 0, 0)) for number in range(4)]
    frames[0].save(folders.input / "moving.webp", save_all=True, append_images=frames[1:], lossless=True, duration=100)
    (image, mask) = run_node("LoadImage", image="moving.webp").values
    assert image.shape == (4, 6, 8, 3)
    assert len(mask) == 4
    np.testing.assert_allclose(image[:, 0, 0, 0] * 255, [0, 40, 80, 120], atol=1)


def test_sixteen_bits_and_palettes_are_read(run_node: RunNode, folders: Folders) -> None:
    Image.fromarray(np.full((4, 4), 0x8000, dtype=np.uint16)).save(folders.input / "deep.png")
    assert run_node("LoadImage", image="deep.png").values[0].mean() == pytest.approx(0.5, abs=0.01)
    palette = Image.new("P", (4, 4), 1)
    palette.putpalette([0, 0, 0, 255, 0, 0])
    palette.save(folders.input / "palette.png", transparency=1)
    image, mask = run_node("LoadImage", image="palette.png").values
    np.testing.assert_allclose(image[0, 0, 0], [1, 0, 0])
    assert mask.shape == (1, 4, 4)
    assert mask.min() == 1


@pytest.mark.parametrize(("channel", "value"), [("red", 1.0), ("green", 0.2), ("blue", 0.0), ("alpha", 0.6)])
def test_one_channel_as_a_mask(run_node: RunNode, folders: Folders, channel: str, value: float) -> None:
    save_png(folders.input / "four.png", np.full((3, 5, 4), (255, 51, 0, 102)))
    (mask,) = run_node("LoadImageMask", image="four.png", channel=channel).values
    assert mask.shape == (1, 3, 5)
    np.testing.assert_allclose(mask, value, atol=1e-6)


def test_what_was_made_is_loaded_again(run_node: RunNode) -> None:
    run_node("SaveImage", images=a_picture(), filename_prefix="pets/cat")
    (image, _) = run_node("LoadImageOutput", image="pets/cat_00001_.png [output]").values
    np.testing.assert_allclose(image, a_picture(), atol=1 / 255)


def test_a_corrupt_file_is_pillows_error(run_node: RunNode, folders: Folders) -> None:
    (folders.input / "corrupt.png").write_bytes(b"this is no picture")
    with pytest.raises(UnidentifiedImageError, match=r"cannot identify image file '.*/input/corrupt.png'"):
        run_node("LoadImage", image="corrupt.png")


def test_half_a_file_is_an_error_too(run_node: RunNode, folders: Folders) -> None:
    whole = save_png(folders.input / "whole.png", np.random.default_rng(0).integers(0, 255, (64, 64, 3))).read_bytes()
    (folders.input / "half.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(OSError, match="truncated"):
        run_node("LoadImage", image="half.png")


def test_a_bomb_is_not_unpacked(run_node: RunNode, folders: Folders) -> None:
    whole = save_png(folders.input / "bomb.png", np.zeros((2, 2, 3))).read_bytes()
    header = b"IHDR" + struct.pack(">II", 60000, 60000) + whole[24:29]
    whole = whole[:12] + header + struct.pack(">I", zlib.crc32(header)) + whole[33:]
    (folders.input / "bomb.png").write_bytes(whole)
    with pytest.raises(ValueError, match=r"bomb.png unpacks to more pixels"):
        run_node("LoadImage", image="bomb.png")


def test_missing_and_foreign_files_are_named_before_anything_runs(
    registry: Registry, folders: Folders, tmp_path: Path
) -> None:
    node = registry["LoadImage"]
    save_png(tmp_path / "outside.png", np.zeros((2, 2, 3)))
    save_png(folders.input / "there.png", np.zeros((2, 2, 3)))
    assert node.problem({"image": "there.png"}, folders) is None
    assert node.problem({"image": "not_uploaded.png"}, folders) == "Invalid image file: not_uploaded.png"
    assert node.problem({"image": "../outside.png"}, folders) == "Invalid image file: ../outside.png"
    assert registry["LoadVideo"].problem({"file": "no.mp4"}, folders) == "Invalid video file: no.mp4"


def test_new_bytes_under_an_old_name_are_another_input(registry: Registry, folders: Folders) -> None:
    path, node = folders.input / "cat.png", registry["LoadImage"]
    save_png(path, np.zeros((2, 2, 3)))
    first = node.fingerprint({"image": "cat.png"}, folders)
    assert node.fingerprint({"image": "cat.png"}, folders) == first
    save_png(path, np.ones((2, 2, 3)))
    assert node.fingerprint({"image": "cat.png"}, folders) != first


def test_files_are_numbered_on_from_what_is_there(run_node: RunNode, folders: Folders) -> None:
    assert run_node("SaveImage", images=a_picture(batch=2), filename_prefix="k1/x").ui == {
        "images": [
            {"filename": "x_00001_.png", "subfolder": "k1", "type": "output"},
            {"filename": "x_00002_.png", "subfolder": "k1", "type": "output"},
        ]
    }
    (folders.output / "k1/x_00009_.png").touch()
    (folders.output / "k1/xy_00099_.png").touch()
    made = run_node("SaveImage", images=a_picture(), filename_prefix="k1/x")
    assert made.ui is not None
    assert made.ui["images"][0]["filename"] == "x_00010_.png"


def test_a_saved_picture_holds_the_pixels_and_the_graph(run_node: RunNode, folders: Folders) -> None:
    images = a_picture(channels=4)
    (passed_on,) = run_node("SaveImage", images=images, filename_prefix="with").values
    assert passed_on is images
    with Image.open(folders.output / "with_00001_.png") as picture:
        assert picture.mode == "RGBA"
        np.testing.assert_array_equal(np.asarray(picture), (images[0] * 255).astype(np.uint8))
        assert json.loads(picture.text["prompt"]) == {"7": {"class_type": "SaveImage"}}
        assert json.loads(picture.text["workflow"]) == {"id": "w"}


def test_placeholders_in_the_prefix_are_filled_in(run_node: RunNode, folders: Folders) -> None:
    prefix = "%year%/%width%x%height%_%batch_num%"
    run_node("SaveImage", images=a_picture(batch=2), filename_prefix=prefix)
    year = str(datetime.now().astimezone().year)
    assert sorted(path.name for path in (folders.output / year).iterdir()) == ["8x6_0_00001_.png", "8x6_1_00002_.png"]
    run_node("SaveImage", images=a_picture(), filename_prefix=prefix)
    assert (folders.output / year / "8x6_0_00002_.png").is_file()


def test_dates_in_the_prefix() -> None:
    moment = datetime(2026, 3, 9, 17, 5, 8, tzinfo=UTC)
    assert fill_dates("a/%date:yyyy-MM-dd%/%date:hhmmss%_%date:d.M.yy%", moment) == "a/2026-03-09/170508_9.3.26"
    assert fill_dates("plain %width%", moment) == "plain %width%"


def test_a_prefix_that_leads_out_is_refused(run_node: RunNode) -> None:
    with pytest.raises(Exception, match="outside the output folder is not allowed"):
        run_node("SaveImage", images=a_picture(), filename_prefix="../../x")


def test_previews_go_to_the_temp_folder(run_node: RunNode, folders: Folders) -> None:
    made = run_node("PreviewImage", images=a_picture())
    assert made.ui is not None
    (file,) = made.ui["images"]
    assert file["type"] == "temp"
    assert file["filename"].startswith("ComfyUI_temp_")
    assert (folders.temp / file["filename"]).is_file()
    again = run_node("PreviewImage", images=a_picture())
    assert again.ui is not None
    assert again.ui["images"][0]["filename"] == file["filename"].replace("00001", "00002")
    masked = run_node("MaskPreview", mask=np.full((1, 4, 4), 0.5, dtype=np.float32))
    assert masked.ui is not None
    assert masked.ui["animated"] == [False]
    with Image.open(folders.temp / masked.ui["images"][0]["filename"]) as picture:
        assert picture.getpixel((0, 0)) == 127


@pytest.mark.parametrize(
    ("name", "extension", "inputs"),
    [("SaveAnimatedWEBP", "webp", {"method": "fastest"}), ("SaveAnimatedPNG", "png", {})],
)
def test_animations_are_saved_whole(
    run_node: RunNode, folders: Folders, name: str, extension: str, inputs: dict[str, str]
) -> None:
    images = a_picture(batch=4)
    made = run_node(name, images=images, filename_prefix="k1/anim", fps=10.0, **inputs)
    file = f"anim_00001_.{extension}"
    assert made.ui == {"images": [{"filename": file, "subfolder": "k1", "type": "output"}], "animated": [True]}
    with Image.open(folders.output / "k1" / file) as picture:
        assert picture.n_frames == 4
        picture.seek(3)
        picture.load()
        assert picture.info["duration"] == 100
        np.testing.assert_array_equal(np.asarray(picture.convert("RGB")), (images[3] * 255).astype(np.uint8))
    written = (folders.output / "k1" / file).read_bytes()
    assert b'"class_type": "SaveImage"' in written
    assert b"workflow" in written
