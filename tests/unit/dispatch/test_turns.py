"""Turns between lanes."""

from dataclasses import dataclass, field
from uuid import UUID

from comfyfleet.dispatch.turns import LAG_MAX_S, Turns
from comfyfleet.kernel.ids import DispatchId, LaneId, new_id


@dataclass(frozen=True)
class Row:
    lane: LaneId
    fair_tag: float
    waited_s: float = 0.0
    epoch: int = 0
    id: DispatchId = field(default_factory=lambda: DispatchId(new_id()))


X, Y, Z = LaneId(1), LaneId(2), LaneId(3)


def test_lanes_start_level_wherever_their_tags_begin() -> None:
    assert Turns().places([Row(X, 5_000.0), Row(Y, 0.0)]) == [0.0, 0.0]


def test_the_lane_that_had_less_is_next() -> None:
    turns = Turns()
    turns.places([Row(X, 5_000.0), Row(Y, 0.0)])
    assert turns.places([Row(X, 5_060.0), Row(Y, 20.0)]) == [60.0, 20.0]


def test_a_new_lane_joins_at_the_turn_that_is_next_without_arrears() -> None:
    turns = Turns()
    turns.places([Row(X, 0.0), Row(Y, 0.0)])
    assert turns.places([Row(X, 900.0), Row(Y, 1_000.0), Row(Z, 7.0)]) == [900.0, 1_000.0, 900.0]


def test_a_lane_that_rested_has_no_arrears_either() -> None:
    turns = Turns()
    turns.places([Row(X, 0.0), Row(Y, 0.0)])
    turns.rest([Y])
    assert turns.places([Row(X, 900.0), Row(Y, 10.0)]) == [900.0, 900.0]


def test_a_lane_that_empties_after_each_job_gets_no_extra_turns_for_it() -> None:
    turns = Turns()
    turns.places([Row(X, 0.0), Row(Y, 0.0)])
    turns.rest([Y])
    # Its next job starts where its last one ended, 600 further; resting in between does not bring it back to X.
    assert turns.places([Row(X, 60.0), Row(Y, 600.0)]) == [60.0, 600.0]


def test_when_all_rested_they_go_on_from_the_furthest() -> None:
    turns = Turns()
    turns.places([Row(X, 0.0), Row(Y, 0.0)])
    turns.rest([X, Y])
    assert turns.places([Row(X, 60.0), Row(Y, 600.0)]) == [600.0, 600.0]


def test_a_lane_alone_is_always_next() -> None:
    turns = Turns()
    assert turns.places([Row(X, 5.0)]) == [0.0]
    assert turns.places([Row(X, 65.0)]) == [60.0]


def test_catching_up_ends_after_an_hour() -> None:
    turns = Turns()
    turns.places([Row(X, 0.0)])
    turns.places([Row(Y, 0.0)])
    far = 100 * LAG_MAX_S
    assert turns.places([Row(X, far), Row(Y, 0.0)]) == [far, far - LAG_MAX_S]
    assert turns.places([Row(X, far), Row(Y, 60.0)]) == [far, far - LAG_MAX_S + 60.0]


def test_a_row_that_comes_back_goes_first_and_moves_nothing() -> None:
    turns = Turns()
    turns.places([Row(X, 50_000.0), Row(Y, 0.0)])
    back = turns.places([Row(X, 3.0, epoch=1), Row(Y, 60.0)])
    assert back[0] < back[1]
    assert turns.places([Row(X, 50_060.0), Row(Y, 60.0)]) == [60.0, 60.0]


def test_a_row_that_comes_back_does_not_set_the_level_for_others() -> None:
    turns = Turns()
    turns.places([Row(X, 50_000.0), Row(Y, 0.0)])
    turns.places([Row(X, 50_500.0), Row(Y, 500.0)])
    assert turns.places([Row(X, 3.0, epoch=1), Row(Y, 500.0), Row(Z, 0.0)])[2] == 500.0


def test_a_front_is_passed_over_from_the_first_time_it_was() -> None:
    turns, front = Turns(), DispatchId(UUID(int=1))
    assert turns.passed_over_s(Row(X, 0.0, waited_s=100.0, id=front)) == 0.0
    assert turns.passed_over_s(Row(X, 0.0, waited_s=112.0, id=front)) == 12.0
    assert turns.passed_over_s(Row(X, 60.0, waited_s=90.0)) == 0.0
