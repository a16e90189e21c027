"""A run whose control plane dies at any commit of its way: no candidate is made twice, and none is missing."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from comfyfleet.api.tenant import ordering
from comfyfleet.dispatch import Ended, settlements
from comfyfleet.house import House
from comfyfleet.pipelines import CandidateStatus, RunStatus
from comfyfleet.upkeep import UpkeepRules, apply_settlements, follow_cancels, loops_of
from tests.conftest import ManualClock
from tests.database.jobs.atelier import Atelier
from tests.database.pipelines.studio import PRICE, STEPS, Approval, Studio
from tests.faults.crashing import Crash, Fuse, crashing

Step = Callable[[House], Awaitable[object]]


class Stage:
    """A run of two steps with one candidate each, and a worker for it."""

    def __init__(self, studio: Studio, atelier: Atelier) -> None:
        self.studio, self.atelier = studio, atelier

    @classmethod
    async def open(cls, house: House) -> "Stage":
        studio = await Studio.open(house, steps=STEPS[:2])
        return cls(studio, await Atelier.open(house, member=studio.member, tokens=1))

    async def advance(self, house: House) -> None:
        await self.studio.advance(house=house)

    async def work(self, _house: House) -> None:
        """The worker's part, and the relay's: they have their own points, and their own tests."""
        await self.atelier.relay()
        grant = await self.atelier.queue.lease(self.atelier.holder)
        if grant is not None:
            ended = await self.atelier.complete_with(grant, await self.atelier.upload(grant))
            assert isinstance(ended, Ended)

    async def until_it_dies(self, at: int, steps: list[Step]) -> tuple[Fuse, int]:
        fuse = Fuse(at)
        doomed = crashing(self.studio.house, fuse)
        for number, step in enumerate(steps):
            try:
                await step(doomed)
            except Crash:
                return fuse, number
        return fuse, len(steps)


def after(at: int) -> int:
    """The first commit dies before and after it. Of the others, what was before is what the last one left."""
    return 1 if at == 0 else at + 2


@pytest.fixture
async def stage(house: House) -> Stage:
    return await Stage.open(house)


async def test_a_run_survives_a_crash_at_every_commit_of_its_way(stage: Stage, clock: ManualClock) -> None:
    studio, at, spent = stage.studio, 0, 0
    before = await studio.balance()
    steps: list[Step] = [stage.advance, stage.work, stage.atelier.settle_in, stage.advance]
    while True:
        run_id = await studio.start(variants=1, approval=Approval("all"), name=f"run {at}")
        fuse, died_in = await stage.until_it_dies(at, steps)
        assert await studio.broken() == [], fuse.passed
        clock.advance(settlements.CLAIM_S + 1)
        for step in (*steps[died_in:], stage.work, stage.atelier.settle_in, stage.advance):
            await step(studio.house)
        run = await studio.run(run_id)
        assert (run.status, run.jobs_started, run.tokens_spent) == (RunStatus.COMPLETED, 2, 2 * PRICE), fuse.passed
        assert [each.position for each in await studio.candidates(run_id)] == [0, 1], fuse.passed
        spent += 2 * PRICE
        if not fuse.blown:
            break
        at = after(at)
    # Begin; take, apply, mark, and how long it took; begin the child.
    assert len(fuse.passed) == 10
    assert await studio.broken() == []
    assert await studio.balance() == before - spent


async def test_a_run_that_goes_on_where_its_job_is_settled_survives_a_crash_at_every_commit(
    stage: Stage, clock: ManualClock
) -> None:
    """The child is begun with the settlement, and sent right after it: by whoever died in between, or by the loops."""
    studio, at = stage.studio, 0
    while True:
        run_id = await studio.start(variants=1, approval=Approval("all"), name=f"run {at}")
        await stage.advance(studio.house)
        await stage.work(studio.house)
        fuse = Fuse(at)
        with suppress(Crash):
            await settle_and_go_on(crashing(studio.house, fuse))
        assert await studio.broken() == [], fuse.passed
        clock.advance(settlements.CLAIM_S + 1)
        for step in (stage.atelier.settle_in, stage.advance, stage.work, stage.atelier.settle_in, stage.advance):
            await step(studio.house)
        run = await studio.run(run_id)
        assert (run.status, run.jobs_started, run.tokens_spent) == (RunStatus.COMPLETED, 2, 2 * PRICE), fuse.passed
        assert [each.position for each in await studio.candidates(run_id)] == [0, 1], fuse.passed
        if not fuse.blown:
            break
        at += 1
    # Take; apply and begin; enqueue; mark as sent; mark as applied.
    assert len(fuse.passed) == 10
    assert await studio.broken() == []


async def settle_and_go_on(house: House) -> None:
    """As the loops do it that have looked at this run before."""
    [settle, *_] = [loop for loop in loops_of(house, rules=UpkeepRules()) if loop.name == apply_settlements.NAME]
    await settle.tick.keywords["going_on"].recipes.read({"base", "refine"})  # type: ignore[attr-defined]
    await settle.tick()


async def test_a_branch_that_is_rejected_by_one_who_dies_is_cancelled_and_refunded_all_the_same(
    stage: Stage, clock: ManualClock
) -> None:
    studio, at = stage.studio, 0
    while True:
        run_id = await studio.start(variants=1, approval=Approval("all"), name=f"run {at}")
        for step in (stage.advance, stage.work, stage.atelier.settle_in, stage.advance):
            await step(studio.house)
        before, fuse = await studio.balance(), Fuse(at)
        with suppress(Crash):
            await ordering.reject(
                crashing(studio.house, fuse),
                stage.atelier.home,
                (await studio.candidates(run_id))[0].id,
                studio.member.user.id,
            )
        assert await studio.broken() == [], fuse.passed
        first = (await studio.candidates(run_id))[0]
        if first.status is CandidateStatus.ACTIVE:
            # Nothing was written down, and nobody answered: its user asks again.
            await ordering.reject(studio.house, stage.atelier.home, first.id, studio.member.user.id)
        clock.advance(settlements.CLAIM_S + 1)
        await stage.atelier.relay()
        await follow_cancels.tick(studio.house, "main")
        await stage.atelier.settle()
        await studio.advance()
        assert await studio.under_way() == [], fuse.passed
        assert await studio.balance() == before + PRICE, fuse.passed
        assert (await studio.run(run_id)).status is RunStatus.FAILED
        if not fuse.blown:
            break
        at = after(at)
    assert len(fuse.passed) == 10
    assert await studio.broken() == []
