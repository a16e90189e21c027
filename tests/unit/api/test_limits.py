"""Windows that move, and forget who is gone."""

import pytest

from comfyfleet.api import limits
from comfyfleet.api.limits import RateLimits
from comfyfleet.kernel.errors import LimitReached
from tests.conftest import ManualClock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    made = ManualClock(1_000.0)
    monkeypatch.setattr(limits.time, "monotonic", made.read)
    return made


async def test_a_place_is_free_again_a_minute_after_it_was_taken(clock: ManualClock) -> None:
    windows = RateLimits()
    await windows.spend(2, "a")
    clock.advance(40)
    await windows.spend(2, "a")
    with pytest.raises(LimitReached) as refused:
        await windows.spend(2, "a")
    assert refused.value.facts["retry_after_s"] == 20
    clock.advance(21)
    await windows.spend(2, "a")
    with pytest.raises(LimitReached):
        await windows.spend(2, "a")
    await windows.spend(2, "b")


async def test_a_refused_request_takes_no_place(clock: ManualClock) -> None:
    windows = RateLimits()
    await windows.spend(1, "a")
    for _ in range(50):
        clock.advance(1)
        with pytest.raises(LimitReached):
            await windows.spend(1, "a")
    clock.advance(11)
    await windows.spend(1, "a")


async def test_who_is_gone_is_forgotten(clock: ManualClock) -> None:
    windows = RateLimits()
    for number in range(1000):
        await windows.spend(5, f"key-{number}")
    clock.advance(61)
    await windows.spend(5, "one more")
    assert len(windows._times) == 1


async def test_a_limit_that_was_lowered_holds_at_once(clock: ManualClock) -> None:
    """The same window under another limit: who waits is told when enough have left."""
    windows = RateLimits()
    for _ in range(4):
        await windows.spend(4, "a")
        clock.advance(10)
    with pytest.raises(LimitReached) as refused:
        await windows.spend(2, "a")
    assert refused.value.facts["retry_after_s"] == 40
