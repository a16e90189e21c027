"""Upload, order, wait, save: against a real server over sockets, blocking and awaiting."""

import hashlib
import re
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from comfyfleet.client import (
    AsyncClient,
    Client,
    Created,
    Downloading,
    Event,
    InQueue,
    JobCancelled,
    KeyReused,
    NotFound,
    Progressed,
    StatusChanged,
    StillRunning,
    Uploading,
)
from comfyfleet.fleet.able.model import ALL_OFFLINE, NO_WORKER
from tests.client.fleet import NEGATIVE, PHOTO, Fleet


def statuses(told: list[Event]) -> list[str]:
    return [event.status for event in told if isinstance(event, StatusChanged)]


def test_a_file_becomes_a_file(fleet: Fleet, client: Client, photo: Path, tmp_path: Path) -> None:
    told: list[Event] = []
    before = client.wallet().balance
    with fleet.worker():
        result = client.run(fleet.effect, photo, on_progress=told.append, title="old film")
    [saved] = result.save(tmp_path / "out", on_progress=told.append)
    assert (saved.path, saved.path.read_bytes()) == (tmp_path / "out" / "negative.png", NEGATIVE)
    assert saved.sha256 == hashlib.sha256(NEGATIVE).hexdigest()
    assert client.wallet().balance == before - result.job.credits_cost
    assert (result.job.properties["title"], result.job.effect) == ("old film", fleet.effect)
    assert told[0] == Uploading("photo.png", len(PHOTO), len(PHOTO))
    assert told[1] == Created(result.job.id, 12)
    assert statuses(told)[-2:] == ["processing", "completed"]
    assert [event.fraction for event in told if isinstance(event, Progressed)] == [0.25, 0.5, 0.75, 1.0]
    assert told[-1] == Downloading("negative.png", len(NEGATIVE), len(NEGATIVE))
    # The next one lies beside it, and nothing is left over.
    [again] = client.save(client.job(result.job.id), tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["negative-2.png", "negative.png"]
    assert client.download(result.outputs[0], again.path).path.read_bytes() == NEGATIVE


async def test_the_same_awaited_from_bytes_and_by_the_id_of_a_video(fleet: Fleet, tmp_path: Path) -> None:
    told: list[Event] = []
    async with AsyncClient(fleet.url, fleet.key) as client:
        with fleet.worker(jobs=2):
            first = await client.run(fleet.effect, PHOTO, on_progress=told.append)
            assert first.job.video_id is not None
            second = await client.run(fleet.effect, first.job.video_id, properties={"title": "again"})
        assert second.job.video_id == first.job.video_id
        [saved] = await second.save(tmp_path / "out")
        assert saved.path.read_bytes() == NEGATIVE
        assert statuses(told)[-1] == "completed"
        assert {Uploading, Created, Progressed} <= {type(event) for event in told}
        assert [event async for event in client.watch(first.job.id)][-1] == StatusChanged(first.job.id, "completed")
        listed = [job.id async for job in client.jobs.list(limit=1, status="completed")]
        assert listed[:2] == [second.job.id, first.job.id]
        assert fleet.effect in [each.slug for each in await client.effects()]
        assert (await client.effect(fleet.effect)).primary_input is not None
        await client.jobs.delete(second.job.id)
        with pytest.raises(NotFound):
            await client.job(second.job.id)


def test_a_job_is_watched_cancelled_and_tried_again(fleet: Fleet, client: Client, photo: Path) -> None:
    video = client.upload(photo, title="a photo")
    assert (video.title, video.width, video.mime_type) == ("a photo", 64, "image/png")
    before = client.wallet().balance
    key = str(uuid4())
    job = client.submit(fleet.effect, UUID(video.id), idempotency_key=key)
    assert client.submit(fleet.effect, video.id, idempotency_key=key) == job
    with pytest.raises(KeyReused):
        client.submit(fleet.effect, video.id, idempotency_key=key, title="something else")
    told: list[Event] = []
    with pytest.raises(StillRunning) as still:
        client.wait(job.id, wait_s=2, on_progress=told.append)
    assert (still.value.job_id, still.value.status) == (job.id, "queued")
    cancelled = client.cancel(job.id)  # before anything can fail: else the next test's worker would take it
    assert [each for each in told if isinstance(each, InQueue)][-1] in [
        InQueue(job.id, 1, False, None, f"{why[0].upper()}{why[1:]}.")
        for why in (NO_WORKER, ALL_OFFLINE)  # whether a worker of another test was there before
    ]
    assert cancelled.status == "cancelled"
    assert client.cancel(job.id).status == client.cancel(job.id).status == "cancelled"
    assert client.wallet().balance == before
    with pytest.raises(JobCancelled):
        client.wait(job.id)
    again = client.retry(job.id)
    assert (again.retry_of, again.status) == (job.id, "queued")
    page = client.jobs.page(limit=1)
    assert ([each.id for each in page.rows], page.next_cursor is not None) == ([again.id], True)
    assert [each.id for each in client.jobs.page(page.next_cursor, limit=1).rows] == [job.id]
    with pytest.raises(StillRunning):
        client.save(again, photo.parent / "none")
    client.cancel(again.id)


def test_the_ten_lines_of_the_page_do_what_they_say(
    fleet: Fleet, photo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "use-the-python-sdk.md").read_text()
    [lines, *_] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(photo.parent)
    monkeypatch.setenv("COMFYFLEET_URL", fleet.url)
    monkeypatch.setenv("COMFYFLEET_API_KEY", fleet.key)
    program = (
        lines.replace("pixel-film", fleet.effect).replace("clip.mp4", photo.name).replace("colours=6", 'title="x"')
    )
    with fleet.worker():
        exec(compile(program, "page", "exec"), {"__name__": "page"})  # noqa: S102  it is ours
    *steps, saved = capsys.readouterr().out.splitlines()
    assert [float(step.split()[0]) for step in steps] == [0.25, 0.5, 0.75, 1.0]
    assert "out/negative.png" in saved
    assert (photo.parent / "out" / "negative.png").read_bytes() == NEGATIVE
