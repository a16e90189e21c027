"""The painter: the same words and seed give the same picture; others another; each step can be seen and stopped."""

import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from comfyfleet.engine.node import Context, Interrupted, Preview
from comfyfleet.engine.paint.noise import Canvas
from comfyfleet.engine.paint.painter import compose
from comfyfleet.engine.paint.palette import MOOD_WORDS, MOODS, first_match, mood_asked_for
from comfyfleet.engine.paint.scenes import FITTING_MOODS, SCENE_WORDS, SCENES
from tests.unit.engine.conftest import RunNode
from tests.unit.engine.pictures import a_picture

SMALL = {"width": 96, "height": 64, "steps": 3}


def test_the_same_words_and_seed_give_the_same_picture(run_node: RunNode) -> None:
    first = run_node("FleetPaint", prompt="a lake at sunset", seed=5, **SMALL).values[0]
    assert first.shape == (1, 64, 96, 3)
    assert first.dtype == np.float32
    assert first.min() >= 0
    assert first.max() <= 1
    np.testing.assert_array_equal(run_node("FleetPaint", prompt=" A  lake at Sunset", seed=5, **SMALL).values[0], first)
    for prompt, seed in (("a lake at sunset", 6), ("a lake at dawn", 5)):
        other = run_node("FleetPaint", prompt=prompt, seed=seed, **SMALL).values[0]
        assert np.abs(other - first).mean() > 0.02


@pytest.mark.parametrize("scene", SCENES)
def test_every_scene_is_a_picture_with_something_in_it(scene: str) -> None:
    picture = compose(scene, 3, Canvas(64, 96))
    assert picture.shape == (64, 96, 3)
    assert picture.min() >= 0
    assert picture.max() <= 1
    assert picture.std() > 0.05
    assert len(np.unique((picture * 31).astype(int).reshape(-1, 3), axis=0)) > 40


@pytest.mark.parametrize("size", [(64, 64), (64, 200), (200, 64), (72, 104)])
def test_a_scene_fits_any_shape(run_node: RunNode, size: tuple[int, int]) -> None:
    made = run_node("FleetPaint", prompt="a city at night", width=size[1], height=size[0], steps=1).values[0]
    assert made.shape == (1, *size, 3)


def test_a_larger_picture_shows_the_same_scene() -> None:
    small, large = (compose("misty mountains", 2, Canvas(side, side * 3 // 2)) for side in (64, 128))
    shrunk = large.reshape(64, 2, 96, 2, 3).mean(axis=(1, 3))
    assert np.abs(small - shrunk).mean() < 0.06


def test_words_choose_scene_and_mood() -> None:
    assert first_match("Two boats on the OCEAN, night", SCENE_WORDS) == "sea"
    assert mood_asked_for("Two boats on a blue OCEAN, night") == "night"
    assert mood_asked_for("blue boats") == "noon"
    assert first_match("qwertz", SCENE_WORDS) is None
    assert set(SCENE_WORDS) == set(SCENES) == set(FITTING_MOODS)
    assert set(MOOD_WORDS) == set(MOODS)
    assert {mood for moods in FITTING_MOODS.values() for mood in moods} <= set(MOODS)


def test_each_step_shows_a_preview_closer_to_the_end(run_node: RunNode, context: Context) -> None:
    seen: list[tuple[float, float, Preview | None]] = []
    within = replace(context, report=lambda *step: seen.append(step))
    made = run_node("FleetPaint", prompt="dunes", width=96, height=64, steps=5, within=within).values[0]
    assert [step[:2] for step in seen] == [(number, 5) for number in range(1, 6)]
    previews = [np.asarray(Image.open(io.BytesIO(step[2].image))) / 255 for step in seen if step[2]]
    away = [float(np.abs(preview - made[0]).mean()) for preview in previews]
    assert away[-1] < 0.03
    assert away[0] > 2 * away[-1]


def test_who_wants_no_previews_gets_none(run_node: RunNode, context: Context) -> None:
    seen: list[Preview | None] = []
    within = replace(context, preview_method="none", report=lambda _value, _steps, preview: seen.append(preview))
    run_node("FleetPaint", prompt="dunes", **SMALL, within=within)
    assert seen == [None] * 3


def test_painting_stops_when_somebody_interrupts(run_node: RunNode, context: Context) -> None:
    def stop(value: float, steps: float, preview: Preview | None) -> None:
        if value == 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        run_node("FleetPaint", prompt="sea", **SMALL, within=replace(context, report=stop))


def test_a_variation_is_related_to_its_picture(run_node: RunNode) -> None:
    image = run_node("FleetPaint", prompt="a lake at sunset", seed=1, **SMALL).values[0]
    vary = {"image": image, "prompt": "winter", "seed": 2, "steps": 3}
    np.testing.assert_array_equal(run_node("FleetVary", strength=0.0, **vary).values[0], image)
    little, much = (run_node("FleetVary", strength=strength, **vary).values[0] for strength in (0.2, 1.0))
    assert 0.005 < np.abs(little - image).mean() < np.abs(much - image).mean()
    assert np.corrcoef(much.mean(axis=-1).ravel(), image.mean(axis=-1).ravel())[0, 1] > 0.5
    assert much[..., 2].mean() > much[..., 0].mean()  # winter is blue


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(height=st.integers(1, 40), width=st.integers(1, 40), strength=st.floats(0.01, 1))
def test_any_picture_can_be_varied(run_node: RunNode, height: int, width: int, strength: float) -> None:
    image = a_picture(height, width)
    made = run_node("FleetVary", image=image, prompt="forest", strength=strength, steps=2).values[0]
    assert made.shape == image.shape
    assert np.isfinite(made).all()


def test_a_picture_too_large_to_vary_is_refused(run_node: RunNode) -> None:
    huge = np.broadcast_to(np.float32(0.5), (1, 8000, 8000, 3))
    with pytest.raises(ValueError, match="too many to paint over"):
        run_node("FleetVary", image=huge, prompt="x")


def test_a_batch_is_varied_frame_by_frame(run_node: RunNode, context: Context) -> None:
    steps: list[tuple[float, float]] = []
    within = replace(context, report=lambda value, total, _: steps.append((value, total)))
    images = np.full((2, 64, 64, 4), 0.5, dtype=np.float32)
    made = run_node("FleetVary", image=images, prompt="neon", steps=2, within=within).values[0]
    assert made.shape == (2, 64, 64, 3)
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]
    np.testing.assert_array_equal(made[0], made[1])
