"""Films and sounds through the nodes, with files that PyAV made."""

from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest

from comfyfleet.engine.film.model import FilmFile, FilmFrames, Sound, UnreadableFilm
from comfyfleet.engine.film.read import FilmFacts, film_facts, film_sound
from comfyfleet.engine.folders import Folders
from comfyfleet.engine.node import Context, Interrupted
from tests.unit.engine.conftest import RunNode
from tests.unit.engine.pictures import a_picture, save_film

COLORS = [(250, 0, 0), (0, 250, 0), (0, 0, 250), (250, 250, 250)]


def facts_of(path: Path) -> FilmFacts:
    return film_facts(FilmFile(path))


@pytest.fixture
def clip(folders: Folders) -> Path:
    return save_film(folders.input / "clip.mp4", COLORS * 3, with_sound=True)


def test_a_film_is_taken_apart(run_node: RunNode, context: Context, clip: Path) -> None:
    steps: list[tuple[float, float]] = []
    watched = replace(context, report=lambda value, total, _: steps.append((value, total)))
    (film,) = run_node("LoadVideo", file="clip.mp4").values
    images, sound, fps, depth = run_node("GetVideoComponents", video=film, within=watched).values
    assert images.shape == (12, 48, 64, 3)
    assert images.dtype == np.float32
    np.testing.assert_allclose(images[:4, 24, 32] * 255, COLORS, atol=12)
    assert (fps, depth) == (8.0, 8)
    assert steps == [(done, 12) for done in range(1, 13)]
    assert sound.sample_rate_hz == 44100
    assert sound.waveform.shape[:2] == (1, 2)
    assert sound.waveform.shape[2] / 44100 == pytest.approx(1.5, abs=0.1)
    assert 0.3 < np.abs(sound.waveform).max() < 0.8


def test_a_film_is_put_together_and_saved(run_node: RunNode, folders: Folders) -> None:
    images = np.empty((6, 33, 41, 3), dtype=np.float32)
    images[:] = np.linspace(0, 1, 6)[:, None, None, None]
    (film,) = run_node("CreateVideo", images=images, fps=12.0).values
    made = run_node("SaveVideo", video=film, filename_prefix="k1/video/clip", format="auto", codec="auto")
    assert made.values == (film,)
    assert made.ui == {
        "images": [{"filename": "clip_00001_.mp4", "subfolder": "k1/video", "type": "output"}],
        "animated": [True],
    }
    path = folders.output / "k1/video/clip_00001_.mp4"
    facts = facts_of(path)
    assert (facts.codec, facts.fps, facts.frames) == ("h264", 12, 6)
    assert (facts.width_px, facts.height_px) == (42, 34)  # colour is kept for each second pixel: sides are even
    assert film_sound(FilmFile(path)) is None
    (again,) = run_node("LoadVideo", file="k1/video/clip_00001_.mp4 [output]").values
    read = run_node("GetVideoComponents", video=again).values[0]
    np.testing.assert_allclose(read[:, 16, 20].mean(axis=-1), np.linspace(0, 1, 6), atol=0.03)
    with av.open(str(path)) as container:
        assert '"class_type": "SaveImage"' in container.metadata["prompt"]


def test_sound_goes_with_the_pictures_as_long_as_they_last(run_node: RunNode, folders: Folders, clip: Path) -> None:
    (film,) = run_node("LoadVideo", file="clip.mp4").values
    images, sound, fps, _ = run_node("GetVideoComponents", video=film).values
    (shorter,) = run_node("CreateVideo", images=images[:8], fps=fps, audio=sound).values
    run_node("SaveVideo", video=shorter, filename_prefix="short", format="mp4", codec="h264")
    heard = film_sound(FilmFile(folders.output / "short_00001_.mp4"))
    assert heard is not None
    assert heard.waveform.shape[2] / 44100 == pytest.approx(1.0, abs=0.1)


def test_a_loaded_film_is_copied_not_encoded_anew(run_node: RunNode, folders: Folders, clip: Path) -> None:
    (film,) = run_node("LoadVideo", file="clip.mp4").values
    run_node("SaveVideo", video=film, filename_prefix="again", format="auto", codec="auto")

    def packets(path: Path) -> list[bytes]:
        with av.open(str(path)) as container:
            return [bytes(packet) for packet in container.demux(video=0) if packet.size]

    assert packets(folders.output / "again_00001_.mp4") == packets(clip)
    assert film_sound(FilmFile(folders.output / "again_00001_.mp4")) is not None


def test_another_container_and_quality_by_the_newer_names(run_node: RunNode, folders: Folders, clip: Path) -> None:
    (film,) = run_node("LoadVideo", file="clip.mp4").values
    choices = {"format": "mkv", "format.codec": "h264"}
    again = {"format.codec.encoding": "re-encode", "format.codec.encoding.crf": 40.0}
    run_node("SaveVideo", video=film, filename_prefix="copied", **choices)
    run_node("SaveVideo", video=film, filename_prefix="anew", **choices, **again)
    copied, anew = facts_of(folders.output / "copied_00001_.mkv"), facts_of(folders.output / "anew_00001_.mkv")
    assert copied.codec == anew.codec == "h264"
    assert "matroska" in copied.container
    assert copied.width_px == anew.width_px == 64


def test_webm_with_and_without_alpha(run_node: RunNode, folders: Folders) -> None:
    made = run_node("SaveWEBM", images=a_picture(32, 32, 4, batch=3), filename_prefix="k1/webm", codec="vp9", fps=8.0)
    assert made.ui == {
        "images": [{"filename": "webm_00001_.webm", "subfolder": "k1", "type": "output"}],
        "animated": [True],
    }
    facts = facts_of(folders.output / "k1/webm_00001_.webm")
    assert (facts.codec, facts.width_px, facts.fps) == ("vp9", 32, 8)


def test_what_is_no_film_is_named(run_node: RunNode, folders: Folders) -> None:
    (folders.input / "notes.mp4").write_bytes(b"these are notes" * 100)
    (film,) = run_node("LoadVideo", file="notes.mp4").values
    with pytest.raises(UnreadableFilm, match=r"notes.mp4 cannot be read as a video or sound: Invalid data"):
        run_node("GetVideoComponents", video=film)
    save_film(folders.input / "mute.mp4", COLORS)
    with pytest.raises(UnreadableFilm, match="it has no sound"):
        run_node("LoadAudio", audio="mute.mp4")


def test_a_film_can_be_stopped_while_it_is_read_and_written(run_node: RunNode, context: Context, clip: Path) -> None:
    def stop() -> None:
        raise Interrupted

    (film,) = run_node("LoadVideo", file="clip.mp4").values
    with pytest.raises(Interrupted):
        run_node("GetVideoComponents", video=film, within=replace(context, check=stop))
    frames = FilmFrames(a_picture(32, 32, batch=3), facts_of(clip).fps)
    with pytest.raises(Interrupted):
        run_node("SaveVideo", video=frames, format="auto", within=replace(context, check=stop))


@pytest.mark.parametrize(
    ("name", "extension", "quality"),
    [
        ("SaveAudio", "flac", None),
        ("SaveAudioMP3", "mp3", "V0"),
        ("SaveAudioMP3", "mp3", "128k"),
        ("SaveAudioOpus", "opus", "96k"),
    ],
)
def test_sound_is_saved_and_heard_again(
    run_node: RunNode, folders: Folders, name: str, extension: str, quality: str | None
) -> None:
    time = np.arange(44100 // 4) / 44100
    tone = (0.5 * np.sin(2 * np.pi * 440 * time)).astype(np.float32)[None, None]
    options = {} if quality is None else {"quality": quality}
    made = run_node(name, audio=Sound(tone, 44100), filename_prefix="k1/audio", **options)
    file = f"audio_00001.{extension}"
    assert made.ui == {"audio": [{"filename": file, "subfolder": "k1", "type": "output"}]}
    (heard,) = run_node("LoadAudio", audio=f"k1/{file} [output]").values
    assert heard.waveform.shape[2] / heard.sample_rate_hz == pytest.approx(0.25, abs=0.08)
    assert 0.3 < np.abs(heard.waveform).max() < 0.8


def test_sounds_share_one_counter(run_node: RunNode) -> None:
    (silence,) = run_node("EmptyAudio", duration=0.2).values
    run_node("SaveAudio", audio=silence, filename_prefix="a")
    made = run_node("SaveAudioMP3", audio=silence, filename_prefix="a", quality="128k")
    assert made.ui is not None
    assert made.ui["audio"][0]["filename"] == "a_00002.mp3"
    preview = run_node("PreviewAudio", audio=silence)
    assert preview.ui is not None
    assert preview.ui["audio"][0]["type"] == "temp"


def test_silence_without_end_is_refused(run_node: RunNode) -> None:
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        run_node("EmptyAudio", duration=1e9)
