"""Everything at once, by seed: whatever happens to a prompt, it ends in one outcome, and in a true one."""

import asyncio
import random
from dataclasses import dataclass

import pytest

from comfyfleet.comfy.model import Cancelled, Completed, Failed, FailureClass, Returned
from comfyfleet.comfy.verdict import ReturnReason
from comfyfleet.comfy.watch import Attempt
from tests.contract.comfy.fake_comfy import FakeComfy, Job, a_prompt
from tests.contract.comfy.watching import Seen, watch_to_the_end
from tests.virtual_time import run_virtually

SEEDS_IN_CI = 200
SEEDS_IN_SOAK = 10_000


@dataclass
class Story:
    seed: int
    chance: random.Random
    server: FakeComfy
    job: Job
    other: Job
    attempt: Attempt
    deadline_s: float
    memory_lost: bool = False  # by a restart, or by somebody who clears the history
    meddled: bool = False  # somebody else interrupted or cleared the queue


def _arrange(story: Story) -> None:
    chance, server = story.chance, story.server
    server.latency_s = chance.choice([0.001, 0.05, 1.0, 4.9])
    server.reconnect_s = chance.choice([0.1, 2.0, 40.0])
    if chance.random() < 0.4:
        server.drop_at = chance.randrange(60)
    if chance.random() < 0.3:
        server.silent_from = chance.randrange(60)
    if chance.random() < 0.2:
        for _ in range(5):
            start_s = chance.uniform(0, 60)
            server.later(start_s, setattr, server, "answers_garbage", True)
            server.later(start_s + chance.uniform(0, 20), setattr, server, "answers_garbage", False)
    if chance.random() < 0.25:
        story.memory_lost = True
        down_s = chance.choice([1.0, 20.0, 90.0, 1000.0])
        server.later(chance.uniform(0, 60), lambda: server.restart(down_s=down_s))
    if chance.random() < 0.15:
        story.memory_lost = True
        server.later(chance.uniform(0, 60), server.entries.clear)
    if chance.random() < 0.2:
        story.meddled = True
        server.later(chance.uniform(0, 40), server.interrupt_whatever_runs)
    if chance.random() < 0.1:
        story.meddled = True
        server.later(chance.uniform(0, 10), server.pending.clear)
    if chance.random() < 0.25:
        server.later(chance.uniform(0, 60), story.attempt.ask_cancel)


def _enqueue(story: Story) -> None:
    before_s = story.chance.uniform(0, 25) if story.attempt.submit_ambiguous else 0.0
    if story.chance.random() < 0.5:
        story.server.enqueue(story.other)
        story.server.later(before_s, story.server.enqueue, story.job)
    else:
        story.server.later(before_s, story.server.enqueue, story.job)
        story.server.later(before_s, story.server.enqueue, story.other)


def _a_job(chance: random.Random) -> Job:
    return Job(
        a_prompt(),
        node_s=chance.choice([0.01, 1.0, 10.0]),
        cached=chance.random() < 0.2,
        silent_s=chance.choice([0.0, 0.0, 100.0]),
        hangs=chance.random() < 0.05,
        history_late_s=chance.choice([0.0, 0.001, 2.0]),
    )


async def _live(seed: int) -> tuple[Story, Seen]:
    chance = random.Random(seed)
    server = FakeComfy()
    job = _a_job(chance)
    attempt = Attempt(job.prompt, submit_ambiguous=chance.random() < 0.2)
    story = Story(seed, chance, server, job, Job(a_prompt(), node_s=5.0), attempt, chance.choice([30.0, 400.0]))
    server.feed(job.prompt.prompt_id)
    _arrange(story)
    _enqueue(story)
    try:
        seen = await watch_to_the_end(server, attempt, deadline_s=story.deadline_s)
        _check(story, seen)
        return story, seen
    finally:
        await server.close()


def _check(story: Story, seen: Seen) -> None:
    ours, server = story.job.prompt.prompt_id, story.server
    assert set(server.interrupted_ids) <= {ours}
    assert set(server.deleted_ids) <= {ours}
    assert server.runs.count(ours) <= 1
    # The time an interruption may take, and requests of 5 s that were under way: a look, a push, a last look.
    assert seen.took_s <= story.deadline_s + 30 + 5 * 5
    match seen.outcome:
        case Completed(outputs=outputs):
            assert story.job.done
            assert [file.filename for file in outputs] == ["a_00001_.png"]
        case Returned(reason=reason):
            _check_returned(story, reason)
        case Cancelled():
            assert story.attempt.cancel_asked
        case Failed(failure=failure):
            assert failure in (FailureClass.TIMEOUT, FailureClass.SERVER_FAULT)
            assert seen.took_s >= story.deadline_s
            assert failure is FailureClass.TIMEOUT or story.job.hangs or story.job.silent_s


def _check_returned(story: Story, reason: str) -> None:
    """Nothing runs twice that had finished: it is given back only if it had not, or if the server has forgotten it."""
    assert not story.job.done or story.memory_lost
    match reason:
        case ReturnReason.INTERRUPTED:
            assert story.meddled
        case ReturnReason.LOST | ReturnReason.SERVER_RESTARTED:
            assert story.memory_lost or story.meddled
        case ReturnReason.UNREACHABLE:
            assert story.memory_lost
        case ReturnReason.NEVER_QUEUED:
            assert story.attempt.submit_ambiguous
            assert story.memory_lost or story.meddled
        case _:
            raise AssertionError(reason)
    waiting = [job.prompt.prompt_id for job in story.server.pending]
    running = story.server.running
    if reason != ReturnReason.UNREACHABLE:
        assert story.job.prompt.prompt_id not in waiting
        assert running is None or running.prompt is not story.job.prompt


@pytest.fixture
def seeds(soak: bool) -> range:
    return range(SEEDS_IN_SOAK if soak else SEEDS_IN_CI)


def test_whatever_happens_there_is_one_outcome_and_it_is_true(seeds: range) -> None:
    endings: dict[str, int] = {}
    for seed in seeds:
        try:
            _, seen = run_virtually(_live(seed))
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise
        name = type(seen.outcome).__name__ + (seen.outcome.reason if isinstance(seen.outcome, Returned) else "")
        endings[name] = endings.get(name, 0) + 1
    # A simulation in which nothing goes wrong, or everything does, proves little.
    assert endings["Completed"] > len(seeds) / 4
    assert {"Cancelled", "Failed", "Returnedinterrupted", "Returnedserver_restarted"} <= set(endings), endings


async def _delayed(seconds: float) -> float:
    before_s = asyncio.get_running_loop().time()
    await asyncio.sleep(seconds)
    return asyncio.get_running_loop().time() - before_s


def test_virtual_hours_are_exact_and_take_no_time() -> None:
    assert run_virtually(_delayed(36_000.0)) == 36_000.0
