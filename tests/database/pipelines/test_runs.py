"""Runs, played to their ends: made, ranked, refined; paused, stopped, out of budget; on both engines."""

import pytest

from comfyfleet import pipelines, storage
from comfyfleet.house import House
from comfyfleet.jobs import Job
from comfyfleet.jobs.place import require_room
from comfyfleet.kernel.errors import IllegalMove, InvalidInput, KeyReused, NotFound
from comfyfleet.kernel.ids import JobId, RunId, UserId, new_id
from comfyfleet.kernel.page import PageRequest
from comfyfleet.pipelines import MoreBudget, RunStatus, advance
from comfyfleet.workflows import effects
from tests.builders import credit
from tests.conftest import ManualClock
from tests.database.pipelines.studio import PRICE, RICH, STEPS, Approval, Studio

ALL = Approval("all")


@pytest.fixture
async def studio(house: House) -> Studio:
    return await Studio.open(house)


async def test_a_run_goes_from_nothing_to_finals_through_its_gates(studio: Studio) -> None:
    run_id = await studio.start(variants=3, top=2, concurrency=2)
    assert (await studio.run(run_id)).status is RunStatus.PENDING
    await studio.advance()
    assert len(await studio.under_way()) == 2, "as many as may run at once"
    assert await studio.due() == []
    assert await studio.work() == 3
    assert ((await studio.run(run_id)).status, await studio.told()) == (
        RunStatus.WAITING_FOR_APPROVAL,
        ["run.waiting_for_approval"],
    )
    first, second, third = await studio.candidates(run_id)
    for _ in range(3):
        await studio.vote(third.id, first.id)
    await studio.approve(run_id, 0)
    assert await studio.work() == 6
    parents = {each.parent_id for each in await studio.candidates(run_id, 1)}
    assert parents == {second.id, third.id}, "the best two of three"
    await studio.approve(run_id, 1, top=1)
    assert await studio.work() == 3
    run = await studio.run(run_id)
    assert (run.status, run.in_flight, run.jobs_started, run.tokens_spent) == (RunStatus.COMPLETED, 0, 12, 120)
    assert [step.made for step in await studio.steps(run_id)] == [3, 6, 3]
    assert await studio.told() == ["run.completed", "run.waiting_for_approval", "run.waiting_for_approval"]
    assert await studio.balance() == RICH - 120
    assert await studio.broken() == []


async def test_a_job_of_a_run_is_an_ordinary_one_and_names_all_that_made_it(studio: Studio) -> None:
    run_id = await studio.start(variants=2, concurrency=9, approval=ALL, seed=5)
    await studio.advance()
    one, other = await studio.under_way()
    assert {one.seed, other.seed} == {(await studio.payload(row.job_id))["properties"]["seed"] for row in (one, other)}
    assert one.seed != other.seed
    assert (await studio.job(one.job_id)).run_id == run_id
    payload = await studio.payload(one.job_id)
    assert payload["workflow"]["3"]["inputs"]["text"] == "a cat"
    assert payload["workflow"]["4"]["inputs"]["seed"] == one.seed
    for row in (one, other):
        await studio.complete(row.job_id)
    await studio.advance()
    children = await studio.under_way()
    assert len(children) == 4
    base = {each.id: each for each in await studio.candidates(run_id, 0)}
    for row in children:
        payload = await studio.payload(row.job_id)
        assert payload["workflow"]["3"]["inputs"]["text"] == "sharper", "a variable called like a property"
        [asset] = payload["assets"]
        assert f"/ai-jobs/{base[row.parent_id].job_id}/" in asset["path"]
    assert await studio.broken() == []


async def test_a_slow_look_is_cut_short_and_goes_on_at_once(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advance, "LOOK_S", 0.0)
    run_id = await studio.start(variants=5, concurrency=4)
    await studio.advance()
    assert [row.ordinal for row in await studio.under_way(run_id)] == [0, 1, 2, 3]
    assert await studio.due() == []
    assert await studio.broken() == []


async def test_a_fixed_seed_is_the_same_for_all(studio: Studio) -> None:
    await studio.start(variants=3, concurrency=3, seed_policy="fixed", seed=77)
    await studio.advance()
    assert [row.seed for row in await studio.under_way()] == [77, 77, 77]


async def test_the_jobs_of_runs_do_not_count_against_their_users_guard(studio: Studio) -> None:
    await studio.start(variants=20, concurrency=20)
    await studio.advance()
    assert len(await studio.under_way()) == 20
    async with studio.house.tenant_tx(studio.member.tenant) as tx:
        await require_room(tx, studio.member.user.id, studio.house.job_rules)


async def test_every_picture_of_a_result_is_a_candidate_and_what_is_none_is_a_failure(studio: Studio) -> None:
    run_id = await studio.start(variants=2, concurrency=2)
    await studio.advance()
    one, other = await studio.under_way()
    await studio.complete(one.job_id, images=3)
    await studio.complete(other.job_id, media_type="video/mp4")
    found = await studio.candidates(run_id)
    assert [(each.image_index, each.job_id) for each in found] == [(at, one.job_id) for at in range(3)]
    [step, *_] = await studio.steps(run_id)
    assert (step.made, step.failures, step.in_flight) == (3, 1, 0)
    assert (await studio.run(run_id)).tokens_spent == 2 * PRICE, "both were paid for"
    assert await studio.broken() == []


async def test_three_failures_of_every_path_fail_the_run_and_a_retry_by_hand_lets_it_go_on(studio: Studio) -> None:
    run_id = await studio.start(variants=5)
    for _ in range(3):
        await studio.advance()
        [row] = await studio.under_way()
        await studio.fail(row.job_id)
    await studio.advance()
    run = await studio.run(run_id)
    assert (run.status, run.tokens_spent, run.jobs_started) == (RunStatus.FAILED, 0, 3)
    assert run.status_reason == "Every path failed. The last error: it broke"
    failed = (await studio.say(pipelines.list_run_jobs, run_id, PageRequest(rows=50), state="failed")).rows
    assert len(failed) == 3
    job = await retry(studio, run_id, failed[0].job_id)
    assert (await studio.run(run_id)).status is RunStatus.RUNNING
    assert (job.retry_of, job.run_id) == (failed[0].job_id, run_id)
    with pytest.raises(IllegalMove):
        await retry(studio, run_id, failed[0].job_id)
    await studio.complete(job.id)
    [made] = await studio.candidates(run_id)
    assert made.seed == failed[0].seed
    assert await studio.broken() == []
    await studio.advance()
    assert len(await studio.under_way()) == 1, "two failures are no longer three"


async def retry(studio: Studio, run_id: RunId, job_id: JobId) -> Job:
    async with studio.house.tenant_tx(studio.member.tenant) as tx:
        return await pipelines.retry_run_job(tx, run_id, job_id, studio.member.user.id, rules=studio.house.job_rules)


async def test_a_parent_whose_children_fail_three_times_is_set_aside(studio: Studio) -> None:
    run_id = await studio.start(variants=1, approval=ALL, concurrency=1)
    await studio.advance()
    [base] = await studio.under_way()
    await studio.complete(base.job_id)
    for _ in range(3):
        await studio.advance()
        [child] = await studio.under_way()
        await studio.fail(child.job_id)
    await studio.advance()
    assert (await studio.run(run_id)).status is RunStatus.FAILED
    assert (await studio.candidates(run_id))[0].failures == 3
    assert await studio.broken() == []


async def test_a_run_pauses_at_each_of_its_budgets_and_goes_on_when_it_is_raised(
    studio: Studio, clock: ManualClock
) -> None:
    run_id = await studio.start(variants=9, jobs_max=2, tokens_max=5 * PRICE, hours_max=1.0)
    assert await studio.work() == 2
    await expect_paused(studio, run_id, "budget_jobs")
    await studio.say(pipelines.raise_budget, run_id, MoreBudget(jobs_max=100))
    assert await studio.work() == 3
    await expect_paused(studio, run_id, "budget_tokens")
    with pytest.raises(InvalidInput):
        await studio.say(pipelines.raise_budget, run_id, MoreBudget(tokens_max=1))
    await studio.say(pipelines.raise_budget, run_id, MoreBudget(tokens_max=1000))
    clock.advance(3601)
    assert await studio.work() == 0
    await expect_paused(studio, run_id, "budget_hours")
    await studio.say(pipelines.raise_budget, run_id, MoreBudget(hours=2))
    assert await studio.work() == 4
    assert (await studio.run(run_id)).status is RunStatus.WAITING_FOR_APPROVAL
    assert await studio.told() == ["run.paused"] * 3 + ["run.waiting_for_approval"]
    assert await studio.broken() == []


async def expect_paused(studio: Studio, run_id: RunId, reason: str) -> None:
    run = await studio.run(run_id)
    assert (run.status, run.status_reason) == (RunStatus.PAUSED, reason)


async def test_a_run_whose_user_has_no_tokens_left_pauses_and_overdraws_nothing(house: House) -> None:
    studio = await Studio.open(house, tokens=35)
    run_id = await studio.start(variants=9, concurrency=9)
    await studio.advance()
    assert (len(await studio.under_way()), await studio.balance()) == (3, 5)
    await expect_paused(studio, run_id, "tokens")
    await credit(house, studio.member.tenant, studio.member.user, 100)
    await studio.say(pipelines.resume_run, run_id)
    await studio.advance()
    assert len(await studio.under_way()) == 9
    assert await studio.broken() == []


async def test_pause_resume_and_stop(studio: Studio) -> None:
    run_id = await studio.start(variants=5, concurrency=2)
    await studio.say(pipelines.pause_run, run_id)
    await studio.advance()
    assert (await studio.under_way(), await studio.due()) == ([], [])
    await studio.say(pipelines.resume_run, run_id)
    await studio.advance()
    await studio.say(pipelines.pause_run, run_id)
    for row in await studio.under_way():
        await studio.complete(row.job_id)
    await studio.advance()
    assert (await studio.under_way(), await studio.due()) == ([], [])
    await studio.say(pipelines.resume_run, run_id)
    await studio.advance()
    assert len(await studio.under_way()) == 2
    run, unwanted = await studio.say(pipelines.stop_run, run_id)
    assert run.status is RunStatus.STOPPED
    assert len(unwanted) == 2
    assert None not in [(await studio.job(job_id)).cancel_requested_at for job_id in unwanted]
    for job_id in unwanted:
        await studio.cancel(job_id)
    run = await studio.run(run_id)
    assert (run.in_flight, run.tokens_spent, run.status) == (0, 2 * PRICE, RunStatus.STOPPED)
    for verb in (pipelines.pause_run, pipelines.resume_run):
        with pytest.raises(IllegalMove):
            await studio.say(verb, run_id)
    with pytest.raises(IllegalMove):
        await studio.approve(run_id, 0)
    assert await studio.broken() == []


async def test_a_tenants_runs_share_its_limit_in_turns(studio: Studio) -> None:
    house = House(**{**vars(studio.house), "run_jobs_per_tenant_max": 4})
    runs = [await studio.start(variants=9, concurrency=9, name=f"run {at}") for at in range(3)]
    for _ in range(6):
        await studio.advance(house=house)
        flying = await studio.under_way()
        assert len(flying) == 4
        await studio.complete(flying[0].job_id)
    started = [(await studio.run(run_id)).jobs_started for run_id in runs]
    assert max(started) - min(started) <= 1, started
    assert await studio.broken() == []


async def test_a_run_stops_at_its_number_of_finals(studio: Studio) -> None:
    run_id = await studio.start(variants=2, top=2, finals=3, concurrency=8, approval=ALL)
    await studio.work()
    assert (await studio.run(run_id)).status is RunStatus.COMPLETED
    assert len(await studio.candidates(run_id, 2)) == 3


async def test_a_gate_opens_by_rule_after_so_many_votes(studio: Studio) -> None:
    run_id = await studio.start(variants=3, top=1, concurrency=3, approval=Approval("votes", after=2))
    await studio.work()
    assert (await studio.run(run_id)).status is RunStatus.WAITING_FOR_APPROVAL
    one, two, three = await studio.candidates(run_id)
    await studio.vote(three.id, one.id)
    await studio.advance()
    assert await studio.under_way() == []
    await studio.vote(three.id, two.id)
    await studio.advance()
    assert {row.parent_id for row in await studio.under_way()} == {three.id}
    assert (await studio.run(run_id)).status is RunStatus.RUNNING
    [gate, *_] = await studio.steps(run_id)
    assert (gate.approved_by, gate.top) == ("policy:votes", 1)


async def test_a_gate_that_a_scorer_opens_waits_for_it_and_passes_the_others_over(studio: Studio) -> None:
    run_id = await studio.start(variants=3, top=2, concurrency=3, approval=Approval("scorer", scorer="sharpness"))
    await studio.work()
    assert ((await studio.run(run_id)).status, await studio.due()) == (RunStatus.RUNNING, [run_id])
    one, two, three = await studio.candidates(run_id)
    async with studio.house.tenant_tx(studio.member.tenant) as tx:
        await pipelines.record_scores(tx, run_id, [(one.id, {"sharpness": 0.1}), (two.id, {"sharpness": 0.9})])
        over = [one.id]
        assert await pipelines.approve_by_scorer(tx, run_id, 0, passed_over=over, scorer="sharpness")
        assert not await pipelines.approve_by_scorer(tx, run_id, 0, passed_over=over, scorer="sharpness")
    await studio.advance()
    assert {row.parent_id for row in await studio.under_way()} == {two.id, three.id}
    assert [each.scores for each in await studio.candidates(run_id, 0)] == [
        {"sharpness": 0.1},
        {"sharpness": 0.9},
        None,
    ]


async def test_a_person_who_wants_more_than_a_scorer_left_gets_them(studio: Studio) -> None:
    run_id = await studio.start(variants=3, top=1, concurrency=9, approval=Approval("scorer", scorer="unique"))
    await studio.work()
    kept, *others = await studio.candidates(run_id)
    async with studio.house.tenant_tx(studio.member.tenant) as tx:
        over = [each.id for each in others]
        await pipelines.approve_by_scorer(tx, run_id, 0, passed_over=over, scorer="unique")
    await studio.approve(run_id, 0, top=1)
    await studio.advance()
    assert {row.parent_id for row in await studio.under_way()} == {kept.id}
    await studio.approve(run_id, 0, top=3)
    await studio.advance()
    assert {row.parent_id for row in await studio.under_way()} == {kept.id, *over}
    assert await studio.broken() == []


async def test_a_run_of_which_nothing_may_go_on_fails_and_says_why(studio: Studio) -> None:
    passed, rejected = [
        await studio.start(variants=1, approval=Approval("scorer", scorer="unique")),
        await studio.start(variants=1),
    ]
    await studio.work()
    [one], [other] = await studio.candidates(passed), await studio.candidates(rejected)
    async with studio.house.tenant_tx(studio.member.tenant) as tx:
        await pipelines.approve_by_scorer(tx, passed, 0, passed_over=[one.id], scorer="unique")
    await studio.say(pipelines.reject_candidate, other.id)
    await studio.advance()
    ends = [await studio.run(run_id) for run_id in (passed, rejected)]
    assert [run.status for run in ends] == [RunStatus.FAILED] * 2
    assert "a scorer passed it over" in str(ends[0].status_reason)
    assert ends[1].status_reason == "Everything it made was rejected."


async def test_a_gate_can_be_reopened_and_approved_again_with_more(studio: Studio) -> None:
    run_id = await studio.start(variants=2, concurrency=9)
    with pytest.raises(InvalidInput, match="no candidates"):
        await studio.approve(run_id, 0)
    await studio.work()
    with pytest.raises(IllegalMove):
        await studio.say(pipelines.reopen_step, run_id, 0)
    with pytest.raises(InvalidInput, match="last step"):
        await studio.approve(run_id, 2)
    with pytest.raises(NotFound):
        await studio.approve(run_id, 3)
    with pytest.raises(InvalidInput, match="top"):
        await studio.approve(run_id, 0, top=0)
    await studio.approve(run_id, 0, top=1)
    await studio.advance()
    assert len(await studio.under_way()) == 2
    await studio.say(pipelines.reopen_step, run_id, 0)
    await studio.work()
    assert (await studio.run(run_id)).status is RunStatus.WAITING_FOR_APPROVAL
    await studio.approve(run_id, 0, top=2)
    assert await studio.work() == 2
    assert await studio.broken() == []


async def test_a_picture_that_is_gone_gets_no_children_and_the_run_goes_on(studio: Studio) -> None:
    run_id = await studio.start(variants=2, concurrency=9)
    await studio.work()
    lost, kept = await studio.candidates(run_id)
    async with studio.house.tenant_tx(studio.member.tenant) as tx:
        await storage.delete_files(tx, [lost.file_id], studio.member.user.id)
    await studio.approve(run_id, 0)
    await studio.work()
    assert {each.parent_id for each in await studio.candidates(run_id, 1)} == {kept.id}
    assert (await studio.run(run_id)).status is RunStatus.WAITING_FOR_APPROVAL
    assert await studio.broken() == []


async def test_an_effect_that_is_withdrawn_pauses_its_runs_and_says_why(studio: Studio) -> None:
    run_id = await studio.start(variants=2, concurrency=1)
    await studio.advance()
    async with studio.house.control_tx() as tx:
        await effects.unpublish_effect(tx, "base")
    await studio.work()
    run = await studio.run(run_id)
    assert run.status is RunStatus.PAUSED
    assert "'base'" in str(run.status_reason)
    async with studio.house.control_tx() as tx:
        await effects.publish_effect(tx, "base")
    await studio.say(pipelines.resume_run, run_id)
    await studio.work()
    assert (await studio.run(run_id)).status is RunStatus.WAITING_FOR_APPROVAL


async def test_the_same_key_starts_one_run(studio: Studio) -> None:
    first, again = await studio.start_once(idempotency_key="k"), await studio.start_once(idempotency_key="k")
    assert (first[0].id, first[1], again[1]) == (again[0].id, False, True)
    with pytest.raises(KeyReused):
        await studio.start_once(idempotency_key="k", variants=3)


async def test_another_user_sees_no_run(studio: Studio) -> None:
    run_id = await studio.start()
    async with studio.house.tenant_tx(studio.member.tenant) as tx:
        with pytest.raises(NotFound):
            await pipelines.read_run(tx, run_id, UserId(new_id()))


async def test_the_same_pipeline_is_one_version_and_a_changed_one_the_next(studio: Studio) -> None:
    same = await studio.apply(name="Gym shoot", steps=STEPS)
    assert same.id == studio.pipeline.id
    other = await studio.apply(name="Gym shoot", steps=STEPS[:1])
    assert (other.version, len(other.steps)) == (2, 1)
    async with studio.house.tenant_tx(studio.member.tenant) as tx:
        assert (await pipelines.find_pipeline(tx, "gym-shoot")).id == other.id
        await pipelines.archive_pipeline(tx, other.id)
        with pytest.raises(NotFound):
            await pipelines.find_pipeline(tx, "gym-shoot")
    assert (await studio.apply(name="Gym shoot", steps=STEPS[:1])).version == 3
