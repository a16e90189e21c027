"""A against B: the scores of both move, and the vote is kept, so that the scores can be made again from the votes."""

import random
from collections.abc import Collection

from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import InvalidInput, KeyReused
from comfyfleet.kernel.ids import CandidateId, RunId, UserId, VoteId, new_id
from comfyfleet.pipelines.count import count_step, make_due
from comfyfleet.pipelines.elo import after_vote
from comfyfleet.pipelines.lifecycle import CandidateStatus
from comfyfleet.pipelines.model import Candidate, Vote
from comfyfleet.pipelines.pairs import Contender, choose_pair
from comfyfleet.pipelines.read import hold_run, read_run, read_steps
from comfyfleet.pipelines.tree import sql
from comfyfleet.pipelines.tree.read import read_candidate

CONTENDERS_MAX = 200
PAIRS_MAX = 2_000
OTHERS_MIN = 6


async def cast_vote(
    tx: TenantTx,
    user_id: UserId,
    *,
    winner_id: CandidateId,
    loser_id: CandidateId,
    idempotency_key: str | None = None,
) -> tuple[Vote, bool]:
    """And whether it was cast before, by the same key. Raises NotFound, and InvalidInput for two that cannot be
    compared."""
    run_id = (await read_candidate(tx, winner_id, user_id)).run_id
    # From here on nobody else votes in this run: each vote counts from what the one before it made of the scores.
    await hold_run(tx, run_id, user_id)
    if (before := await _cast_before(tx, user_id, idempotency_key, winner_id, loser_id)) is not None:
        return before, True
    winner, loser = await read_candidate(tx, winner_id, user_id), await read_candidate(tx, loser_id, user_id)
    _require_comparable(winner, loser)
    step = (await read_steps(tx, [run_id]))[run_id][winner.position]
    row = await tx.maybe(
        sql.insert_vote(
            VoteId(new_id()),
            run_id,
            winner.position,
            seq=step.votes + 1,
            winner_id=winner_id,
            loser_id=loser_id,
            user_id=user_id,
            idempotency_key=idempotency_key,
        )
    )
    if row is None:
        # At the same moment, in another run.
        raise KeyReused(str(idempotency_key))
    for candidate_id, elo in zip((winner_id, loser_id), after_vote(winner.elo, loser.elo), strict=True):
        await tx.run(sql.set_elo(candidate_id, elo))
    await count_step(tx, run_id, winner.position, votes=1)
    # Others may be among the best now; or it was the vote that the run's rule waited for.
    await make_due(tx, run_id)
    return Vote.from_row(row), False


async def next_pair(
    tx: TenantTx,
    run_id: RunId,
    user_id: UserId,
    position: int,
    rng: random.Random,
    *,
    beside: Collection[CandidateId] = (),
) -> tuple[Candidate, Candidate] | None:
    """Whose comparison tells most. None: there are not two to compare.

    `beside`: the two that are being compared now; their vote has not come yet. Others are chosen, but never the same
    two again while there is a third.
    """
    await read_run(tx, run_id, user_id)
    rows = await tx.all(sql.least_compared(run_id, position, rows=CONTENDERS_MAX))
    found = {row.id: Candidate.from_row(row) for row in rows}
    seen = {
        frozenset({row.winner_id, row.loser_id})
        for row in await tx.all(sql.newest_pairs(run_id, position, rows=PAIRS_MAX))
    }
    contenders = [Contender(each.id, each.elo, each.votes) for each in found.values()]
    pair = choose_pair(_free(contenders, beside, rng), seen, rng)
    return None if pair is None else (found[pair[0].id], found[pair[1].id])


def _free(contenders: list[Contender], beside: Collection[CandidateId], rng: random.Random) -> list[Contender]:
    """Of a few, one of the two stays in: were both left out, the same pairs would come again and again."""
    others = [each for each in contenders if each.id not in beside]
    if len(others) >= OTHERS_MIN or len(contenders) <= 2:
        return others if len(contenders) > 2 else contenders
    kept = [each for each in contenders if each.id in beside]
    return [*others, *rng.sample(kept, min(1, len(kept)))]


async def _cast_before(
    tx: TenantTx, user_id: UserId, key: str | None, winner_id: CandidateId, loser_id: CandidateId
) -> Vote | None:
    row = await tx.maybe(sql.vote_by_key(user_id, key)) if key is not None else None
    if row is None:
        return None
    if (row.winner_id, row.loser_id) != (winner_id, loser_id):
        raise KeyReused(str(key))
    return Vote.from_row(row)


def _require_comparable(winner: Candidate, loser: Candidate) -> None:
    if winner.id == loser.id:
        raise InvalidInput("loser_id", "must be another one than the winner")
    if (winner.run_id, winner.position) != (loser.run_id, loser.position):
        raise InvalidInput("loser_id", "must be of the same step of the same run")
    for name, each in (("winner_id", winner), ("loser_id", loser)):
        if each.status is CandidateStatus.REJECTED:
            raise InvalidInput(name, "was rejected")
