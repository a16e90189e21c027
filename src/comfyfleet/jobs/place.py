"""A user's order becomes a job: one, once per key, within the user's limits, paid for, on its way; or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from comfyfleet import ledger, storage, videos, webhooks, workflows
from comfyfleet.db import TenantTx
from comfyfleet.dispatch.model import Provider
from comfyfleet.jobs import sql
from comfyfleet.jobs.create import build_payload, create_job
from comfyfleet.jobs.model import Job, JobRules, NewJob, Submission
from comfyfleet.jobs.order import Order
from comfyfleet.jobs.tell import tell_queued
from comfyfleet.kernel.errors import KeyReused, TooManyActiveJobs
from comfyfleet.kernel.ids import EndpointId, FileId, JobId, UserId, VideoId, new_id
from comfyfleet.kernel.secret import Secret
from comfyfleet.ledger.model import Tokens
from comfyfleet.storage import File, FileStatus
from comfyfleet.workflows import Asset, MediaObject, Payload


@dataclass(frozen=True, slots=True)
class Placed:
    """`replayed`: it was ordered before; the job is as it was then, and nothing moved. `submission`: as the outbox has
    it, for one who will send it himself."""

    job: Job
    replayed: bool
    submission: Submission | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """What a job takes: the assets that its worker fetches, and the user's files behind them, the primary one first."""

    assets: tuple[Asset, ...]
    file_ids: tuple[FileId, ...]
    primary: FileId | None


async def place_order(tx: TenantTx, order: Order, *, rules: JobRules, webhook_secret: Secret) -> Placed:
    """Raises KeyReused, TooManyActiveJobs, InsufficientTokens, InvalidInput, NotFound; then nothing may be kept."""
    wish, job_id = order.wish, JobId(new_id())
    # First: of a user's orders one is placed at a time, so that keys and limits hold exactly.
    await ledger.hold_wallet(tx, wish.user_id)
    before = await find_ordered(tx, wish.user_id, wish.idempotency_key, wish.digest)
    if before is not None:
        return Placed(before, replayed=True)
    if wish.run_id is None:
        await require_room(tx, wish.user_id, rules)
    taken = await _take_inputs(tx, order)
    video_id = await follow_video(tx, wish.user_id, job_id, video_id=wish.video_id, title=order.offer.effect.name)
    endpoint_id = await _endpoint(tx, wish.webhook_url, webhook_secret)
    new = _new_job(order, job_id, taken, video_id, endpoint_id)
    job = await create_job(tx, new)
    await keep_inputs(tx, job_id, taken.file_ids, primary=taken.primary)
    await tell_queued(tx, job)
    return Placed(job, replayed=False, submission=Submission.of(new, tx.tenant_id, build_payload(new)))


async def find_ordered(tx: TenantTx, user_id: UserId, key: str | None, digest: str) -> Job | None:
    """The job of this key, as it was when it was made. Raises KeyReused for another request's."""
    row = await tx.maybe(sql.by_key(), user_id=user_id, key=key) if key is not None else None
    if row is None:
        return None
    if row.request_digest != digest:
        raise KeyReused(str(key))
    return Job.from_row(row).as_created


async def require_room(tx: TenantTx, user_id: UserId, rules: JobRules) -> None:
    """Exact only under the wallet's lock."""
    active = await tx.all(sql.active_jobs(rows=rules.active_jobs_max), user_id=user_id)
    if len(active) >= rules.active_jobs_max:
        raise TooManyActiveJobs(active_jobs_max=rules.active_jobs_max)


async def follow_video(
    tx: TenantTx, user_id: UserId, job_id: JobId, *, video_id: VideoId | None, title: str
) -> VideoId:
    """The video that shows what becomes of the job: the one it works on, or a new one."""
    if video_id is not None:
        return (await videos.start_processing(tx, video_id, user_id, job_id=job_id)).id
    return (await videos.make_video(tx, user_id, job_id=job_id, title=title)).id


async def keep_inputs(tx: TenantTx, job_id: JobId, file_ids: Sequence[FileId], *, primary: FileId | None) -> None:
    """While the job is under way, these cannot be deleted."""
    rows = [
        {"job_id": job_id, "position": position, "file_id": file_id, "is_primary": file_id == primary}
        for position, file_id in enumerate(file_ids)
    ]
    if rows:
        await tx.run_each(sql.insert_files(sql.INPUT), rows)


async def _take_inputs(tx: TenantTx, order: Order) -> Taken:
    wish, named = order.wish, order.chosen.files
    found: dict[UUID, File] = {}
    if wish.video_id is not None:
        # The video's id stands in for its file's: see `order.py`.
        found[wish.video_id] = await videos.read_input(tx, wish.video_id, wish.user_id)
    others = [FileId(each) for each in dict.fromkeys(named.values()) if each != wish.video_id]
    found.update((await storage.read_files(tx, others, wish.user_id)).items())
    assets = workflows.list_assets(
        order.stored_graph,
        order.version.properties,
        order.chosen,
        files=_stored(found),
        effect_assets=order.offer.effect.assets,
    )
    primary = found[wish.video_id].id if wish.video_id is not None else wish.input_file_id
    first = [primary] if primary is not None else []
    return Taken(assets, tuple(dict.fromkeys([*first, *others])), primary)


def _stored(found: Mapping[UUID, File]) -> dict[UUID, MediaObject]:
    return {
        each: MediaObject(file.key, file.media_type, file.size_bytes, content_hash=file.sha256, is_users_own=True)
        for each, file in found.items()
        if file.status is FileStatus.STORED
    }


async def _endpoint(tx: TenantTx, url: str | None, secret: Secret) -> EndpointId | None:
    return None if url is None else await webhooks.endpoint_of_url(tx, url, secret=secret)


def _new_job(order: Order, job_id: JobId, taken: Taken, video_id: VideoId, endpoint_id: EndpointId | None) -> NewJob:
    wish, effect, version = order.wish, order.offer.effect, order.version
    return NewJob(
        id=job_id,
        user_id=wish.user_id,
        workflow_id=order.offer.workflow.id,
        structure_hash=version.structure_hash,
        provider=Provider(version.provider),
        payload=Payload(order.graph, order.chosen.values, taken.assets, version.output_node).as_json(),
        priority=wish.priority,
        reserved_tokens=Tokens(effect.credits_cost),
        expected_s=order.offer.estimate_s,
        run_deadline_s=version.run_deadline_s,
        effect_id=effect.id,
        effect_slug=effect.slug,
        workflow_version=version.version,
        video_id=video_id,
        input_file_id=taken.primary,
        properties=_shown(order),
        idempotency_key=wish.idempotency_key,
        request_digest=wish.digest,
        webhook_endpoint_id=endpoint_id,
        run_id=wish.run_id,
        traceparent=wish.traceparent,
    )


def _shown(order: Order) -> dict[str, Any]:
    """What it runs with, as its user may read it."""
    files = {name: str(each) for name, each in order.chosen.files.items() if each != order.wish.input_id}
    shown = {each.name for each in order.offer.properties}
    return {name: value for name, value in (order.chosen.values | files).items() if name in shown}
