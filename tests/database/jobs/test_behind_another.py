"""A job that its worker holds and has not begun is queued for its user, and ends like any other."""

from typing import Any

import pytest

from comfyfleet.dispatch import FailureClass, Grant
from comfyfleet.house import House
from comfyfleet.jobs import JobStatus
from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.kernel.ids import DispatchId, JobId
from comfyfleet.live.model import JobState
from comfyfleet.live.states import BEHIND, ON_ITS_SERVER, TAKEN
from comfyfleet.upkeep import tell_starts
from tests.conftest import ManualClock
from tests.database.jobs.atelier import PRICE, RICH, Atelier


@pytest.fixture
async def atelier(house: House) -> Atelier:
    return await Atelier.open(house)


async def _state(atelier: Atelier, job_id: JobId) -> JobState:
    return (await atelier.house.live.states.read(atelier.pool, [job_id]))[job_id]


async def _how_it_stands(atelier: Atelier, job_id: JobId) -> tuple[JobStatus, str | None]:
    state = await _state(atelier, job_id)
    return state.status, None if state.waiting is None else state.waiting.because


async def _two(atelier: Atelier) -> tuple[Grant, Grant]:
    """The first runs; the second waits on the same worker."""
    for key in ("first", "second"):
        await atelier.order(key)
    await atelier.relay()
    runs = await atelier.queue.lease(atelier.holder)
    waits = await atelier.queue.lease(atelier.holder, begins=False)
    assert runs is not None
    assert waits is not None
    return runs, waits


ENDS: dict[str, Any] = {"completed": None, "failed": FailureClass.USER_INPUT, "cancelled": FailureClass.CANCELLED}


@pytest.mark.parametrize("end", ENDS)
async def test_it_stays_queued_and_ends_without_ever_having_been_processing(atelier: Atelier, end: str) -> None:
    runs, waits = await _two(atelier)
    job_id = JobId(waits.dispatch_id)
    assert (await _how_it_stands(atelier, JobId(runs.dispatch_id)))[0] == JobStatus.PROCESSING
    assert await _how_it_stands(atelier, job_id) == (JobStatus.QUEUED, BEHIND)
    if end == "completed":  # its reports were lost on the way
        await atelier.complete_with(waits, await atelier.upload(waits))
    else:
        await atelier.queue.fail(waits, atelier.holder, ENDS[end])
    await atelier.settle()
    state = await _state(atelier, job_id)
    assert state.status == end
    began = state.started_at is not None
    assert began == (end == "completed"), "what was never begun says so"
    assert ("job.started" in await atelier.events_of(job_id)) == began
    assert f"job.{end}" in await atelier.events_of(job_id)
    assert await atelier.balance() == RICH - 2 * PRICE + (0 if end == "completed" else PRICE)
    await atelier.complete_with(runs, await atelier.upload(runs))
    await atelier.settle()
    assert await atelier.broken() == []


async def test_it_is_processing_from_when_its_worker_says_so_and_never_queued_again(
    atelier: Atelier, clock: ManualClock
) -> None:
    _, waits = await _two(atelier)
    job_id, starts = JobId(waits.dispatch_id), atelier.house.desk.starts
    clock.advance(20)
    for told in (1, 0):  # every report says it
        starts.note(DispatchId(job_id), just_now=True)
        assert await tell_starts.tick(atelier.house) == told
    assert await _how_it_stands(atelier, job_id) == (JobStatus.PROCESSING, None)
    state = await _state(atelier, job_id)
    assert state.started_at is not None
    assert (state.read_at - state.started_at).total_seconds() < 10, "when it began, not when it was leased"
    assert (await atelier.events_of(job_id)).count("job.started") == 1
    await atelier.queue.beat(waits, atelier.holder)
    assert (await _how_it_stands(atelier, job_id))[0] == JobStatus.PROCESSING


async def test_one_that_is_alone_says_what_it_waits_for(atelier: Atelier) -> None:
    await atelier.order("alone")
    await atelier.relay()
    grant = await atelier.queue.lease(atelier.holder, begins=False)
    assert grant is not None
    job_id = JobId(grant.dispatch_id)
    assert await _how_it_stands(atelier, job_id) == (JobStatus.QUEUED, TAKEN)
    await atelier.queue.beat(grant, atelier.holder, service_status="queued")
    assert await _how_it_stands(atelier, job_id) == (JobStatus.QUEUED, ON_ITS_SERVER)
    await atelier.queue.beat(grant, atelier.holder, service_status="running")
    assert await _how_it_stands(atelier, job_id) == (JobStatus.PROCESSING, None)


async def test_a_start_that_its_database_could_not_take_is_told_later(
    atelier: Atelier, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, waits = await _two(atelier)
    job_id, house = JobId(waits.dispatch_id), atelier.house
    house.desk.starts.note(DispatchId(job_id), just_now=True)
    with monkeypatch.context() as patch:
        patch.setattr(type(house.pools[atelier.pool]), "tenant_tx", _away)
        assert await tell_starts.tick(house) == 0
    assert await tell_starts.tick(house) == 1
    assert (await _how_it_stands(atelier, job_id))[0] == JobStatus.PROCESSING


def _away(*_: Any) -> Any:
    raise DatabaseUnavailable("main")
