"""Votes, rejected branches, and what the server reads of a tree: as the whole tree would have it."""

import asyncio
import random
from dataclasses import dataclass, field

import pytest

from comfyfleet import pipelines
from comfyfleet.db.tables import votes
from comfyfleet.house import House
from comfyfleet.kernel.errors import InvalidInput, KeyReused, NotFound
from comfyfleet.kernel.ids import CandidateId, JobId, RunId, new_id
from comfyfleet.kernel.page import PageRequest
from comfyfleet.pipelines import CandidateStatus, RunStatus
from comfyfleet.pipelines.elo import replay
from comfyfleet.pipelines.frontier import RunFrontier
from comfyfleet.pipelines.look import read_frontiers
from comfyfleet.pipelines.select import closed_gate, fertile, outlook
from tests.database.pipelines.studio import PRICE, RICH, Approval, Studio
from tests.unit.pipelines.trees import Job, Made, Tree


@pytest.fixture
async def studio(house: House) -> Studio:
    return await Studio.open(house)


async def test_the_scores_are_those_of_the_votes_replayed_to_the_last_bit(studio: Studio) -> None:
    run_id = await studio.start(variants=6, concurrency=6)
    await studio.work()
    ids, rng = [each.id for each in await studio.candidates(run_id)], random.Random(3)
    await asyncio.gather(*(studio.vote(*rng.sample(ids, 2)) for _ in range(30)))
    cast = sorted(await studio.rows(votes, run_id=run_id), key=lambda row: row.seq)
    assert [row.seq for row in cast] == list(range(1, 31))
    scores = replay((row.winner_id, row.loser_id) for row in cast)
    found = await studio.candidates(run_id)
    assert {each.id: each.elo for each in found} == {each.id: scores.get(each.id, 1000.0) for each in found}
    assert sum(each.votes for each in found) == 60
    ranked = await studio.say(pipelines.rank_candidates, run_id, 0, PageRequest(rows=4))
    rest = await studio.say(pipelines.rank_candidates, run_id, 0, PageRequest.parse(rows=4, cursor=ranked.next_cursor))
    best_first = sorted(found, key=lambda each: (-each.elo, each.id))
    assert [each.id for each in (*ranked.rows, *rest.rows)] == [each.id for each in best_first]
    assert await studio.broken() == []


async def test_a_vote_that_makes_no_sense_is_refused_and_the_same_one_counts_once(studio: Studio) -> None:
    run_id, other = await studio.start(variants=2, approval=Approval("all")), await studio.start(variants=2)
    await studio.work()
    one, two = await studio.candidates(run_id, 0)
    child = (await studio.candidates(run_id, 1))[0]
    stranger = (await studio.candidates(other))[0]
    for loser in (one.id, child.id, stranger.id):
        with pytest.raises(InvalidInput, match="loser_id"):
            await studio.vote(one.id, loser)
    with pytest.raises(NotFound):
        await studio.vote(CandidateId(new_id()), one.id)
    assert (await studio.vote(one.id, two.id, "k"))[1] is False
    assert (await studio.vote(one.id, two.id, "k"))[1] is True
    with pytest.raises(KeyReused):
        await studio.vote(two.id, one.id, "k")
    await studio.say(pipelines.reject_candidate, two.id)
    with pytest.raises(InvalidInput, match="rejected"):
        await studio.vote(one.id, two.id)
    assert [step.votes for step in await studio.steps(run_id)] == [1, 0, 0]
    assert await studio.broken() == []


async def test_the_next_pair_is_one_that_was_not_compared(studio: Studio) -> None:
    run_id = await studio.start(variants=3, concurrency=3)
    async with studio.house.tenant_tx(studio.member.tenant) as tx:
        assert await pipelines.next_pair(tx, run_id, studio.member.user.id, 0, studio.rng) is None
    await studio.work()
    seen = set()
    for _ in range(3):
        async with studio.house.tenant_tx(studio.member.tenant) as tx:
            pair = await pipelines.next_pair(tx, run_id, studio.member.user.id, 0, studio.rng)
        assert pair is not None
        seen.add(frozenset(each.id for each in pair))
        await studio.vote(pair[0].id, pair[1].id)
    assert len(seen) == 3


async def test_a_rejected_candidate_takes_its_branch_along_and_its_jobs_are_refunded(studio: Studio) -> None:
    run_id = await studio.start(variants=2, top=2, concurrency=20, approval=Approval("all"))
    for _ in range(3):
        await studio.advance()
        flying = await studio.under_way()
        if flying[0].position < 2:
            for row in flying:
                await studio.complete(row.job_id)
    bad, good = await studio.candidates(run_id, 0)
    flying = await studio.under_way()
    assert len(flying) == 8
    candidate, gone, unwanted = await studio.say(pipelines.reject_candidate, bad.id)
    assert (candidate.status, gone, len(unwanted)) == (CandidateStatus.REJECTED, 3, 4)
    for job_id in unwanted[1:]:
        await studio.cancel(job_id)
    await studio.complete(unwanted[0])  # it was running, and was done first
    for row in flying:
        if row.job_id not in unwanted:
            await studio.complete(row.job_id)
    await studio.advance()
    run = await studio.run(run_id)
    assert (run.status, run.in_flight) == (RunStatus.COMPLETED, 0)
    assert [(step.made, step.alive) for step in await studio.steps(run_id)] == [(2, 1), (4, 2), (5, 4)]
    alive = [each for each in await studio.candidates(run_id) if each.status is CandidateStatus.ACTIVE]
    assert {each.parent_id for each in alive if each.position == 1} == {good.id}
    assert (await studio.balance(), run.tokens_spent) == (RICH - 11 * PRICE, 11 * PRICE)
    assert (await studio.say(pipelines.reject_candidate, bad.id))[1:] == (0, [])
    assert await studio.broken() == []


# ── the same tree, whole ──────────────────────────────────────────────────────────────────


@dataclass
class Mirror:
    """What happens to the run happens to a model of it that keeps everything and counts nothing."""

    studio: Studio
    run_id: RunId
    tree: Tree
    jobs: dict[JobId, Job] = field(default_factory=dict)
    made: dict[CandidateId, Made] = field(default_factory=dict)

    async def advance(self) -> None:
        await self.studio.advance()
        for row in await self.studio.under_way(self.run_id):
            if row.job_id not in self.jobs:
                parent = self.made[row.parent_id] if row.parent_id else None
                assert row.ordinal == self.tree.started_of(row.position, parent)
                assert parent is None or parent.is_alive
                self.jobs[row.job_id] = Job(row.position, parent, row.ordinal)
                self.tree.jobs.append(self.jobs[row.job_id])

    async def end(self, job_id: JobId, how: str, images: int) -> None:
        job = self.jobs[job_id]
        if how == "done":
            await self.studio.complete(job_id, images)
        else:
            await (self.studio.fail if how == "failed" else self.studio.cancel)(job_id)
        job.state = how
        for each in await self.studio.candidates(self.run_id):
            if each.id not in self.made:
                self.made[each.id] = Made(each.id, each.position, job.parent)
                self.tree.made.append(self.made[each.id])

    async def reject(self, candidate_id: CandidateId) -> None:
        await self.studio.say(pipelines.reject_candidate, candidate_id)
        self.made[candidate_id].rejected = True

    async def vote(self, rng: random.Random) -> None:
        alive = self.tree.alive(rng.randrange(3))
        if len(alive) >= 2:
            winner, loser = rng.sample(alive, 2)
            await self.studio.vote(winner.id, loser.id)
            for each in await self.studio.candidates(self.run_id):
                self.made[each.id].elo = each.elo

    async def gate(self, rng: random.Random) -> None:
        position = rng.randrange(2)
        if self.tree.alive(position):
            if self.tree.tops[position] is None or rng.random() < 0.7:
                self.tree.tops[position] = rng.randint(1, 3)
                await self.studio.approve(self.run_id, position, self.tree.tops[position])
            else:
                self.tree.tops[position] = None
                await self.studio.say(pipelines.reopen_step, self.run_id, position)

    async def compare(self) -> None:
        run = await self.studio.run(self.run_id)
        async with self.studio.house.tenant_tx(self.studio.member.tenant) as tx:
            known = {self.studio.pipeline.id: self.studio.pipeline}
            found = (await read_frontiers(tx, {self.run_id: run}, set(), known, {}))[self.run_id]
        assert essence(found) == essence(self.tree.frontier())


def essence(run: RunFrontier) -> object:
    """All that a choice can depend on."""
    stages = [
        (stage.variants, stage.is_open, stage.made, stage.alive, stage.in_flight, stage.started, stage.failures)
        for stage in run.stages
    ]
    parents = [[(each.id, each.elo, each.children, each.started) for each in fertile(stage)] for stage in run.stages]
    return stages, parents, outlook(run), closed_gate(run), run.budget


async def test_what_the_server_reads_is_what_the_whole_tree_says(studio: Studio, soak: bool) -> None:
    rng = random.Random() if soak else random.Random(1)
    run_id = await studio.start(variants=3, top=2, concurrency=500, finals=40)
    mirror = Mirror(studio, run_id, Tree(run_id, [3, 3, 3], [None, None, None], concurrency=500, finals=40))
    for _ in range(400 if soak else 20):
        await mirror.advance()
        flying = [job_id for job_id, job in mirror.jobs.items() if job.state == "in_flight"]
        for job_id in rng.sample(flying, rng.randint(0, len(flying))):
            await mirror.end(job_id, rng.choice(["done", "done", "done", "failed", "cancelled"]), rng.choice([1, 1, 2]))
        await mirror.vote(rng)
        if rng.random() < 0.5:
            await mirror.gate(rng)
        if rng.random() < 0.15 and mirror.made:
            await mirror.reject(rng.choice(list(mirror.made)))
        await mirror.compare()
    assert len(mirror.made) > 10
    assert await studio.broken() == []
