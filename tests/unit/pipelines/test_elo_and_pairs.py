"""Scores from votes, and which two to show."""

import random
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.kernel.ids import CandidateId
from comfyfleet.pipelines.elo import START, after_vote, expected, replay
from comfyfleet.pipelines.pairs import Contender, choose_pair

ELO = st.floats(0, 3000)


@given(ELO, ELO)
def test_what_one_gains_the_other_loses(winner: float, loser: float) -> None:
    after = after_vote(winner, loser)
    assert after[0] >= winner
    assert abs(sum(after) - winner - loser) < 1e-9
    assert abs(expected(winner, loser) + expected(loser, winner) - 1) < 1e-12


def test_a_surprise_counts_more() -> None:
    assert after_vote(1000, 1000) == (1016, 984)
    assert after_vote(800, 1200)[0] - 800 > 25
    assert after_vote(1200, 800)[0] - 1200 < 7


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(6, 9)), max_size=50))
def test_the_votes_give_the_scores_again(votes: list[tuple[int, int]]) -> None:
    kept: dict[int, float] = {}
    for winner, loser in votes:
        kept[winner], kept[loser] = after_vote(kept.get(winner, START), kept.get(loser, START))
    assert replay(votes) == kept


def contenders(*pairs: tuple[float, int]) -> list[Contender]:
    return [Contender(CandidateId(UUID(int=number)), elo, votes) for number, (elo, votes) in enumerate(pairs, 1)]


def test_the_least_compared_meets_its_nearest() -> None:
    newest, near, far = contenders((1000, 0), (1010, 4), (1500, 4))
    for seed in range(20):
        found = choose_pair([far, newest, near], set(), random.Random(seed))
        assert found is not None
        assert set(found) == {newest, near}


def test_sides_are_drawn() -> None:
    two = contenders((1000, 0), (1000, 0))
    assert {choose_pair(two, set(), random.Random(seed)) for seed in range(30)} == {tuple(two), tuple(two[::-1])}


def test_a_pair_comes_again_only_when_all_were_seen() -> None:
    three = contenders((1000, 1), (1000, 1), (1000, 1))
    seen: set[frozenset[CandidateId]] = set()
    for _ in range(3):
        one, other = choose_pair(three, seen, random.Random(3)) or (None, None)
        assert one is not None
        assert other is not None
        assert frozenset({one.id, other.id}) not in seen
        seen.add(frozenset({one.id, other.id}))
    assert choose_pair(three, seen, random.Random(3)) is not None
    assert choose_pair(three[:1], seen, random.Random(3)) is None
