"""How far a job is, by the last that its worker said."""

import json
from datetime import UTC, datetime

from comfyfleet.kernel.ids import new_id
from comfyfleet.live.model import NODE, PROGRESS, Event, Progress
from comfyfleet.live.progress import says_the_same, standing


def said(kind: str, at: float, **data: object) -> Event:
    return Event(new_id(), "a", 1, 0, kind, json.dumps(data).encode(), at)


def shown(*events: Event) -> Progress | None:
    return standing({event.kind: event for event in events})


def test_what_stands_behind_another_waits_until_something_else_is_said() -> None:
    waits = said(PROGRESS, 1.0, fraction=0.0, waits=True)
    assert shown(waits) == Progress(0.0, None, None, True, datetime.fromtimestamp(1.0, UTC))
    begun = shown(waits, said(NODE, 2.0, node="3"))
    assert begun is not None
    assert (begun.waits, begun.node) == (False, "3")
    its_turn = shown(said(PROGRESS, 2.0, fraction=0.0, waits=False))
    assert its_turn is not None
    assert not its_turn.waits


def test_a_heartbeat_without_progress_ends_a_wait_that_nobody_unsaid() -> None:
    assert not says_the_same(said(PROGRESS, 1.0, fraction=0.0, waits=True), 0.0, None)
    assert says_the_same(said(PROGRESS, 1.0, fraction=0.0), 0.0, None)
    assert not says_the_same(None, 0.0, None)
