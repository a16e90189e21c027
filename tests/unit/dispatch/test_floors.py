"""Where reading a lane starts."""

from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.dispatch.floors import GROUND, Floors
from comfyfleet.dispatch.matching import Head
from comfyfleet.dispatch.model import Place
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, new_id

A, B = LaneId(1), LaneId(2)


def head(lane: LaneId, tag: float, seq: int = 0) -> Head:
    return Head(DispatchId(new_id()), lane, TenantId(new_id()), "h", 0, 0.0, 0, 60.0, 0, tag, seq)


def test_a_floor_rises_over_what_was_taken_up_to_the_first_that_stands() -> None:
    floors = Floors()
    heads = [head(A, 1.0), head(A, 2.0), head(A, 3.0), head(B, 1.0)]
    floors.rise(heads, {heads[0], heads[2]})
    assert floors.of(A) == (1.0, 0), "the second still waits: the third must not hide it"
    assert floors.of(B) == GROUND


def test_nothing_taken_moves_nothing() -> None:
    floors = Floors()
    floors.rise([head(A, 1.0)], set())
    assert floors.of(A) == GROUND


def test_somebody_new_behind_the_floor_takes_it_away_and_one_past_it_does_not() -> None:
    floors, taken = Floors(), [head(A, 5.0, 7), head(B, 5.0, 7)]
    floors.rise(taken, set(taken))
    floors.make_room([Place(A, 5.0, 8), Place(B, 5.0, 7)])
    assert floors.of(A) == (5.0, 7)
    assert floors.of(B) == GROUND


def test_who_comes_back_takes_the_floor_of_its_lane_away() -> None:
    floors, taken = Floors(), [head(A, 5.0), head(B, 5.0)]
    floors.rise(taken, set(taken))
    floors.drop([A])
    assert (floors.of(A), floors.of(B)) == (GROUND, (5.0, 0))
    floors.clear()
    assert floors.of(B) == GROUND


PLACES = st.tuples(st.floats(0, 10), st.integers(0, 3))


@given(st.lists(PLACES, min_size=1, max_size=8), st.data())
def test_no_row_that_still_waits_lies_behind_a_floor(places: list[tuple[float, int]], data: st.DataObject) -> None:
    heads = [head(A, tag, seq) for tag, seq in sorted(set(places))]
    taken = {each for each in heads if data.draw(st.booleans())}
    floors = Floors()
    floors.rise(heads, taken)
    assert all((each.fair_tag, each.seq) > floors.of(A) for each in heads if each not in taken)
