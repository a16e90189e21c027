"""Stopping one job, and only that one."""

from collections import deque

import pytest

from comfyfleet.comfy.cloud import CloudConnector
from comfyfleet.comfy.errors import CancelUnconfirmed
from comfyfleet.comfy.model import Prompt, new_prompt, new_prompt_id
from tests.contract.comfy.cloud.walking import GRAPH, JumpingClock
from tests.fake_cloud import FakeCloud, says


async def test_a_cancelled_job_is_seen_to_have_stopped(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    cloud.words = ("in_progress",)
    await connector.submit(prompt)
    other = await connector.submit(new_prompt(GRAPH))
    assert await connector.cancel(prompt.prompt_id)
    assert list(cloud.jobs[other.prompt_id].words) == ["in_progress"]
    assert cloud.posts("/api/interrupt") == []


async def test_where_the_route_is_missing_the_queue_is_asked(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    cloud.has_cancel_route = False
    cloud.words = ("pending",)
    await connector.submit(prompt)
    assert await connector.cancel(prompt.prompt_id)
    assert cloud.posts("/api/interrupt") == []


async def test_what_ended_by_itself_was_not_cancelled(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    await connector.submit(prompt)
    cloud.job.words, cloud.job.cancels = deque(["in_progress", "completed"]), False
    assert not await connector.cancel(prompt.prompt_id)


async def test_what_never_was_is_not_cancelled(connector: CloudConnector) -> None:
    assert not await connector.cancel(new_prompt_id())


async def test_what_goes_on_is_told(
    connector: CloudConnector, cloud: FakeCloud, clock: JumpingClock, prompt: Prompt
) -> None:
    await connector.submit(prompt)
    cloud.job.words, cloud.job.cancels = deque(["in_progress"]), False
    with pytest.raises(CancelUnconfirmed):
        await connector.cancel(prompt.prompt_id)
    assert clock.now_s <= 30


async def test_cancelling_waits_when_asked_to(
    connector: CloudConnector, cloud: FakeCloud, clock: JumpingClock, prompt: Prompt
) -> None:
    cloud.words = ("pending",)
    await connector.submit(prompt)
    cloud.answers(f"/api/jobs/{cloud.job.id}/cancel", says(429, Retry_After="9"))
    assert await connector.cancel(prompt.prompt_id)
    assert clock.slept == [9]


async def test_a_process_that_starts_anew_finds_the_job_by_our_id(
    cloud: FakeCloud, connector: CloudConnector, impatient: CloudConnector, prompt: Prompt
) -> None:
    cloud.words = ("in_progress",)
    await connector.submit(prompt)
    assert await impatient.cancel(prompt.prompt_id)
    assert list(cloud.job.words) == ["cancelled"]
