"""Gates that a scorer opens: real pictures in the store, scored as they come, on both engines."""

from dataclasses import replace
from io import BytesIO

import pytest
from PIL import Image, ImageFilter

from comfyfleet.house import House
from comfyfleet.kernel.ids import JobId, RunId
from comfyfleet.media.model import MediaRules
from comfyfleet.media.probe import Prober
from comfyfleet.pipelines import RunStatus, scoring
from comfyfleet.storage import ObjectKey
from comfyfleet.upkeep import advance_runs
from comfyfleet.upkeep.score_candidates import Scoring
from tests.database.pipelines.studio import Approval, Studio
from tests.made_media import a_picture


def a_blurred(radius: float) -> bytes:
    with Image.open(BytesIO(a_picture())) as sharp:
        kept = BytesIO()
        sharp.filter(ImageFilter.GaussianBlur(radius)).save(kept, "PNG")
        return kept.getvalue()


@pytest.fixture
async def studio(house: House) -> Studio:
    return await Studio.open(replace(house, prober=Prober(MediaRules(probe_s=60))))


class Night:
    """Nobody is awake: runs and their scorer only."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.opened = studio, 0
        self.scoring = Scoring(studio.house, "main", self._hear)

    def _hear(self) -> None:
        self.opened += 1

    async def advance(self) -> None:
        await advance_runs.tick(self.studio.house, "main", rng=self.studio.rng, on_score=self.scoring.want)

    async def make(self, pictures: list[bytes]) -> None:
        """One for each job under way."""
        for row, content in zip(await self.studio.under_way(), pictures, strict=True):
            await self.complete(row.job_id, content)

    async def complete(self, job_id: JobId, content: bytes) -> None:
        key = ObjectKey(f"tenants/{self.studio.member.tenant.id}/ai-jobs/{job_id}/1-x/0")
        await self.studio.house.store.write(key, content, media_type="image/png")
        await self.studio.complete(job_id, size_bytes=len(content))

    async def begin(self, scorer: str, pictures: list[bytes], *, top: int = 1) -> RunId:
        count = len(pictures)
        approval = Approval("scorer", scorer=scorer)
        run_id = await self.studio.start(variants=count, top=top, concurrency=count, approval=approval)
        await self.advance()
        await self.make(pictures)
        await self.advance()
        assert (await self.studio.run(run_id)).status is RunStatus.RUNNING, "nobody is asked"
        assert await self.scoring.tick() >= 1
        return run_id


async def test_the_sharpest_goes_on_and_nobody_was_awake(studio: Studio) -> None:
    night = Night(studio)
    run_id = await night.begin("sharpness", [a_blurred(4), a_blurred(0), a_blurred(2)])
    assert night.opened == 1
    blurred, sharp, soft = await studio.candidates(run_id)
    assert [each.is_passed for each in (blurred, sharp, soft)] == [False, True, False]
    scores = [(each.scores or {})["sharpness"] for each in (sharp, soft, blurred)]
    assert scores == sorted(scores, reverse=True)
    assert {each.elo for each in (sharp, soft, blurred)} == {1000.0}, "scores are never mixed into Elo"
    [step, *_] = await studio.steps(run_id)
    assert (step.approved_by, step.top) == ("scorer:sharpness", 1)
    await night.advance()
    assert {row.parent_id for row in await studio.under_way()} == {sharp.id}
    assert await studio.told() == []
    assert await studio.broken() == []


async def test_of_near_doubles_one_goes_on(studio: Studio) -> None:
    night = Night(studio)
    other = BytesIO()
    Image.radial_gradient("L").save(other, "PNG")
    run_id = await night.begin("unique", [a_blurred(0), a_blurred(0.4), other.getvalue()], top=3)
    found = await studio.candidates(run_id)
    assert [each.is_passed for each in found] == [True, False, True]
    unique = [(each.scores or {})["unique"] for each in found]
    assert unique[0] == 1.0
    assert unique[1] < 0.2 < unique[2]


async def test_a_picture_that_cannot_be_read_is_passed_over_and_asked_for_once(studio: Studio) -> None:
    night = Night(studio)
    run_id = await night.begin("exposure", [b"no picture", a_blurred(0)], top=2)
    broken, good = await studio.candidates(run_id)
    assert (broken.scores, broken.is_passed, good.is_passed) == ({}, False, True)
    await night.scoring.tick()  # an open gate makes the run due once more
    assert await night.scoring.tick() == 0


async def test_what_one_replica_scores_the_other_leaves_alone(studio: Studio) -> None:
    night = Night(studio)
    run_id = await studio.start(variants=1, approval=Approval("scorer", scorer="sharpness"))
    await night.advance()
    await night.make([a_blurred(0)])
    async with studio.house.pool_tx("main") as tx:
        assert [taken for _, taken in await scoring.take_runs(tx, rows=9, seconds=60)] == [run_id]
    async with studio.house.pool_tx("main") as tx:
        assert await scoring.take_runs(tx, rows=9, seconds=60) == []
    async with studio.house.tenant_tx(studio.member.tenant) as tx:
        assert not await scoring.leave_scored(tx, run_id), "it has a picture without scores"
    assert await Scoring(studio.house, "main").tick() >= 1
    [found] = await studio.candidates(run_id)
    assert found.scores is not None


async def test_runs_that_people_decide_are_not_scored(studio: Studio) -> None:
    night = Night(studio)
    run_id = await studio.start(variants=1)
    await night.advance()
    await night.make([a_blurred(0)])
    assert await night.scoring.tick() == 0
    [found] = await studio.candidates(run_id)
    assert found.scores is None
