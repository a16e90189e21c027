"""Scores of real pictures, painted by the built-in engine: what people see is what the numbers say."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageFilter

from comfyfleet.engine.paint.noise import Canvas
from comfyfleet.engine.paint.painter import compose
from comfyfleet.engine.pixels.convert import to_pillow
from comfyfleet.media.model import MediaRules, Scored
from comfyfleet.media.scores import score_picture
from comfyfleet.pipelines.scoring.choose import NEAR_BITS


def painting(words: str, seed: int, height: int = 256) -> Image.Image:
    return to_pillow(compose(words, seed, Canvas(height, height * 3 // 2)))


def scored(picture: Image.Image, **how: object) -> Scored:
    kept = BytesIO()
    kind = str(how.pop("format", "PNG"))
    picture.save(kept, kind, **how)
    kept.seek(0)
    return score_picture(kept, "jpeg" if kind == "JPEG" else "png", MediaRules())


def distance(one: Scored, other: Scored) -> int:
    return ((one.hash_high ^ other.hash_high) << 32 | (one.hash_low ^ other.hash_low)).bit_count()


@pytest.fixture(scope="module")
def mountains() -> Image.Image:
    return painting("mountains at dawn", 1)


def test_the_more_blurred_the_less_sharp(mountains: Image.Image) -> None:
    found = [scored(mountains.filter(ImageFilter.GaussianBlur(radius))).sharpness for radius in (0, 1, 3, 8)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 2 * found[1] > 4 * found[3]


def test_a_large_picture_is_not_sharper_than_the_same_one_small(mountains: Image.Image) -> None:
    small = ImageEnhance.Sharpness(mountains.resize((512, 342))).enhance(1.0)
    large = small.resize((1536, 1026), Image.Resampling.BICUBIC)
    assert scored(large).sharpness < 1.2 * scored(small).sharpness


@pytest.mark.parametrize("light", [0.05, 0.2, 4.0, 12.0])
def test_too_dark_and_too_bright_are_worse_exposed(mountains: Image.Image, light: float) -> None:
    assert scored(ImageEnhance.Brightness(mountains).enhance(light)).exposure < scored(mountains).exposure


def test_black_white_and_grey() -> None:
    plain = {shade: scored(Image.new("RGB", (64, 64), (shade,) * 3)) for shade in (0, 128, 255)}
    assert (plain[0].exposure, plain[255].exposure) == (0.0, 0.0)
    assert plain[128].exposure > 0.99
    assert {each.sharpness for each in plain.values()} == {0.0}


def test_what_is_clear_is_seen_on_white() -> None:
    assert scored(Image.new("RGBA", (64, 64), (0, 0, 0, 0))).exposure == 0.0


def test_a_picture_of_one_pixel_has_scores() -> None:
    assert scored(Image.new("L", (1, 1), 128)).sharpness == 0.0


def test_near_doubles_are_found(mountains: Image.Image) -> None:
    first = scored(mountains)
    noisy = np.clip(
        np.asarray(mountains, dtype=np.int16) + np.random.default_rng(1).integers(-9, 9, (256, 384, 3)), 0, 255
    )
    doubles = {
        "compressed": scored(mountains, format="JPEG", quality=40),
        "smaller": scored(mountains.resize((200, 133))),
        "lighter": scored(ImageEnhance.Brightness(mountains).enhance(1.15)),
        "cut": scored(mountains.crop((4, 3, 380, 253))),
        "noisy": scored(Image.fromarray(noisy.astype(np.uint8))),
    }
    assert {name: distance(first, each) <= NEAR_BITS for name, each in doubles.items()} == dict.fromkeys(doubles, True)


def test_different_pictures_are_kept_apart() -> None:
    words = ("mountains at dawn", "sea in a storm", "neon city at night", "autumn forest")
    found = [scored(painting(each, seed, 64)) for each in words for seed in (1, 2)]
    apart = [distance(one, other) for at, one in enumerate(found) for other in found[:at]]
    assert min(apart) > NEAR_BITS
