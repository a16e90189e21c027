"""Whom a scorer passes over at a gate. Pure.

A scorer is whatever has `choose`; those that runs may name stand in `BY_NAME`. What they go by is measured before
(`media/scores.py`), and stands with each candidate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from comfyfleet.kernel.ids import CandidateId
from comfyfleet.pipelines.model import Candidate

# Kept with the scores, and no score: by them pictures are compared.
HIDDEN = ("hash_high", "hash_low")
HASH_BITS = 64
# Two pictures of the same thing differ in a few bits after another crop, size or compression; strangers in about 32.
NEAR_BITS = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """`unique`: how far each is from the nearest that was kept before it, from 0 to 1."""

    passed_over: tuple[CandidateId, ...]
    unique: Mapping[CandidateId, float] = field(default_factory=dict)


class Scorer(Protocol):
    def choose(self, ranked: Sequence[Candidate], *, top: int) -> Choice:
        """`ranked`: the best first, as people see it. A picture that cannot be read is passed over by every scorer."""


@dataclass(frozen=True, slots=True)
class BestBy:
    """The best so many by one measure."""

    measure: str

    def choose(self, ranked: Sequence[Candidate], *, top: int) -> Choice:
        return _all_but(self.order(ranked)[:top], ranked)

    def order(self, ranked: Sequence[Candidate]) -> list[Candidate]:
        measured = [each for each in ranked if self.measure in (each.scores or {})]
        return sorted(measured, key=lambda each: -(each.scores or {})[self.measure])


@dataclass(frozen=True, slots=True)
class WithoutDoubles:
    """Of those that look alike one stays: whoever ranks first, or is best by a measure; of that the best so many."""

    by: BestBy | None = None

    def choose(self, ranked: Sequence[Candidate], *, top: int) -> Choice:
        kept: list[tuple[Candidate, int]] = []
        unique: dict[CandidateId, float] = {}
        for each in ranked if self.by is None else self.by.order(ranked):
            mine = _hash_of(each)
            if mine is None:
                continue
            nearest = min(((mine ^ other).bit_count() for _, other in kept), default=HASH_BITS)
            unique[each.id] = round(nearest / HASH_BITS, 4)
            if nearest > NEAR_BITS:
                kept.append((each, mine))
        # By rank alone, the gate itself lets the best through, as votes have it then.
        wanted = [each for each, _ in kept][: top if self.by is not None else None]
        return Choice(_all_but(wanted, ranked).passed_over, unique)


SHARPEST, BEST_LIT = BestBy("sharpness"), BestBy("exposure")
BY_NAME: Mapping[str, Scorer] = {
    "sharpness": SHARPEST,
    "exposure": BEST_LIT,
    "unique": WithoutDoubles(),
    "sharpness+unique": WithoutDoubles(SHARPEST),
    "exposure+unique": WithoutDoubles(BEST_LIT),
}


def choose(scorer: str, ranked: Sequence[Candidate], *, top: int) -> Choice:
    return BY_NAME[scorer].choose(ranked, top=top)


def _all_but(wanted: Sequence[Candidate], ranked: Sequence[Candidate]) -> Choice:
    kept = {each.id for each in wanted}
    return Choice(tuple(each.id for each in ranked if each.id not in kept))


def _hash_of(candidate: Candidate) -> int | None:
    scores = candidate.scores or {}
    if not all(name in scores for name in HIDDEN):
        return None
    return int(scores["hash_high"]) << 32 | int(scores["hash_low"])
