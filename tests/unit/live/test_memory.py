"""Bounds of memory, cursors, and readers that are too slow. No database, no socket."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.kernel.ids import new_id
from comfyfleet.live.hub import EVENT_BYTES_MAX, Hub
from comfyfleet.live.log import EACH_MAX, Logs
from comfyfleet.live.model import ORIGINS_MAX, PREVIEW, Cursor, Event
from comfyfleet.live.outbox import PENDING_MAX as PASSED_MAX
from comfyfleet.live.outbox import Outbox
from comfyfleet.live.states import waiting
from comfyfleet.live.subscription import PENDING_BYTES_MAX, PENDING_MAX, PREVIEWS_MAX, Subscription
from comfyfleet.wire import replica_v1 as wire

JOB = new_id()


def an_event(number: int, *, before: int = 0, kind: str = "progress", origin: str = "a", at: float = 0.0) -> Event:
    return Event(JOB, origin, number, before, kind, b"{}", at)


def test_a_log_keeps_the_last_events_and_the_last_preview() -> None:
    hub = Hub("a")
    for number in range(EACH_MAX * 2):
        hub.report(JOB, "progress", str(number).encode())
        hub.report(JOB, PREVIEW, b"x" * 1000)
    log = hub.logs.get(JOB)
    assert log is not None
    kept = list(log.in_order())
    assert [event.data for event in kept[:-1]] == [str(n).encode() for n in range(EACH_MAX, EACH_MAX * 2)]
    assert kept[-1].is_preview
    assert hub.logs.size_bytes == log.size_bytes < EACH_MAX * 300 + 2000


def test_logs_are_bounded_by_jobs_and_by_bytes() -> None:
    hub = Hub("a", logs=Logs(topics_max=10, bytes_max=8_000))
    for _ in range(100):
        hub.report(new_id(), "progress", b"{}")
    assert len(hub.logs) == 10
    for _ in range(10):
        hub.report(new_id(), PREVIEW, b"x" * 1_000)
        assert hub.logs.size_bytes <= 8_000


def test_what_is_too_large_for_a_log_line_is_left_out() -> None:
    hub, reader = Hub("a"), Subscription()
    hub.listen(reader, JOB)
    hub.report(JOB, "log", b"x" * (EVENT_BYTES_MAX + 1))
    assert list(reader.take_events()) == []
    assert hub.logs.get(JOB) is None


def test_a_slow_reader_loses_previews_first_and_then_the_oldest() -> None:
    reader = Subscription()
    for number in range(1, 1_000):
        reader.put(an_event(number, kind=PREVIEW))
    assert [event.number for event in reader.take_events()] == [999]
    reader.put(an_event(1, kind=PREVIEW))
    for number in range(PENDING_MAX + 10):
        reader.put(an_event(number + 1, before=number))
    taken = list(reader.take_events())
    assert reader.take_lost() == 10
    assert [event.number for event in taken] == list(range(11, PENDING_MAX + 11))


def test_a_slow_reader_keeps_few_bytes_and_few_previews() -> None:
    reader = Subscription()
    for number in range(200):
        reader.put(Event(JOB, "a", number + 1, number, "log", b"x" * EVENT_BYTES_MAX, 0.0))
    for number in range(100):
        reader.put(Event(new_id(), "a", number + 1, 0, PREVIEW, b"x", 0.0))
    taken = list(reader.take_events())
    assert sum(len(event.data) for event in taken if not event.is_preview) == PENDING_BYTES_MAX
    assert sum(event.is_preview for event in taken) == PREVIEWS_MAX
    assert reader.take_lost() == 200 - PENDING_BYTES_MAX // EVENT_BYTES_MAX
    reader.put(an_event(1))  # nothing of what was taken is counted any more
    assert len(list(reader.take_events())) == 1


def test_a_slow_replica_loses_previews_first_and_its_reader_sees_the_gap() -> None:
    async def nowhere(_message: bytes) -> None:
        raise AssertionError("nothing is sent in this test")

    hub = Hub("a")
    box = Outbox(hub, nowhere)
    box.take(wire.encode(wire.Listen(1, [wire.Wanted(JOB)])))
    for number in range(PASSED_MAX // 2 + 10):
        hub.report(JOB, "progress", b"{}")
        hub.report(JOB, PREVIEW, b"{}")
        assert number < PASSED_MAX
    kinds = {event.kind for event in itertools.islice(box._events, 2_000)}
    assert kinds == {"progress"}
    cursor = Cursor(seen={"a": 0})
    assert cursor.misses(box._events[0])


def test_events_of_two_processes_are_woven_and_each_keeps_its_order() -> None:
    logs = Logs()
    for event in (
        an_event(1, origin="a", at=1.0),
        an_event(2, origin="a", at=5.0),
        an_event(3, origin="a", at=4.0),  # its clock was set back
        an_event(1, origin="b", at=2.0),
        an_event(2, origin="b", at=6.0),
    ):
        logs.add(event)
    log = logs.get(JOB)
    assert log is not None
    assert [(event.origin, event.number) for event in log.in_order()] == [
        ("a", 1),
        ("b", 1),
        ("a", 2),
        ("a", 3),
        ("b", 2),
    ]


@given(
    stage=st.integers(-1, 2),
    seen=st.dictionaries(
        st.text("0123456789abcdef", min_size=12, max_size=12), st.integers(1, 10**12), max_size=ORIGINS_MAX
    ),
)
def test_a_cursor_survives_its_text(stage: int, seen: dict[str, int]) -> None:
    assert Cursor.parse(str(Cursor(stage, seen))) == Cursor(stage, seen)


@given(st.text(max_size=600))
def test_no_text_upsets_a_cursor(text: str) -> None:
    found = Cursor.parse(text)
    assert found is None or Cursor.parse(str(found)) == found


def test_a_cursor_admits_each_event_once_and_stays_small() -> None:
    cursor = Cursor()
    for number in range(1, 100):
        event = an_event(number, before=number - 1, origin=f"{number % 40:012x}")
        assert cursor.admits(event)
        cursor.pass_by(event)
        assert not cursor.admits(event)
    assert len(cursor.seen) == ORIGINS_MAX
    assert len(str(cursor)) < 500


@pytest.mark.parametrize(("ahead", "slots", "start_s"), [(0, 1, 10.0), (3, 2, 20.0), (5, 0, None)])
def test_an_estimate_shares_what_waits_among_those_who_can_run(ahead: int, slots: int, start_s: float | None) -> None:
    assert waiting(ahead, 10.0, slots).estimated_start_s == start_s
