"""Looking at strangers' media in a process of its own: what it finds, what it refuses, what it cannot do."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from PIL import Image

from comfyfleet.kernel.errors import MediaRefused, MediaToolsMissing, ProbeOverdue
from comfyfleet.media.model import Looked, MediaRules, Scored
from comfyfleet.media.probe import Prober, Read
from comfyfleet.media.scores import score_picture
from tests.made_media import (
    CONTAINERS,
    FORMATS,
    a_film,
    a_live_recording,
    a_phone_clip,
    a_picture,
    a_pixel_bomb,
    a_text_bomb,
)

# Generous: these tests share their machine. Those about time say their own.
PATIENT = MediaRules(probe_s=60)
FIELD = "original_file_id"


def reader(content: bytes) -> Read:
    async def read(offset: int, count: int) -> bytes:
        return content[offset : offset + count]

    return read


async def probe(content: bytes, media_type: str, rules: MediaRules = PATIENT) -> Any:
    return await Prober(rules).probe(reader(content), size_bytes=len(content), media_type=media_type, field=FIELD)


async def refusal(content: bytes, media_type: str, rules: MediaRules = PATIENT) -> str:
    with pytest.raises(MediaRefused) as refused:
        await probe(content, media_type, rules)
    assert refused.value.facts["field"] == FIELD
    return str(refused.value.facts["problem"])


def processes() -> set[int]:
    """Children of ours that are not dead."""
    listed = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    found = {int(each) for path in listed for each in path.read_text().split()}
    return {each for each in found if "(zombie)" not in Path(f"/proc/{each}/status").read_text()}


def facts_of(process: int, name: str) -> str:
    return Path(f"/proc/{process}/{name}").read_bytes().replace(b"\0", b" ").decode()


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    before = processes()
    yield
    assert processes() <= before


def poster_of(content: bytes) -> Image.Image:
    picture = Image.open(BytesIO(content))
    assert picture.format == "WEBP"
    picture.load()
    return picture


@pytest.mark.parametrize("media_type", FORMATS)
async def test_a_picture_is_measured_and_gets_a_poster(media_type: str) -> None:
    looked = await probe(a_picture(media_type, width=1300, height=40), media_type)
    assert (looked.width, looked.height, looked.duration_s) == (1300, 40, None)
    assert poster_of(looked.poster).size == (640, 20)


@pytest.mark.parametrize("media_type", CONTAINERS)
async def test_a_film_is_measured_and_gets_a_poster(media_type: str) -> None:
    looked = await probe(a_film(media_type), media_type)
    assert (looked.width, looked.height) == (64, 48)
    assert looked.duration_s == pytest.approx(1.0, abs=0.11)
    assert poster_of(looked.poster).size == (64, 48)


async def test_a_film_without_a_length_is_counted_through() -> None:
    looked = await probe(a_live_recording(), "video/webm")
    assert looked.duration_s == pytest.approx(1.0, abs=0.11)
    assert poster_of(looked.poster).size == (64, 48)


async def test_a_phone_clip_has_sound_and_is_measured_as_it_is_shown() -> None:
    looked = await probe(a_phone_clip(), "video/mp4")
    assert (looked.width, looked.height) == (48, 64)
    poster = poster_of(looked.poster).convert("RGB")
    (upper, _, _), (_, _, lower) = poster.getpixel((24, 8)), poster.getpixel((24, 56))  # type: ignore[misc]
    assert upper > 200
    assert lower > 200


async def test_sound_alone_is_no_film() -> None:
    assert "no picture" in await refusal(a_phone_clip(pictures=False), "video/mp4")


async def test_a_codec_that_is_not_taken_is_named() -> None:
    assert "ffv1" in await refusal(a_film("video/x-matroska", codec="ffv1"), "video/x-matroska")


async def test_a_turned_picture_is_measured_as_it_is_shown() -> None:
    looked = await probe(a_picture("image/jpeg", width=90, height=30, orientation=6), "image/jpeg")
    assert (looked.width, looked.height) == (30, 90)
    assert poster_of(looked.poster).size == (30, 90)


async def test_what_is_clear_stays_clear() -> None:
    to = BytesIO()
    Image.new("RGBA", (9, 9), (0, 0, 0, 0)).save(to, "PNG")
    assert poster_of((await probe(to.getvalue(), "image/png")).poster).getpixel((4, 4))[3] == 0  # type: ignore[index]


@pytest.mark.parametrize("media_type", [*FORMATS, *CONTAINERS])
async def test_what_was_cut_off_is_refused(media_type: str) -> None:
    whole = a_picture(media_type) if media_type in FORMATS else a_film(media_type)
    assert "cut off" in await refusal(whole[: int(len(whole) * 0.8)], media_type)


async def test_a_pixel_bomb_is_refused_unread() -> None:
    bomb = a_pixel_bomb()
    assert len(bomb) < 100_000
    assert "20000 × 20000" in await refusal(bomb, "image/png")


async def test_a_film_of_too_many_pixels_is_refused() -> None:
    assert "64 × 48" in await refusal(a_film(), "video/mp4", MediaRules(pixels_max=3000, probe_s=60))


async def test_a_comment_that_unfolds_is_not_unfolded() -> None:
    bomb = a_text_bomb()
    assert len(bomb) < 200_000
    assert "damaged" in await refusal(bomb, "image/png")


async def test_memory_is_counted() -> None:
    greedy = MediaRules(pixels_max=10**9, probe_s=60, probe_memory_bytes=300 * 1024**2)
    assert "memory" in await refusal(a_pixel_bomb(), "image/png", greedy)


async def test_a_film_that_is_too_long_is_refused() -> None:
    short = MediaRules(duration_s_max=0.5, probe_s=60)
    assert "lasts 1.0 s" in await refusal(a_film(), "video/mp4", short)
    assert "lasts 1.0 s" in await refusal(a_live_recording(), "video/webm", short)


POLYGLOTS = {
    "a page that ends as a picture": (b"<html><script>alert(1)</script>" + a_picture("image/png"), "image/png"),
    "a picture's name and a script": (b"GIF89a=1;alert(1)//" + bytes(200), "image/gif"),
    "a film's name and a page": (b"\x00\x00\x00\x10ftypisom\x00\x00\x00\x00<html><script>", "video/mp4"),
    "another kind of picture": (a_picture("image/jpeg"), "image/png"),
    "a picture for a film": (a_picture("image/png"), "video/mp4"),
    "a film for a picture": (a_film(), "image/webp"),
    "an SVG": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/png"),
}


@pytest.mark.parametrize("name", POLYGLOTS)
async def test_what_is_not_what_it_says_is_refused(name: str) -> None:
    await refusal(*POLYGLOTS[name])


@pytest.mark.parametrize("seed", range(6))
async def test_scrambled_films_end_in_an_answer(seed: int) -> None:
    """Looked at or refused, never an error of ours."""
    media_type = list(CONTAINERS)[seed % len(CONTAINERS)]
    scrambled = bytearray(a_film(media_type))
    for place in range(40 + seed, len(scrambled), 37 + seed):
        scrambled[place] = (scrambled[place] * 7 + seed) % 256
    outcomes = await asyncio.gather(probe(bytes(scrambled), media_type), return_exceptions=True)
    assert isinstance(outcomes[0], (Looked, MediaRefused)), outcomes


# ── the process ─────────────────────────────────────────────────────────────────────────────


async def probe_and(act: Any, rules: MediaRules = PATIENT) -> Any:
    """Something happens to the process when it has asked for its first block."""
    content, before, asked = a_picture(), processes(), 0

    async def read(offset: int, count: int) -> bytes:
        nonlocal asked
        asked += 1
        if asked > 1:  # the first one is ours, for the first bytes
            [child] = processes() - before
            await act(child)
        return content[offset : offset + count]

    return await Prober(rules).probe(read, size_bytes=len(content), media_type="image/png", field=FIELD)


async def test_the_process_is_limited() -> None:
    seen: dict[str, str] = {}

    async def look_at(child: int) -> None:
        for name in ("limits", "cmdline"):
            seen[name] = facts_of(child, name)

    assert (await probe_and(look_at)).width == 120
    assert re.search(r"Max open files\s+0\s+0", seen["limits"])
    assert re.search(r"Max file size\s+0\s+0", seen["limits"])
    assert re.search(r"Max address space\s+1073741824\s+1073741824", seen["limits"])
    assert re.search(r"Max cpu time\s+60\s+61", seen["limits"])


@pytest.mark.parametrize(
    ("blow", "said"), [(signal.SIGXCPU, "takes too long"), (signal.SIGSEGV, "harm"), (signal.SIGKILL, "harm")]
)
async def test_a_file_that_kills_its_process_is_refused(blow: signal.Signals, said: str) -> None:
    async def strike(child: int) -> None:
        os.kill(child, blow)

    with pytest.raises(MediaRefused, match=said):
        await probe_and(strike)


async def test_a_store_that_does_not_answer_is_not_the_files_fault() -> None:
    async def hang(_child: int) -> None:
        await asyncio.sleep(3600)

    with pytest.raises(ProbeOverdue):
        await probe_and(hang, MediaRules(probe_s=2))


async def test_a_caller_that_goes_away_takes_the_process_with_it() -> None:
    reached = asyncio.Event()

    async def hang(_child: int) -> None:
        reached.set()
        await asyncio.sleep(3600)

    task = asyncio.create_task(probe_and(hang))
    await asyncio.wait_for(reached.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_so_many_look_at_the_same_time_and_no_more() -> None:
    prober, content = Prober(MediaRules(probes_max=2, probe_s=60)), a_picture()
    before, most = processes(), 0

    async def read(offset: int, count: int) -> bytes:
        nonlocal most
        most = max(most, len(processes() - before))
        return content[offset : offset + count]

    looks = [prober.probe(read, size_bytes=len(content), media_type="image/png", field=FIELD) for _ in range(5)]
    assert {each.width for each in await asyncio.gather(*looks)} == {120}
    assert 1 <= most <= 2


async def test_who_sends_what_takes_long_keeps_nobody_else_waiting() -> None:
    prober, content, stuck = Prober(MediaRules(probes_max=2, probe_s=60)), a_picture(), asyncio.Event()
    given: dict[str, Any] = {"size_bytes": len(content), "media_type": "image/png", "field": FIELD}
    slow, asked = uuid4(), 0

    async def hang(offset: int, count: int) -> bytes:
        nonlocal asked
        asked += 1
        if asked > 4:  # the first bytes are read before a turn is taken
            await stuck.wait()
        return content[offset : offset + count] if asked <= 4 else b""

    waiting = [asyncio.ensure_future(prober.probe(hang, owner=slow, **given)) for _ in range(4)]
    async with asyncio.timeout(60):
        while asked < 5:  # noqa: ASYNC110 nobody is told
            await asyncio.sleep(0.01)
        await prober.probe(reader(content), owner=uuid4(), **given)
    assert asked == 5, "the slow one has one turn of two"
    stuck.set()
    assert all(isinstance(each, MediaRefused) for each in await asyncio.gather(*waiting, return_exceptions=True))


async def test_without_the_extra_the_answer_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MediaToolsMissing, match=r"comfyfleet\[media\]"):
        await probe(a_picture(), "image/png")


async def test_a_process_that_cannot_start_is_not_the_files_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    for program, trouble in (("/bin/false", MediaToolsMissing), ("/bin/nothing-there", ProbeOverdue)):
        monkeypatch.setattr(sys, "executable", program)
        with pytest.raises(trouble):
            await probe(a_picture(), "image/png")


# ── scores ──


async def score(content: bytes, media_type: str = "image/png", rules: MediaRules = PATIENT) -> Scored:
    return await Prober(rules).score(reader(content), size_bytes=len(content), media_type=media_type, field=FIELD)


async def test_a_picture_is_scored_in_the_same_cage() -> None:
    content = a_picture()
    assert await score(content) == score_picture(BytesIO(content), "png", PATIENT)


async def test_what_is_no_whole_picture_has_no_scores() -> None:
    whole = a_picture()
    for content, words in ((whole[: len(whole) // 2], "damaged"), (b"GIF89a" + bytes(50), "announced as image/png")):
        with pytest.raises(MediaRefused, match=words):
            await score(content)
    with pytest.raises(MediaRefused, match="pixels are the most"):
        await score(whole, rules=MediaRules(probe_s=60, pixels_max=100))
