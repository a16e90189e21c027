"""Files from the host that the cloud redirects to, which must not learn the key."""

import hashlib
import logging
import os
from pathlib import Path

import pytest
from starlette.responses import RedirectResponse

from comfyfleet.comfy.cloud import CloudConnector, CloudLimits, CloudSettings, key_from_environment
from comfyfleet.comfy.cloud.errors import CloudBusy, KeyMissing, KeyRefused
from comfyfleet.comfy.errors import AnswerTooLarge, OutputGone, PromptRefused, ServerUnreachable, UnexpectedAnswer
from comfyfleet.comfy.model import OutputFile, Prompt
from comfyfleet.kernel.errors import FleetError, InvalidInput
from comfyfleet.kernel.secret import Secret
from tests.contract.comfy.cloud.walking import JumpingClock, run
from tests.fake_cloud import KEY, PICTURE, FakeCloud, cut_short, raw, says

CAT = OutputFile("9", "images", "cat_00001_.png")


async def test_a_file_is_fetched_whole_and_the_key_stays_with_the_cloud(
    connector: CloudConnector, cloud: FakeCloud, tmp_path: Path
) -> None:
    fetched = await connector.fetch(CAT, tmp_path / "cat.png")
    assert (tmp_path / "cat.png").read_bytes() == PICTURE
    assert (fetched.bytes, fetched.sha256) == (len(PICTURE), hashlib.sha256(PICTURE).hexdigest())
    assert cloud.gets("/api/view")[0].headers["x-api-key"] == KEY
    assert cloud.bucket_seen
    assert not cloud.key_leaked_to_the_bucket()


async def test_the_key_stays_at_home_over_several_redirects_too(
    connector: CloudConnector, cloud: FakeCloud, tmp_path: Path
) -> None:
    async def onwards(_: object) -> object:
        return RedirectResponse(f"{cloud.bucket_url}/signed/cat_00001_.png?X-Signature=abc", 302)

    cloud.answers("bucket", onwards)  # type: ignore[arg-type]
    await connector.fetch(CAT, tmp_path / "cat.png")
    assert len(cloud.bucket_seen) == 2
    assert not cloud.key_leaked_to_the_bucket()


async def test_a_circle_of_redirects_ends(connector: CloudConnector, cloud: FakeCloud, tmp_path: Path) -> None:
    async def again(_: object) -> object:
        return RedirectResponse(f"{cloud.bucket_url}/signed/x", 302)

    cloud.answers("bucket", *[again] * 50)  # type: ignore[list-item]
    with pytest.raises(UnexpectedAnswer):
        await connector.fetch(CAT, tmp_path / "cat.png")
    assert len(cloud.bucket_seen) <= 9


@pytest.mark.parametrize("target", ["http://storage.example.com/a?X-Signature=abc", "ftp://127.0.0.1/a"])
async def test_a_redirect_away_from_https_is_not_followed_and_its_signature_not_told(
    connector: CloudConnector, cloud: FakeCloud, tmp_path: Path, target: str
) -> None:
    cloud.redirect_to = target
    with pytest.raises(UnexpectedAnswer) as raised:
        await connector.fetch(CAT, tmp_path / "cat.png")
    assert "not https" in str(raised.value)
    assert "abc" not in str(raised.value)


async def test_a_truncated_file_is_fetched_again_and_never_half_there(
    connector: CloudConnector, cloud: FakeCloud, tmp_path: Path
) -> None:
    cloud.answers("bucket", cut_short(PICTURE[:20]), says(503))
    await connector.fetch(CAT, tmp_path / "cat.png")
    assert os.listdir(tmp_path) == ["cat.png"]
    assert (tmp_path / "cat.png").read_bytes() == PICTURE
    cloud.answers("bucket", *[cut_short(PICTURE[:20])] * 3)
    with pytest.raises(ServerUnreachable):
        await connector.fetch(CAT, tmp_path / "dog.png")
    assert os.listdir(tmp_path) == ["cat.png"]


async def test_an_expired_signature_is_signed_anew(connector: CloudConnector, cloud: FakeCloud, tmp_path: Path) -> None:
    cloud.answers("bucket", raw("<Error>ExpiredToken</Error>", status=403))
    await connector.fetch(CAT, tmp_path / "cat.png")
    assert len(cloud.gets("/api/view")) == 2


async def test_a_file_that_is_gone_is_told_by_either_host(
    connector: CloudConnector, cloud: FakeCloud, tmp_path: Path
) -> None:
    cloud.answers("bucket", raw("", status=404))
    with pytest.raises(OutputGone):
        await connector.fetch(CAT, tmp_path / "cat.png")
    with pytest.raises(OutputGone):
        await connector.fetch(OutputFile("9", "images", "never.png"), tmp_path / "cat.png")


async def test_a_file_beyond_the_limit_is_not_read(cloud: FakeCloud, clock: JumpingClock, tmp_path: Path) -> None:
    settings = CloudSettings(url=cloud.url, limits=CloudLimits(download_bytes_max=100), fetches_max=1)
    async with CloudConnector(Secret(KEY), settings=settings, clock=clock) as connector:
        with pytest.raises(AnswerTooLarge):
            await connector.fetch(CAT, tmp_path / "cat.png")
    assert os.listdir(tmp_path) == []


async def test_words_need_no_request(connector: CloudConnector, cloud: FakeCloud, tmp_path: Path) -> None:
    await connector.fetch(OutputFile("9", "text", "9-text-0.txt", type="text", text="hello"), tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "hello"
    assert cloud.seen == []


async def test_the_key_is_in_no_log_no_error_and_no_repr(
    connector: CloudConnector, cloud: FakeCloud, prompt: Prompt, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[BaseException] = []
    for answer in (
        says(401, "UNAUTHORIZED", f"no such key: {KEY}"),
        raw(f"<html>{'x' * 180}{KEY}</html>", status=401),
        raw(f'{{"error": {{"type": "x", "message": "{KEY}"}}, "node_errors": {{}}}}', status=400),
        says(429, "QUEUE_LIMIT", KEY, Retry_After="9999"),
    ):
        cloud.answers("/api/prompt", answer)
        with pytest.raises((KeyRefused, PromptRefused, CloudBusy)) as raised:
            await connector.submit(prompt)
        told.append(raised.value)
    await run(connector, prompt)
    shown = "".join(f"{error!r} {error} {getattr(error, 'facts', '')} {error.__cause__!r}" for error in told)
    assert KEY not in shown
    assert KEY not in caplog.text
    assert KEY not in repr(connector) + repr(vars(connector))
    assert KEY not in connector.name


async def test_the_key_comes_from_the_environment() -> None:
    assert key_from_environment({"COMFY_CLOUD_API_KEY": " a "}).reveal() == "a"
    assert key_from_environment({"COMFYFLEET_COMFY_CLOUD_API_KEY": "b"}).reveal() == "b"
    with pytest.raises(KeyMissing, match="COMFY_CLOUD_API_KEY"):
        key_from_environment({"COMFY_CLOUD_API_KEY": " "})


async def test_the_key_is_not_sent_over_plain_http() -> None:
    with pytest.raises(InvalidInput, match="https"):
        CloudConnector(Secret(KEY), settings=CloudSettings(url="http://cloud.comfy.org"))


async def test_a_wrong_key_says_what_to_do(cloud: FakeCloud, clock: JumpingClock, prompt: Prompt) -> None:
    async with CloudConnector(Secret("wrong"), settings=CloudSettings(url=cloud.url), clock=clock) as connector:
        with pytest.raises(FleetError, match="Make a new one and set COMFY_CLOUD_API_KEY"):
            await connector.submit(prompt)
