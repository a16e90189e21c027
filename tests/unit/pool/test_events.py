import json
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from comfyfleet.comfy.model import Failed, FailureClass, Preview
from comfyfleet.pool.events import (
    EVENT_NAMES,
    ClientBlockedWorkflow,
    JobCancelled,
    JobFailed,
    JobPreview,
    JobQueued,
    PoolEvent,
    as_json,
)
from comfyfleet.pool.lifecycle import JobState
from comfyfleet.pool.model import Job
from comfyfleet.pool.subscribe import Feed

SEED_NAMES = {
    "job:queued",
    "job:started",
    "job:progress",
    "job:preview",
    "job:completed",
    "job:failed",
    "job:retrying",
    "job:cancelled",
    "client:state",
    "client:blocked_workflow",
    "client:unblocked_workflow",
}


def a_job(name: str = "j", **metadata: str) -> Job:
    return Job(name, JobState.QUEUED, "shape", "content", 0, metadata, 0, 3, 1.0)


def queued(name: str = "j", **metadata: str) -> PoolEvent:
    return JobQueued(a_job(name, **metadata), 1.0)


def test_the_events_are_the_seeds_and_what_a_job_waits_for() -> None:
    assert SEED_NAMES | {"job:waiting"} == EVENT_NAMES


async def test_a_subscriber_hears_what_happens_after_it_came_until_the_feed_closes() -> None:
    feed = Feed()
    feed.tell(queued("early"))
    subscription = feed.subscribe()
    feed.tell(queued("a"))
    feed.tell(queued("b"))
    feed.close()
    feed.tell(queued("late"))
    assert [event.job.id async for event in subscription if isinstance(event, JobQueued)] == ["a", "b"]


async def test_a_slow_subscriber_loses_the_oldest_and_is_told_how_many() -> None:
    feed = Feed()
    slow, quick = feed.subscribe(buffer=2), feed.subscribe()
    for number in range(5):
        feed.tell(queued(str(number)))
    feed.close()
    assert [event.job.id async for event in slow if isinstance(event, JobQueued)] == ["3", "4"]
    assert (slow.dropped_count, quick.dropped_count) == (3, 0)


async def test_a_subscriber_chooses_by_name_and_by_metadata() -> None:
    feed = Feed()
    of_acme = feed.subscribe(
        ("job:queued",), where=lambda event: isinstance(event, JobQueued) and event.job.metadata["tenant"] == "acme"
    )
    feed.tell(queued("a", tenant="acme"))
    feed.tell(queued("b", tenant="other"))
    feed.tell(JobCancelled(a_job("a", tenant="acme"), 1.0, "asked"))
    feed.close()
    assert [as_json(event)["job"]["id"] async for event in of_acme] == ["a"]


async def test_the_events_of_one_job_end_with_its_last() -> None:
    feed = Feed()
    mine = feed.subscribe(job_id="a")
    feed.tell(queued("a"))
    feed.tell(queued("b"))
    feed.tell(ClientBlockedWorkflow("s", 1.0, "shape", 2.0, 1, FailureClass.EXECUTION_ERROR))
    feed.tell(JobCancelled(a_job("a"), 1.0, "asked"))
    assert [event.name async for event in mine] == ["job:queued", "job:cancelled"]


async def test_leaving_a_subscription_stops_it() -> None:
    feed = Feed()
    async with feed.subscribe() as subscription:
        feed.tell(queued("a"))
    feed.tell(queued("b"))
    assert [event.name async for event in subscription] == ["job:queued"]


def test_a_listener_that_raises_hurts_nobody() -> None:
    feed = Feed()
    heard: list[str] = []

    def broken(_: PoolEvent) -> None:
        raise RuntimeError("mine")

    feed.on("job:queued", broken)
    stop = feed.on("job:queued", lambda event: heard.append(event.name))
    with capture_logs() as logs:
        feed.tell(queued())
    stop()
    stop()
    assert heard == ["job:queued"]
    assert [line["event"] for line in logs] == ["pool.listener_failed"]


def test_a_name_that_no_event_has_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no event 'job:done'"):
        Feed().on("job:done", print)
    with pytest.raises(ValueError, match="there is no event"):
        Feed().subscribe(("job:done",))


def test_events_become_json_without_the_bytes_of_a_preview() -> None:
    failed = Failed(FailureClass.EXECUTION_ERROR, "boom", node="3")
    told = as_json(JobFailed(a_job(path=str(Path("x"))), 1.0, failed, "s"))
    assert json.loads(json.dumps(told))["failure"]["failure"] == "execution_error"
    assert told["event"] == "job:failed"
    assert as_json(JobPreview(a_job(), 1.0, Preview("3", "image/jpeg", b"12345")))["preview"]["image"] == 5
