"""Handing prompts and files to Comfy Cloud: once, and with a reason when it refuses."""

import json
from pathlib import Path

import pytest

from comfyfleet.comfy.cloud import CloudConnector, CloudSettings
from comfyfleet.comfy.cloud.errors import (
    CloudBusy,
    CloudTrouble,
    CreditsSpent,
    KeyRefused,
    NotYourJob,
    SubmissionUnknown,
    SubscriptionInactive,
)
from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.errors import PromptRefused, ServerUnreachable, UploadRefused
from comfyfleet.comfy.model import Completed, Prompt, UploadedFile, new_prompt
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.secret import Secret
from tests.contract.comfy.cloud.walking import GRAPH, JumpingClock, seen
from tests.fake_cloud import (
    KEY,
    PICTURE,
    FakeCloud,
    Seen,
    cut_short,
    done_but_cut_short,
    endless,
    raw,
    says,
    silent,
)
from tests.server import free_port


def of_body(request: Seen) -> dict[str, object]:
    body: dict[str, object] = json.loads(request.body)
    return body


async def test_a_worker_sees_one_interface(connector: CloudConnector) -> None:
    same: Connector = connector
    assert (same.provider, same.online) == ("cloud", True)


async def test_the_cloud_gets_the_graph_our_mark_and_the_key(connector: CloudConnector, cloud: FakeCloud) -> None:
    extra = {"extra_pnginfo": {"workflow": {"id": "other", "nodes": []}, "more": 1}, "ours": "kept"}
    prompt = new_prompt(GRAPH, extra_data=extra)
    submitted = await connector.submit(prompt)
    (post,) = cloud.posts("/api/prompt")
    marked = {"workflow": {"id": prompt.prompt_id, "nodes": []}, "more": 1}
    assert of_body(post) == {"prompt": GRAPH, "extra_data": {"extra_pnginfo": marked, "ours": "kept"}}
    assert post.headers["x-api-key"] == KEY
    assert submitted.prompt_id == cloud.job.id != prompt.prompt_id


async def test_a_prompt_whose_answer_was_lost_is_found_and_not_paid_twice(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    cloud.answers("/api/prompt", done_but_cut_short(cloud))
    submitted = await connector.submit(prompt)
    assert len(cloud.posts("/api/prompt")) == 1
    assert submitted.prompt_id == cloud.job.id
    assert isinstance((await seen(connector, prompt))[-1], Completed)


async def test_a_prompt_that_is_queued_only_after_the_answer_was_lost_is_found_too(
    connector: CloudConnector, cloud: FakeCloud, clock: JumpingClock, prompt: Prompt
) -> None:
    nothing = raw('{"jobs": [], "pagination": {}}')
    cloud.answers("/api/prompt", done_but_cut_short(cloud))
    cloud.answers("/api/jobs", nothing, says(500), nothing, says(429), nothing)
    await connector.submit(prompt)
    assert len(cloud.posts("/api/prompt")) == len(cloud.jobs) == 1
    assert clock.now_s > 5


async def test_a_post_that_times_out_is_looked_for(cloud: FakeCloud, prompt: Prompt, impatient: CloudConnector) -> None:
    cloud.answers("/api/prompt", silent(cloud, then=done_but_cut_short(cloud)))
    submitted = await impatient.submit(prompt)
    assert submitted.prompt_id == cloud.job.id
    assert len(cloud.posts("/api/prompt")) == 1


@pytest.mark.parametrize(
    "lost", [cut_short(), says(500), says(502), raw("<html>ok</html>"), raw("{}"), raw("[1"), endless()]
)
async def test_a_prompt_that_never_arrived_is_posted_again_once_that_is_certain(
    connector: CloudConnector, cloud: FakeCloud, clock: JumpingClock, prompt: Prompt, lost: object
) -> None:
    cloud.answers("/api/prompt", lost)  # type: ignore[arg-type]
    submitted = await connector.submit(prompt)
    assert submitted.prompt_id == cloud.job.id
    assert len(cloud.posts("/api/prompt")) == 2
    assert clock.now_s > 20  # it was looked for, to the end


async def test_jobs_of_others_are_not_taken_for_ours(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    await connector.submit(new_prompt(GRAPH))
    cloud.answers("/api/prompt", cut_short())
    everything = cloud.listed({})
    cloud.answers("/api/jobs", raw(bytes(everything.body)))
    submitted = await connector.submit(prompt)
    assert len(cloud.jobs) == 2
    assert cloud.jobs[submitted.prompt_id].workflow_id == prompt.prompt_id


async def test_when_looking_fails_too_nothing_is_posted_again(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    cloud.answers("/api/prompt", done_but_cut_short(cloud))
    cloud.answers("/api/jobs", *[says(500)] * 20)
    with pytest.raises(SubmissionUnknown, match=prompt.prompt_id):
        await connector.submit(prompt)
    assert len(cloud.posts("/api/prompt")) == 1


async def test_a_second_loss_is_told_after_a_second_look(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt
) -> None:
    cloud.answers("/api/prompt", says(500), says(503, message="back soon"))
    with pytest.raises(CloudTrouble, match=r"503.*back soon"):
        await connector.submit(prompt)
    assert len(cloud.posts("/api/prompt")) == 2


async def test_a_cloud_that_is_not_there_is_told_at_once(clock: JumpingClock, prompt: Prompt) -> None:
    settings = CloudSettings(url=f"http://127.0.0.1:{free_port()}")
    async with CloudConnector(Secret(KEY), settings=settings, clock=clock) as connector:
        with pytest.raises(ServerUnreachable) as raised:
            await connector.submit(prompt)
    assert raised.value.code == "server_unreachable"
    assert clock.slept == []


async def test_a_bad_workflow_names_node_and_input(connector: CloudConnector, cloud: FakeCloud, prompt: Prompt) -> None:
    fault = {"type": "value_not_in_list", "message": "Value not in list", "details": "ckpt_name", "extra_info": {}}
    fault["extra_info"] = {"input_name": "ckpt_name"}
    refusal = {
        "error": {"type": "prompt_outputs_failed_validation", "message": "Prompt outputs failed validation"},
        "node_errors": {"4": {"errors": [fault], "class_type": "CheckpointLoaderSimple"}},
    }
    cloud.answers("/api/prompt", raw(json.dumps(refusal), status=400))
    with pytest.raises(PromptRefused) as raised:
        await connector.submit(prompt)
    (found,) = raised.value.node_errors
    assert (found.node, found.class_type, found.input_name) == ("4", "CheckpointLoaderSimple", "ckpt_name")
    assert len(cloud.posts("/api/prompt")) == 1


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (401, "UNAUTHORIZED", KeyRefused),
        (402, "INSUFFICIENT_CREDITS", CreditsSpent),
        (403, "FORBIDDEN", NotYourJob),
        (413, "TOO_LARGE", PromptRefused),
        (429, "INACTIVE_SUBSCRIPTION", SubscriptionInactive),
        (429, "FREE_TIER_UNAVAILABLE", SubscriptionInactive),
    ],
)
async def test_a_refusal_is_typed_and_not_asked_again(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt, status: int, code: str, error: type[FleetError]
) -> None:
    cloud.answers("/api/prompt", says(status, code, "why it does not"))
    with pytest.raises(error):
        await connector.submit(prompt)
    assert len(cloud.posts("/api/prompt")) == 1


async def test_a_full_queue_is_waited_for_as_long_as_it_asks(
    connector: CloudConnector, cloud: FakeCloud, clock: JumpingClock, prompt: Prompt
) -> None:
    cloud.answers("/api/prompt", says(429, "QUEUE_LIMIT", "full", Retry_After="120"), says(429, "QUEUE_LIMIT", "full"))
    await connector.submit(prompt)
    assert clock.slept[0] == 120
    assert len(cloud.posts("/api/prompt")) == 3
    assert len(cloud.jobs) == 1


async def test_a_wait_beyond_our_bound_is_told_instead_of_cut_short(
    connector: CloudConnector, cloud: FakeCloud, clock: JumpingClock, prompt: Prompt
) -> None:
    cloud.answers("/api/prompt", says(429, "QUEUE_LIMIT", "full", Retry_After="86400"))
    with pytest.raises(CloudBusy) as raised:
        await connector.submit(prompt)
    assert raised.value.retry_after_s == 86400
    assert clock.slept == []


async def test_a_cloud_that_is_always_busy_is_given_up(
    connector: CloudConnector, cloud: FakeCloud, clock: JumpingClock, prompt: Prompt
) -> None:
    cloud.answers("/api/prompt", *[says(429, "QUEUE_LIMIT", "full", Retry_After="200")] * 9)
    with pytest.raises(CloudBusy):
        await connector.submit(prompt)
    assert clock.now_s <= 900


async def test_files_are_streamed_up_and_come_back_under_the_clouds_name(
    connector: CloudConnector, cloud: FakeCloud, tmp_path: Path
) -> None:
    (tmp_path / "a cat.png").write_bytes(PICTURE)
    by_path = await connector.upload(tmp_path / "a cat.png", name="a cat.png", subfolder="ignored")
    by_bytes = await connector.upload(b"film", name="film.mp4", kind="file")
    assert cloud.files[by_path.as_input()] == PICTURE
    assert cloud.files[by_bytes.as_input()] == b"film"
    assert by_path.as_input().endswith(".png")


async def test_a_mask_names_the_picture_it_lies_on(connector: CloudConnector, cloud: FakeCloud) -> None:
    await connector.upload(b"mask", name="mask.png", kind="mask", original=UploadedFile("cat.png"))
    (post,) = cloud.posts("/api/upload/mask")
    assert b'{"filename":"cat.png","subfolder":"","type":"input"}' in post.body


@pytest.mark.parametrize("status", [400, 413])
async def test_a_file_that_the_cloud_does_not_take_is_refused_with_its_name(
    connector: CloudConnector, cloud: FakeCloud, status: int
) -> None:
    cloud.answers("/api/upload/image", says(status, "TOO_LARGE", "at most 50 MB"))
    with pytest.raises(UploadRefused, match=r"huge\.png"):
        await connector.upload(b"huge", name="huge.png")


async def test_what_the_server_is_and_knows(connector: CloudConnector) -> None:
    assert (await connector.describe()).version == "0.33.0"
    assert set(await connector.object_info()) == {"SaveImage", "LoadImage"}
    assert set(await connector.object_info("SaveImage")) == {"SaveImage"}
    assert await connector.object_info("Nothing") == {}
    await connector.free()
