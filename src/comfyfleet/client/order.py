"""An effect is ordered: what it needs is uploaded, the job is made, and waited for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from comfyfleet.client.ask import Patience
from comfyfleet.client.errors import JobCancelled, JobFailed
from comfyfleet.client.events import Created, Event
from comfyfleet.client.follow import follow_job
from comfyfleet.client.jobs import create_job, read_effect
from comfyfleet.client.model import CANCELLED, COMPLETED, Job
from comfyfleet.client.source import Given, as_video_id, read_source
from comfyfleet.client.steps import Flow, Tell, Work
from comfyfleet.client.upload import upload_file, upload_video
from comfyfleet.kernel.errors import EffectUnavailable, FleetError, InvalidInput

TellEvent = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Order:
    """`input`: a path, the bytes, or the id of a video; `properties` may hold paths and bytes, too."""

    effect: str | UUID
    input: Given | UUID | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    input_name: str | None = None
    idempotency_key: str | None = None
    priority: int = 0
    webhook_url: str | None = None


def merged(properties: Mapping[str, Any] | None, more: Mapping[str, Any]) -> dict[str, Any]:
    """Properties come as keywords; one whose name is that of an option comes in `properties`."""
    if twice := sorted(set(more) & set(properties or {})):
        raise InvalidInput(f"properties.{twice[0]}", "is given twice")
    return {**more, **(properties or {})}


def submit(order: Order, patience: Patience, tell: TellEvent) -> Flow[Job]:
    """The job is made when this ends, and not waited for."""
    if _needs_upload(order):
        yield from _require_effect(order.effect, patience)
    video_id = yield from _video_id(order, patience, tell)
    properties = yield from _properties(order, patience, tell)
    try:
        job = yield from create_job(
            order.effect,
            properties,
            patience,
            video_id=video_id,
            idempotency_key=order.idempotency_key,
            priority=order.priority,
            webhook_url=order.webhook_url,
        )
    except FleetError as error:
        if video_id is not None and video_id != as_video_id(order.input):
            error.add_note(f"the input is uploaded, as video {video_id}: it can be ordered by this id")
        raise
    yield Tell(Created(job.id, job.credits_cost))
    return job


def _needs_upload(order: Order) -> bool:
    given = order.input is not None and as_video_id(order.input) is None
    return given or any(isinstance(value, (Path, bytes)) for value in order.properties.values())


def _require_effect(effect: str | UUID, patience: Patience) -> Flow[None]:
    """Before gigabytes are sent for one that cannot be ordered."""
    if isinstance(effect, str):
        found = yield from read_effect(effect, patience)
        if found.unavailable_because is not None:
            raise EffectUnavailable(effect, found.unavailable_because)


def run(
    order: Order, patience: Patience, tell: TellEvent, *, wait_s: float | None = None, previews: bool = False
) -> Flow[Job]:
    job = yield from submit(order, patience, tell)
    return (yield from wait(job.id, wait_s=wait_s, previews=previews))


def wait(job_id: str | UUID, *, wait_s: float | None = None, previews: bool = False) -> Flow[Job]:
    """The completed job. Raises JobFailed, JobCancelled or StillRunning."""
    return require_completed((yield from follow_job(job_id, wait_s=wait_s, previews=previews)))


def require_completed(job: Job) -> Job:
    if job.status == COMPLETED:
        return job
    raise JobCancelled(job.id) if job.status == CANCELLED else JobFailed(job.id, job.error)


def _video_id(order: Order, patience: Patience, tell: TellEvent) -> Flow[str | None]:
    given = order.input
    known = as_video_id(given)
    if known is not None or given is None or isinstance(given, UUID):
        return known
    source = yield Work(partial(read_source, given, name=order.input_name))
    return (yield from upload_video(source, patience, tell)).id


def _properties(order: Order, patience: Patience, tell: TellEvent) -> Flow[dict[str, Any]]:
    ready = dict(order.properties)
    for name, value in order.properties.items():
        if isinstance(value, (Path, bytes)):
            source = yield Work(partial(read_source, value, named=name))
            ready[name] = (yield from upload_file(source, patience, tell)).id
    return ready
