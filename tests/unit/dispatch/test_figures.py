"""How busy a worker was: held leases against what it can run at once."""

from datetime import UTC, datetime

import pytest

from comfyfleet.dispatch.figures.model import Ends, Span, Spans, Waiting, busy_shares
from comfyfleet.kernel.ids import WorkerId, new_id

W = WorkerId(new_id())
AT = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.mark.parametrize(
    ("spans", "slots", "share"),
    [
        ([], 1, 0.0),
        ([(0, 100)], 1, 1.0),
        ([(-500, 25), (75, 900)], 1, 0.5),  # what stands outside does not count
        ([(0, 50), (0, 50), (10, 50)], 1, 0.5),  # leased ahead: it waits on the worker
        ([(0, 50), (50, 100)], 1, 1.0),
        ([(0, 100)], 2, 0.5),
        ([(0, 100), (0, 50), (0, 100)], 2, 1.0),
        ([(200, 300)], 1, 0.0),
    ],
)
def test_a_worker_is_busy_while_it_has_something_to_run(
    spans: list[tuple[float, float]], slots: int, share: float
) -> None:
    found = Spans([Span(W, *each) for each in spans], 0.0, 100.0)
    assert busy_shares(found, {W: slots}) == {W: pytest.approx(share)}


def test_ends_are_counted_by_stretch_and_by_reason() -> None:
    rows = [(0, "completed", 2), (1, "completed", 3), (1, "infra", 1), (9, None, 1)]
    ends = Ends.counted(rows, AT, 60.0, 2)
    assert (ends.completed, ends.failed) == ([2, 3], [0, 2])
    assert ends.by_reason == {"completed": 5, "infra": 1, "unknown": 1}


def test_what_was_given_back_or_cancelled_has_not_failed() -> None:
    rows = [(0, each, 1) for each in ("requeued", "worker_restarted", "revoked", "interrupted", "cancelled", "expired")]
    ends = Ends.counted(rows, AT, 60.0, 1)
    assert (ends.completed, ends.failed, len(ends.by_reason)) == ([0], [1], 6)


def test_of_several_lanes_the_longest_wait_counts() -> None:
    together = Waiting(3, oldest_s=5.0).plus(Waiting(4, True, 9.0)).plus(Waiting())
    assert together == Waiting(7, True, 9.0)
