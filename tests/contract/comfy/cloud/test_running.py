"""A prompt on Comfy Cloud from the submission to its one outcome."""

from collections import deque
from datetime import timedelta
from email.utils import format_datetime

import pytest

from comfyfleet.comfy.cloud import CloudConnector
from comfyfleet.comfy.model import (
    Absent,
    Cancelled,
    Checked,
    Completed,
    Failed,
    FailureClass,
    Finished,
    Pending,
    Progress,
    Prompt,
    Queued,
    Returned,
    Running,
)
from comfyfleet.comfy.verdict import service_reason
from tests.contract.comfy.cloud.walking import STARTED, JumpingClock, run, seen
from tests.fake_cloud import FakeCloud, cut_short, endless, raw, says, silent


async def test_a_prompt_waits_runs_and_completes_with_its_files(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    updates = await run(connector, prompt)
    assert updates[:2] == [Queued(0), Progress(fraction=0.0, nodes_total=2)]
    (completed,) = updates[2:]
    assert isinstance(completed, Completed)
    assert [(file.node, file.key, file.filename) for file in completed.outputs] == [("9", "images", "cat_00001_.png")]


async def test_the_chosen_output_node_comes_first(connector: CloudConnector, cloud: FakeCloud, prompt: Prompt) -> None:
    cloud.outputs = {
        "2": {"images": [{"filename": "preview.png", "subfolder": "", "type": "temp"}]},
        "4": {"gifs": [{"filename": "a.mp4", "subfolder": "", "type": "output", "format": "video/h264-mp4"}]},
        "9": {"images": [{"filename": "b.png", "subfolder": "", "type": "output"}]},
    }
    completed = (await run(connector, prompt))[-1]
    assert isinstance(completed, Completed)
    assert [file.filename for file in completed.outputs] == ["b.png", "a.mp4", "preview.png"]


@pytest.mark.parametrize("word", ["success", "completed", "COMPLETED"])
async def test_words_between_are_passed_whatever_they_are(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt, word: str
) -> None:
    cloud.words = ("allocated", "defrosting", "retryable_error", "executing", "", word)
    assert isinstance((await run(connector, prompt))[-1], Completed)


async def test_the_interval_of_polling_grows_and_starts_anew_when_the_state_moves(
    connector: CloudConnector, cloud: FakeCloud, clock: JumpingClock, prompt: Prompt
) -> None:
    cloud.words = ("pending",) * 5 + ("in_progress",) * 2 + ("completed",)
    await run(connector, prompt)
    assert clock.slept == [1, 2, 4, 7.5, 7.5, 1, 2]


async def test_a_failed_job_names_its_class_node_and_exception(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    await connector.submit(prompt)
    cloud.job.words = deque(["in_progress", "error"])
    cloud.job.error = {
        "node_id": "3",
        "node_type": "KSampler",
        "exception_type": "OOMError",
        "exception_message": "Allocation on device",
        "traceback": [],
        "current_inputs": {},
        "current_outputs": {},
    }
    failed = (await seen(connector, prompt))[-1]
    assert failed == Failed(
        FailureClass.OUT_OF_MEMORY, "Allocation on device", node="3", node_class="KSampler", exception_type="OOMError"
    )


async def test_why_a_job_failed_is_taken_from_the_status_when_nothing_else_answers(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    await connector.submit(prompt)
    cloud.job.words = deque(["non_retryable_error"])
    cloud.job.error_message = "the machine caught fire"
    cloud.answers(f"/api/jobs/{cloud.job.id}", says(500))
    assert await seen(connector, prompt) == [Failed(FailureClass.EXECUTION_ERROR, "the machine caught fire")]


async def test_a_lost_job_is_given_back(connector: CloudConnector, cloud: FakeCloud, prompt: Prompt) -> None:
    cloud.words = ("pending", "lost")
    lost = (await run(connector, prompt))[-1]
    assert isinstance(lost, Returned)
    assert service_reason(lost) == "service_job_not_found"


async def test_each_answer_about_a_job_is_a_health_check(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    cloud.words = ("pending", "in_progress", "in_progress", "completed")
    await connector.submit(prompt)
    told = [each async for each in connector.watch(prompt, deadline_s=3600) if isinstance(each, Checked)]
    assert [each.reason for each in told] == ["waiting", "running", "running"]


async def test_cancelled_by_us_and_by_somebody_else_are_two_things(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    cloud.words = ("in_progress",)
    await connector.submit(prompt)
    cloud.job.words = deque(["cancelled"])
    assert isinstance((await seen(connector, prompt))[-1], Returned)
    cloud.job.words = deque(["in_progress"])
    assert await connector.cancel(prompt.prompt_id)
    assert await seen(connector, prompt) == [Cancelled()]


async def test_outputs_that_are_listed_late_are_waited_for(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    await connector.submit(prompt)
    cloud.job.words = deque(["completed"])
    cloud.job.history_after_reads = 2
    route = f"/api/jobs/{cloud.job.id}"
    cloud.answers(route, says(404), says(404))
    (completed,) = await seen(connector, prompt)
    assert isinstance(completed, Completed)
    assert len(cloud.gets(f"/api/history_v2/{cloud.job.id}")) == 3


async def test_the_newer_route_stands_in_when_the_deprecated_one_is_gone(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    await connector.submit(prompt)
    cloud.job.words = deque(["completed"])
    cloud.job.history_after_reads = 10**6
    (completed,) = await seen(connector, prompt)
    assert isinstance(completed, Completed)
    assert len(completed.outputs) == 1


async def test_completed_without_any_output_is_no_success(
    connector: CloudConnector, cloud: FakeCloud, clock: JumpingClock, prompt: Prompt
) -> None:
    cloud.outputs, cloud.words = {}, ("completed",)
    (failed,) = await run(connector, prompt)
    assert isinstance(failed, Failed)
    assert failed.failure is FailureClass.INFRA
    assert clock.now_s <= 30


async def test_trouble_of_every_kind_does_not_end_the_watching(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    await connector.submit(prompt)
    cloud.job.words = deque(["in_progress", "completed"])
    cloud.answers(
        f"/api/job/{cloud.job.id}/status",
        says(500),
        says(503),
        raw("<html>maintenance</html>", media_type="text/html"),
        raw("{"),
        raw('{"id": 3}'),
        raw('{"status": null}'),
        raw("[]"),
        raw(b"\xff\xfe"),
        raw("", status=302),
        cut_short(b'{"status": "comp'),
        says(404),
        says(418),
    )
    updates = await seen(connector, prompt)
    assert isinstance(updates[-1], Completed)
    assert len(updates) == 2


async def test_an_answer_without_end_is_cut_off(connector: CloudConnector, cloud: FakeCloud, prompt: Prompt) -> None:
    await connector.submit(prompt)
    cloud.job.words = deque(["completed"])
    cloud.answers(f"/api/job/{cloud.job.id}/status", endless())
    assert isinstance((await seen(connector, prompt))[-1], Completed)


async def test_a_job_that_stays_unknown_is_given_back(
    connector: CloudConnector, cloud: FakeCloud, clock: JumpingClock, prompt: Prompt
) -> None:
    await connector.submit(prompt)
    cloud.jobs.clear()
    (returned,) = await seen(connector, prompt)
    assert isinstance(returned, Returned)
    assert 20 <= clock.now_s < 60


@pytest.mark.parametrize("status", [401, 402, 403])
async def test_a_key_that_is_refused_while_watching_ends_in_a_fault_of_that_server(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt, status: int
) -> None:
    await connector.submit(prompt)
    cloud.answers(f"/api/job/{cloud.job.id}/status", says(status))
    (failed,) = await seen(connector, prompt)
    assert isinstance(failed, Failed)
    assert failed.failure is FailureClass.SERVER_FAULT


async def test_the_deadline_stands_above_everything_and_stops_what_costs(
    connector: CloudConnector, cloud: FakeCloud, clock: JumpingClock, prompt: Prompt
) -> None:
    cloud.words = ("in_progress",)
    updates = await run(connector, prompt, deadline_s=100)
    assert isinstance(updates[-1], Failed)
    assert updates[-1].failure is FailureClass.TIMEOUT
    assert 100 <= clock.now_s < 110
    assert list(cloud.job.words) == ["cancelled"]


async def test_what_completes_at_the_very_deadline_is_taken(
    connector: CloudConnector, cloud: FakeCloud, clock: JumpingClock, prompt: Prompt
) -> None:
    cloud.words = ("in_progress", "completed")
    updates = await run(connector, prompt, deadline_s=0.5)
    assert isinstance(updates[-1], Completed)
    assert clock.now_s == 0.5


async def test_polling_obeys_retry_after_in_seconds_and_as_a_date(
    connector: CloudConnector, cloud: FakeCloud, clock: JumpingClock, prompt: Prompt
) -> None:
    await connector.submit(prompt)
    cloud.job.words = deque(["completed"])
    at = format_datetime(STARTED + timedelta(seconds=47 + 60), usegmt=True)
    cloud.answers(f"/api/job/{cloud.job.id}/status", says(429, Retry_After="47"), says(429, Retry_After=at), says(429))
    await seen(connector, prompt)
    assert clock.slept[:2] == [47, 60]
    assert len(clock.slept) == 3


async def test_a_silent_cloud_does_not_outlast_the_deadline(
    cloud: FakeCloud, clock: JumpingClock, prompt: Prompt, impatient: CloudConnector
) -> None:
    await impatient.submit(prompt)
    route = f"/api/job/{cloud.job.id}/status"
    cloud.answers(route, silent(cloud))
    cloud.job.words = deque(["completed"])
    assert isinstance((await seen(impatient, prompt))[-1], Completed)
    assert len(cloud.gets(route)) == 2


async def test_finding_a_prompt_by_our_id_and_by_the_clouds(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    assert await connector.find(prompt.prompt_id) == Absent()
    submitted = await connector.submit(prompt)
    found = []
    for words in (["pending"], ["in_progress"], ["lost"]):
        cloud.job.words = deque(words)
        found.append(await connector.find(prompt.prompt_id))
    assert found == [Pending(0), Running(), Absent()]
    cloud.job.words = deque(["completed"])
    finished = await connector.find(submitted.prompt_id)
    assert isinstance(finished, Finished)
    assert finished.entry.outputs == cloud.outputs
    await connector.forget(prompt.prompt_id)
    assert cloud.jobs == {}
