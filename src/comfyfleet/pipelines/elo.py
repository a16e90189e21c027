"""Elo: what a vote does to two scores. The votes of a step, taken in their order, give its scores again exactly."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

START = 1000.0
STEP = 32.0
SCALE = 400.0

C = TypeVar("C")


def expected(own: float, other: float) -> float:
    """How likely the first one wins."""
    return float(1.0 / (1.0 + 10.0 ** ((other - own) / SCALE)))


def after_vote(winner: float, loser: float) -> tuple[float, float]:
    """What one gains the other loses."""
    gain = STEP * (1.0 - expected(winner, loser))
    return winner + gain, loser - gain


def replay(votes: Iterable[tuple[C, C]]) -> Mapping[C, float]:
    """(winner, loser) in the order they were cast."""
    scores: dict[C, float] = {}
    for winner, loser in votes:
        scores[winner], scores[loser] = after_vote(scores.get(winner, START), scores.get(loser, START))
    return scores
