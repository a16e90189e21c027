"""What workers report is bounded by bytes, by worker and in all. No database, no socket."""

import tracemalloc

import pytest

from comfyfleet.desk.live import (
    BYTES_MAX,
    BYTES_SAVED_MAX,
    EVENTS_PER_S,
    EVENTS_SAVED_MAX,
    OVERHEAD_BYTES,
    WORKER_BYTES_MAX,
    Allowances,
    LiveEvents,
)
from comfyfleet.kernel.errors import LimitReached

LARGE = b'{"line": "' + b"x" * 8_000 + b'"}'
MIB = 1024**2


def test_a_flood_keeps_few_bytes_and_they_are_the_ones_counted() -> None:
    live = LiveEvents()
    tracemalloc.start()
    try:
        for number in range(20_000):
            live.add(f"gpu-{number % 40}", "log", bytes(LARGE[:-1] + b"}"))
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert live.size_bytes == sum(event.size_bytes for event in live.after(0)) <= BYTES_MAX
    assert kept_bytes < 1.25 * BYTES_MAX


def test_a_worker_that_floods_pushes_out_its_own_events_first() -> None:
    live = LiveEvents()
    live.add("quiet", "progress", b'{"fraction": 0.5}')
    for _ in range(2_000):
        live.add("loud", "log", LARGE)
    kept = list(live.after(0))
    assert kept[0].data == {"fraction": 0.5}
    of_loud = [event for event in kept if event.worker_id == "loud"]
    assert sum(event.size_bytes for event in of_loud) <= WORKER_BYTES_MAX
    assert [event.number for event in of_loud] == list(range(of_loud[0].number, 2_002))


def test_many_workers_together_are_bounded_too_and_the_oldest_goes() -> None:
    live = LiveEvents(bytes_max=10 * (OVERHEAD_BYTES + 2))
    for number in range(100):
        live.add(f"gpu-{number}", "log", b"{}")
    assert [event.worker_id for event in live.after(0)] == [f"gpu-{number}" for number in range(90, 100)]


def test_a_worker_may_report_at_a_rate_and_what_it_saved_up() -> None:
    now = 1000.0
    allowances = Allowances(lambda: now)
    allowances.spend("loud", events=int(EVENTS_SAVED_MAX), size_bytes=1000)
    with pytest.raises(LimitReached) as refused:
        allowances.spend("loud", events=int(EVENTS_PER_S), size_bytes=0)
    assert refused.value.retry_after_s == 1
    allowances.spend("quiet", events=400, size_bytes=MIB)
    now += 1.0
    allowances.spend("loud", events=int(EVENTS_PER_S), size_bytes=0)
    allowances.spend("quiet", events=1, size_bytes=int(BYTES_SAVED_MAX - MIB))
    with pytest.raises(LimitReached):
        allowances.spend("quiet", events=1, size_bytes=5 * MIB)
