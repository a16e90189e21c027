"""The queue's order, and its odd corner."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from comfyfleet.engine.history import Entry, History
from comfyfleet.engine.queue import PromptQueue, Queued, SamePlaceTwice


def a_queue() -> PromptQueue:
    return PromptQueue(History(), changed=lambda: None)


def a_prompt(prompt_id: str, number: float = 0) -> Queued:
    return Queued(number, prompt_id, {}, {}, ())


def an_entry(prompt_id: str) -> Entry:
    return Entry([0, prompt_id, {}, {}, []], {}, "success", True, (), {})


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-5, 5), st.text("abc", min_size=1)), unique=True, max_size=20))
def test_the_lowest_number_runs_first_then_the_lowest_id(places: list[tuple[int, str]]):
    queue = a_queue()
    for number, prompt_id in places:
        queue.put(a_prompt(prompt_id, number))
    taken = []
    for _ in places:
        prompt = queue.take()
        assert prompt is not None
        taken.append((prompt.number, prompt.prompt_id))
        queue.finish(None)

    assert taken == sorted(places)


def test_the_same_place_twice_is_trouble_and_queued_all_the_same():
    queue = a_queue()
    queue.put(a_prompt("a", 7))
    with pytest.raises(SamePlaceTwice):
        queue.put(a_prompt("a", 7))

    assert queue.remaining() == 2
    assert queue.delete("a")
    assert queue.remaining() == 1


def test_an_interrupt_reaches_the_running_prompt_only():
    queue = a_queue()
    queue.put(a_prompt("a"))
    queue.put(a_prompt("b", 1))
    lost = queue.interrupt()
    queue.take()

    assert not lost
    assert not queue.interrupt("b")
    assert not queue.take_interrupt()
    assert queue.interrupt("a")
    assert queue.take_interrupt()
    assert not queue.take_interrupt()


def test_history_drops_the_oldest():
    history = History(entries_max=2)
    for name in "abcd":
        history.add(an_entry(name))

    assert [entry.prompt_id for entry in history.all()] == ["b", "c", "d"]
    assert [entry.prompt_id for entry in history.page(2, -1)] == ["c", "d"]
    assert [entry.prompt_id for entry in history.page(1, 0)] == ["b"]
