"""What flows decide, without a socket: the test performs the steps, and time passes as it says."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.client import (
    ApiUnreachable,
    DownloadMismatch,
    Event,
    InvalidInput,
    LimitReached,
    NotFound,
    Output,
    Previewed,
    Progressed,
    StatusChanged,
    StillRunning,
    Unauthenticated,
)
from comfyfleet.client.ask import Patience, ask
from comfyfleet.client.download import plain_name, save_output
from comfyfleet.client.events import read_event
from comfyfleet.client.follow import AWAY_S_MAX, POLL_EVERY_S, Follower
from comfyfleet.client.source import Piece, Source, as_video_id, read_source, sniff
from comfyfleet.client.sse import EVENT_BYTES_MAX, Parser, Said, TooLong
from comfyfleet.client.steps import Answer, Broken, Call, Flow, Open, Pause, Play, Read, Send, Step, Tell, Work
from comfyfleet.client.upload import upload_video

JOB = "01a1e2c4-cbe4-763a-9dfc-992b8db0905b"
STREAM = {"content-type": "text/event-stream; charset=utf-8"}


def says(status: int, body: Any = None, **headers: str) -> Answer:
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, _body(body), "host")


def _body(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def refusal(status: int, code: str) -> Answer:
    return says(status, {"error": {"code": code, "message": "No.", "details": {}}})


def job(status: str) -> Answer:
    return says(200, {"id": JOB, "status": status, "created_at": "2026-11-16T00:00:00Z"})


def broken(*, timed_out: bool = False) -> Broken:
    return Broken("host", "gone", timed_out)


@dataclass
class Performance:
    """Answers steps; a pause, and a silence, take their time."""

    answers: Callable[[Step], Any]
    now: float = 0.0
    asked: list[Call] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    told: list[Event] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def play(self, flow: Flow[Any]) -> Any:
        play = Play(flow)
        while (step := play.step) is not None:
            try:
                outcome = self._perform(step)
            except Exception as error:
                play.fail(error)
            else:
                play.take(outcome)
        return play.result

    def _perform(self, step: Step) -> Any:
        match step:
            case Pause(seconds):
                self.now += seconds
                self.pauses.append(seconds)
            case Tell(event):
                self.told.append(event)
            case Work(work):
                return work()
            case Send(call) | Open(call):
                self.asked.append(call)
                return self.answers(step)
            case _:
                return self.answers(step)
        return None


def in_order(*outcomes: Any) -> Callable[[Step], Any]:
    left = iter(outcomes)
    return lambda step: next(left) if isinstance(step, (Send, Open, Read)) else None


def test_what_may_help_is_asked_again_with_pauses_and_not_for_ever() -> None:
    call = Call("POST", "/api/ai-jobs")
    helped = Performance(in_order(says(503, {}, retry_after="3"), broken(), says(502, b"<html>"), says(200, {})))
    assert helped.play(ask(call, Patience())).status == 200
    assert helped.asked == [call] * 4
    assert helped.pauses[0] == 3.0
    tired = Performance(in_order(*[broken()] * 5))
    with pytest.raises(ApiUnreachable, match="COMFYFLEET_URL"):
        tired.play(ask(call, Patience()))
    assert len(tired.pauses) == 4


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (refusal(422, "invalid_input"), InvalidInput),
        (refusal(401, "unauthenticated"), Unauthenticated),
        (Answer(429, {"retry-after": "3600"}, refusal(429, "rate_limited").body, "host"), LimitReached),
    ],
)
def test_what_cannot_help_is_asked_once(outcome: Answer, error: type[Exception]) -> None:
    once = Performance(in_order(outcome))
    with pytest.raises(error):
        once.play(ask(Call("GET", "/"), Patience()))
    assert (len(once.asked), once.pauses) == (1, [])


# ── following a job ─────────────────────────────────────────────────────────────────────────


def test_where_a_stream_stays_silent_it_goes_over_to_asking() -> None:
    def answers(step: Step) -> Any:
        match step:
            case Open():
                return Answer(200, STREAM, b"", "host")
            case Read():
                return broken(timed_out=True)
            case Send():
                return job("queued" if len(polls()) < 4 else "processing" if len(polls()) < 6 else "completed")
            case _:
                return None

    def polls() -> list[Call]:
        return [call for call in performance.asked if not call.url.endswith("/events")]

    performance = Performance(answers)
    assert performance.play(Follower(JOB, clock=performance.clock).story()).status == "completed"
    assert len(performance.asked) - len(polls()) == 2
    assert performance.pauses[-3:] == [POLL_EVERY_S] * 3
    assert performance.told == [StatusChanged(JOB, status) for status in ("queued", "processing", "completed")]


@pytest.mark.parametrize(
    "page", [says(404, b"<html>no streams here</html>"), says(200, b"<html>", content_type="text/html")]
)
def test_somebody_in_between_who_knows_no_streams_is_gone_around(page: Answer) -> None:
    performance = Performance(in_order(page, job("processing"), job("completed")))
    assert performance.play(Follower(JOB, clock=performance.clock).story()).status == "completed"


def test_a_job_that_is_not_there_is_said_at_once() -> None:
    performance = Performance(in_order(refusal(404, "not_found")))
    with pytest.raises(NotFound):
        performance.play(Follower(JOB).story())


def test_a_server_that_is_away_is_waited_for_and_then_no_more() -> None:
    back = Performance(in_order(*[broken()] * 20, Answer(200, STREAM, b"", "host"), None, job("completed")))
    assert back.play(Follower(JOB, clock=back.clock).story()).status == "completed"
    gone = Performance(lambda step: broken() if isinstance(step, (Send, Open)) else None)
    with pytest.raises(ApiUnreachable):
        gone.play(Follower(JOB, clock=gone.clock).story())
    assert AWAY_S_MAX < gone.now < AWAY_S_MAX + 30


def test_a_wait_ends_with_the_callers_time() -> None:
    performance = Performance(lambda step: job("queued") if isinstance(step, Send) else broken())
    with pytest.raises(StillRunning) as still:
        performance.play(Follower(JOB, wait_s=30, clock=performance.clock).story())
    assert (still.value.status, 29 < performance.now < 31) == ("queued", True)
    stream = performance.asked[0]
    assert stream.idle_s == 30


def test_an_event_that_makes_no_sense_stops_nothing() -> None:
    words = [b"event: progress\ndata: no json\n\n", b"event: moon\ndata: {}\n\n", b"event: queue\ndata: {}\n\n"]
    end = b'id: 2\nevent: status\ndata: {"status": "completed"}\n\n'
    performance = Performance(in_order(Answer(200, STREAM, b"", "host"), *words, end, job("completed")))
    performance.play(Follower(JOB).story())
    assert performance.told == [StatusChanged(JOB, "completed")]


def test_events_are_read_in_the_words_of_different_workers() -> None:
    for facts, fraction in (
        ({"fraction": 0.5}, 0.5),
        ({"value": 7, "max": 20}, 0.35),
        ({"step": 3, "steps": 2}, 1.0),
        ({"value": 1, "max": 0}, None),
        ({}, None),
    ):
        event = read_event(JOB, "progress", json.dumps({"data": facts}))
        assert isinstance(event, Progressed)
        assert event.fraction == fraction
    named = read_event(JOB, "node", '{"data": {"node": "4", "class_type": "KSampler"}}')
    assert named == Progressed(JOB, None, "KSampler", {"node": "4", "class_type": "KSampler"})
    assert read_event(JOB, "preview", '{"data": {"image": "aGk=", "mime_type": "image/webp"}}') == Previewed(
        JOB, b"hi", "image/webp"
    )
    assert read_event(JOB, "preview", '{"data": {"image": "data:image/png;base64,aGk="}}') == Previewed(
        JOB, b"hi", "image/png"
    )
    assert read_event(JOB, "preview", '{"data": {"image": "?"}}') is None


TEXT = (
    'id: 1\nevent: status\ndata: {"é": 1}\n\n: keep-alive\n\r\ndata: a\r\ndata: b\r\n\r\nevent: x\n\ndata: cut'.encode()
)


@given(st.lists(st.integers(0, len(TEXT)), max_size=8))
def test_events_are_the_same_however_they_are_cut(places: list[int]) -> None:
    parser = Parser()
    cuts = [0, *sorted(places), len(TEXT)]
    said = [each for begin, end in pairwise(cuts) for each in parser.feed(TEXT[begin:end])]
    assert said == [Said("status", '{"é": 1}', "1"), Said("message", "a\nb", None)]


def test_an_event_without_an_end_is_given_up() -> None:
    parser, half = Parser(), b"x" * (EVENT_BYTES_MAX // 2)
    assert list(parser.feed(half)) == list(parser.feed(half)) == []
    with pytest.raises(TooLong):
        list(parser.feed(b"x"))


# ── bytes ───────────────────────────────────────────────────────────────────────────────────

OUTPUT = Output("file-1", "film.mp4", "video/mp4", 10)
STORED = {"id": "file-1", "name": "film.mp4", "mime_type": "video/mp4", "size": 10, "status": "stored"}
DOWNLOAD = {"method": "GET", "url": "https://store.test/x?sig=1", "headers": {}}
SIGNED = says(200, {"file": STORED, "download": DOWNLOAD})


def saved(tmp_path: Path, *outcomes: Any, output: Output = OUTPUT) -> tuple[bytes, Performance]:
    performance = Performance(in_order(*outcomes))
    path = performance.play(save_output(output, tmp_path / "film.mp4", Patience(), lambda _: None)).path
    return path.read_bytes(), performance


def test_a_download_goes_on_where_it_broke(tmp_path: Path) -> None:
    found, performance = saved(
        tmp_path, SIGNED, says(200), b"0123", broken(), SIGNED, says(403), SIGNED, says(206), b"456789", None
    )
    assert found == b"0123456789"
    fetched = [call for call in performance.asked if call.is_signed]
    assert [call.headers.get("Range") for call in fetched] == [None, "bytes=4-", "bytes=4-"]
    assert "sig=1" not in repr(fetched)
    # A store that begins anew is taken at its word.
    assert (
        saved(tmp_path, SIGNED, says(200), b"0123", broken(), SIGNED, says(200), b"abcdefghij", None)[0]
        == b"abcdefghij"
    )


@pytest.mark.parametrize(
    ("output", "outcomes", "problem"),
    [
        (OUTPUT, [SIGNED, says(200), b"0123456789a"], "more than the 10 bytes"),
        (OUTPUT, [SIGNED, says(200), b"0123", None], "4 of 10 bytes"),
        (
            Output("f", "film.mp4", "video/mp4", 10, sha256="0" * 64),
            [SIGNED, says(200), b"0123456789", None],
            "not those",
        ),
    ],
)
def test_what_is_not_what_was_made_is_not_kept(
    tmp_path: Path, output: Output, outcomes: list[Any], problem: str
) -> None:
    with pytest.raises(DownloadMismatch, match=problem):
        saved(tmp_path, *outcomes, output=output)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_a_worker_chose_stays_in_its_folder() -> None:
    names = {"../../etc/passwd": "passwd", "a\\b\\c.png": "c.png", "..": "output", "": "output", ".hidden": "hidden"}
    assert {name: plain_name(name) for name in names} == names
    assert plain_name("a\nb\0c?.png") == "a_b_c_.png"
    assert len(plain_name("x" * 500 + ".png")) == 150


def test_a_large_file_goes_in_parts_with_fresh_urls_when_they_run_out() -> None:
    def announced(mark: str) -> Answer:
        file = {"id": "file-1", "name": "a.mp4", "mime_type": "video/mp4", "size": 10, "status": "pending"}
        requests = [{"method": "PUT", "url": f"https://store.test/{mark}{n}", "headers": {}} for n in range(3)]
        return says(201, {"file": file, "upload": {"requests": requests, "part_size": 4}})

    video = says(201, {"id": "v", "title": "a.mp4", "status": "uploaded", "created_at": "2026-11-16T00:00:00Z"})
    told: list[int] = []
    performance = Performance(
        in_order(
            announced("old"),
            says(200, etag='"1"'),
            says(403, b"<Error>expired</Error>"),
            announced("new"),
            says(200, etag='"2"'),
            broken(),
            says(200, etag='"3"'),
            video,
        )
    )
    source = Source("a.mp4", "video/mp4", 10, b"0123456789")
    performance.play(upload_video(source, Patience(), lambda event: told.append(event.sent_bytes)))
    puts = [call for call in performance.asked if call.method == "PUT"]
    assert [call.url.rpartition("/")[2] for call in puts] == ["old0", "old1", "new1", "new2", "new2"]
    pieces = [call.body for call in puts if isinstance(call.body, Piece)]
    assert [b"".join(piece.chunks()) for piece in pieces] == [b"0123", b"4567", b"4567", b"89", b"89"]
    pieces[-1].on_sent(2)
    assert told == [10]
    assert json.loads(performance.asked[-1].body or b"")["parts"] == [  # type: ignore[arg-type]
        {"number": number, "etag": f'"{number}"'} for number in (1, 2, 3)
    ]


def test_what_is_given_is_known_by_its_name_or_its_bytes(tmp_path: Path) -> None:
    assert as_video_id(JOB) == JOB
    assert as_video_id("photo.png") is None
    heads = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF....WEBP": "image/webp"}
    heads |= {
        b"....ftypqt  ": "video/quicktime",
        b"....ftypisom": "video/mp4",
        b"\x1a\x45\xdf\xa3....webm": "video/webm",
    }
    assert {head: sniff(head) for head in heads} == heads
    path = tmp_path / "nameless"
    path.write_bytes(b"GIF89a...")
    assert (read_source(path).media_type, read_source(str(path)).size_bytes) == ("image/gif", 9)
    shrunk = Piece(Source("a", "image/gif", 20, path), 0, 20)
    with pytest.raises(InvalidInput, match="shorter"):
        list(shrunk.chunks())
