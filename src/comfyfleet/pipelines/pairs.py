"""Which two to show next: those whose comparison tells most. Near scores, few votes, the same step."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from comfyfleet.kernel.ids import CandidateId

NEAR_ELO = 100.0


@dataclass(frozen=True, slots=True)
class Contender:
    id: CandidateId
    elo: float
    votes: int


def choose_pair(
    contenders: Sequence[Contender], seen: set[frozenset[CandidateId]], rng: random.Random
) -> tuple[Contender, Contender] | None:
    """The one who was compared least, against whoever is nearest; a pair that was seen only when all were.

    Left and right are drawn, so that a lazy thumb favours nobody.
    """
    if len(contenders) < 2:
        return None
    for first in sorted(contenders, key=lambda each: (each.votes, rng.random())):
        others = [each for each in contenders if each.id != first.id]
        fresh = [each for each in others if frozenset({first.id, each.id}) not in seen]
        if fresh:
            return _shuffled(first, min(fresh, key=lambda each: _dullness(first, each, rng)), rng)
    first = min(contenders, key=lambda each: (each.votes, rng.random()))
    others = [each for each in contenders if each.id != first.id]
    return _shuffled(first, min(others, key=lambda each: _dullness(first, each, rng)), rng)


def _dullness(first: Contender, other: Contender, rng: random.Random) -> tuple[float, int, float]:
    """Scores within the same hundred count as equally near: then the number of votes decides."""
    return abs(first.elo - other.elo) // NEAR_ELO, other.votes, rng.random()


def _shuffled(one: Contender, other: Contender, rng: random.Random) -> tuple[Contender, Contender]:
    return (one, other) if rng.random() < 0.5 else (other, one)
