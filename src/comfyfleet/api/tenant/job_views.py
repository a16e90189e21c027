"""A job as its user sees it: its row, what it made, its place in the queue, and how far it is."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Self

import anyio.to_thread

from comfyfleet import jobs, storage
from comfyfleet.api.bodies import View
from comfyfleet.api.policy import home_of
from comfyfleet.api.tenant.files import thumb_url
from comfyfleet.api.tenant.videos import sign_files
from comfyfleet.house import House
from comfyfleet.jobs import JOB, Job, JobFile, JobStatus
from comfyfleet.kernel.errors import DatabaseUnavailable
from comfyfleet.kernel.ids import EffectId, FileId, JobId, RunId, VideoId
from comfyfleet.live import Progress, Waiting
from comfyfleet.storage import File
from comfyfleet.tenants import Caller


class OutputView(View):
    """`metadata`: which attempt made it, and which node. `sha256`: of its bytes, if its worker said so.

    `thumb_url`: of a picture or a film; it does not expire.
    """

    file_id: FileId
    name: str
    mime_type: str
    size: int
    sha256: str | None
    metadata: dict[str, Any]
    url: str | None
    thumb_url: str | None
    is_primary: bool


class QueueView(View):
    """`position` 1 is next; with `position_is_at_least` it is that or further back. No estimate: no worker can run it
    now; `waits_because` says why. The job fails, and its tokens come back, if it still waits at `deadline_at`."""

    position: int
    position_is_at_least: bool
    estimated_start_s: float | None
    waits_because: str | None
    deadline_at: datetime | None

    @classmethod
    def of(cls, waiting: Waiting) -> Self:
        return cls(
            position=waiting.ahead + 1,
            position_is_at_least=waiting.ahead_is_more,
            estimated_start_s=waiting.estimated_start_s,
            waits_because=waiting.because,
            deadline_at=waiting.deadline_at,
        )


class ProgressView(View):
    """`fraction`: of the whole job. `node`: where in the graph it is, if its worker said. `waits`: its worker makes
    another one first."""

    fraction: float | None
    node: str | None
    node_class: str | None
    waits: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class Now:
    """What is known of a job beside its row: the queue knows first that it runs, its worker how far it is."""

    status: JobStatus | None = None
    waiting: Waiting | None = None
    progress: Progress | None = None


NOT_ASKED = Now()


class JobView(View):
    """`credits_cost`: what was set aside; it comes back unless the job completes. URLs expire: ask again.

    `queue`: while it waits, as far as it is known. `progress`: while it runs, once its worker has told.
    `error_class`: what kind of failure it was. `expired_at`: when what it made was deleted for its age. `outputs` are
    those that are still there.
    """

    id: JobId
    status: JobStatus
    effect_id: EffectId | None
    effect: str | None
    video_id: VideoId | None
    workflow_version: int | None
    properties: dict[str, Any]
    priority: int
    credits_cost: int
    retry_of: JobId | None
    run_id: RunId | None
    cancel_requested: bool
    queue: QueueView | None
    progress: ProgressView | None
    error: str | None
    error_class: str | None
    outputs: list[OutputView]
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    expired_at: datetime | None

    @classmethod
    def of(cls, job: Job, outputs: Sequence[OutputView] = (), now: Now = NOT_ASKED) -> Self:
        return cls(
            id=job.id,
            status=now.status or job.status,
            effect_id=job.effect_id,
            effect=job.effect_slug,
            video_id=job.video_id,
            workflow_version=job.workflow_version,
            properties=job.properties or {},
            priority=job.priority,
            credits_cost=job.reserved_tokens,
            retry_of=job.retry_of,
            run_id=job.run_id,
            cancel_requested=job.cancel_requested_at is not None,
            queue=QueueView.of(now.waiting) if now.waiting else None,
            progress=ProgressView.model_validate(now.progress) if now.progress else None,
            error=job.error_message,
            error_class=job.error_class,
            outputs=list(outputs),
            created_at=job.created_at,
            started_at=job.started_at,
            completed_at=job.completed_at,
            expired_at=job.expired_at,
        )


async def view_jobs(
    house: House, caller: Caller, found: Sequence[Job], *, expires_s: int, as_found: bool = False
) -> list[JobView]:
    """`as_found`: by their rows alone."""
    home = home_of(caller)
    async with house.tenant_tx(home, read_only=True) as tx:
        outputs = await jobs.list_outputs(tx, [job.id for job in found if job.output_file_id is not None])
        ids = [each.file_id for group in outputs.values() for each in group]
        files = await storage.read_files(tx, ids, caller.user_id)
    urls = await anyio.to_thread.run_sync(partial(sign_files, house.store, list(files.values()), expires_s=expires_s))
    now = {} if as_found else await _ask(house, home.pool, [job.id for job in found if job.status not in JOB.terminal])
    return [
        JobView.of(job, _outputs(outputs.get(job.id, []), files, urls), now.get(job.id, NOT_ASKED)) for job in found
    ]


async def _ask(house: House, pool: str, alive: Sequence[JobId]) -> dict[JobId, Now]:
    """Nice to know, and no reason to fail: without an answer the rows stand for themselves."""
    if not alive:
        return {}
    states = {}
    with suppress(DatabaseUnavailable):
        states = await house.live.states.read(pool, alive)
    running = [job_id for job_id, state in states.items() if state.status is JobStatus.PROCESSING]
    progress = await house.live.progress_of(running)
    return {
        job_id: Now(state.status, state.waiting, progress.get(job_id))
        for job_id, state in states.items()
        if not state.is_over  # then its row is older than this, and its outputs with it
    }


def _outputs(made: Sequence[JobFile], files: Mapping[FileId, File], urls: Mapping[FileId, str]) -> list[OutputView]:
    """Those that are still there."""
    return [
        OutputView(
            file_id=file.id,
            name=file.name,
            mime_type=file.media_type,
            size=file.size_bytes,
            sha256=file.sha256,
            metadata=file.metadata,
            url=urls.get(file.id),
            thumb_url=thumb_url(file),
            is_primary=each.is_primary,
        )
        for each in made
        if (file := files.get(each.file_id)) is not None
    ]
