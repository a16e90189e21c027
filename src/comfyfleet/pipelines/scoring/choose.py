"""Whom a scorer passes over at a gate. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from comfyfleet.kernel.ids import CandidateId
from comfyfleet.pipelines.model import Candidate

UNIQUE = "unique"
# Kept with the scores, and no score: by them pictures are compared.
HIDDEN = ("hash_high", "hash_low")
HASH_BITS = 64
# Two pictures of the same thing differ in a few bits after another crop, size or compression; strangers in about 32.
NEAR_BITS = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """`unique`: how far each is from the nearest that was kept before it, from 0 to 1."""

    passed_over: tuple[CandidateId, ...]
    unique: dict[CandidateId, float]


def choose(scorer: str, ranked: Sequence[Candidate], *, top: int) -> Choice:
    """`ranked`: the best first, as people see it. A picture that cannot be read is passed over by every scorer."""
    if scorer == UNIQUE:
        return _without_doubles(ranked)
    by_score = sorted((each for each in ranked if scorer in (each.scores or {})), key=lambda each: _worst(each, scorer))
    kept = {each.id for each in by_score[:top]}
    return Choice(tuple(each.id for each in ranked if each.id not in kept), {})


def _worst(candidate: Candidate, scorer: str) -> float:
    return -(candidate.scores or {})[scorer]


def _without_doubles(ranked: Sequence[Candidate]) -> Choice:
    """Of those that look alike, whoever ranks first stays."""
    kept: list[int] = []
    passed_over, unique = [], {}
    for each in ranked:
        scores = each.scores or {}
        if not all(name in scores for name in HIDDEN):
            passed_over.append(each.id)
            continue
        mine = int(scores["hash_high"]) << 32 | int(scores["hash_low"])
        nearest = min(((mine ^ other).bit_count() for other in kept), default=HASH_BITS)
        unique[each.id] = round(nearest / HASH_BITS, 4)
        if nearest <= NEAR_BITS:
            passed_over.append(each.id)
        else:
            kept.append(mine)
    return Choice(tuple(passed_over), unique)
