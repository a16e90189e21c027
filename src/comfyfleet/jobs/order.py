"""A user orders an effect: one job, once per key, within the user's limits, paid for, on its way; or nothing."""

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from comfyfleet import ledger, storage, videos, webhooks, workflows
from comfyfleet.db import TenantTx
from comfyfleet.dispatch.model import Provider
from comfyfleet.jobs import sql
from comfyfleet.jobs.create import create_job
from comfyfleet.jobs.model import Job, JobRules, NewJob
from comfyfleet.jobs.tell import tell_queued
from comfyfleet.kernel.errors import InvalidInput, KeyReused, TooManyActiveJobs
from comfyfleet.kernel.ids import FileId, JobId, UserId, VideoId, new_id
from comfyfleet.kernel.secret import Secret
from comfyfleet.ledger.model import Tokens
from comfyfleet.storage import File, FileStatus
from comfyfleet.workflows import Chosen, MediaObject, Payload, Property, Version
from comfyfleet.workflows.effects import Offer

SEED_BITS = 53  # whole numbers that every JSON reader keeps
EARLIEST, LATEST = -100, 100


@dataclass(frozen=True, slots=True)
class Order:
    """`digest` tells this request from another one that comes with the same key."""

    user_id: UserId
    offer: Offer
    version: Version
    chosen: Chosen
    graph: dict[str, Any]
    stored_graph: Mapping[str, Any]
    digest: str
    video_id: VideoId | None = None
    idempotency_key: str | None = None
    priority: int = 0
    webhook_url: str | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """`replayed`: it was ordered before; the job is as it was then, and nothing moved."""

    job: Job
    replayed: bool


def prepare_order(
    user_id: UserId,
    offer: Offer,
    version: Version,
    graph: Mapping[str, Any],
    *,
    properties: Mapping[str, Any],
    digest: str,
    video_id: VideoId | None = None,
    idempotency_key: str | None = None,
    priority: int = 0,
    webhook_url: str | None = None,
    rules: JobRules,
) -> Order:
    """All that needs no database: every value checked and in its place in the graph. Raises InvalidInput."""
    if not EARLIEST <= priority <= rules.priority_max:
        raise InvalidInput("priority", f"must be from {EARLIEST} to {rules.priority_max}")
    if webhook_url is not None:
        webhooks.check_url(webhook_url)
    given, primary = dict(properties), open_input(offer, version)
    if primary is not None:
        if primary.name in given:
            raise InvalidInput(f"properties.{primary.name}", "is what this effect works on: name it as video_id")
        if video_id is None:
            raise InvalidInput("video_id", f"is needed: this effect works on {_called(primary)}")
        # Any id will do here: the video's own file is known only inside the transaction.
        given[primary.name] = video_id
    elif video_id is not None:
        raise InvalidInput("video_id", "this effect takes none")
    chosen = workflows.choose(
        version.properties, offer.effect.overrides, given, random_seed=secrets.randbits(SEED_BITS)
    )
    return Order(
        user_id=user_id,
        offer=offer,
        version=version,
        chosen=chosen,
        graph=workflows.fill_graph(graph, version.properties, chosen),
        stored_graph=graph,
        digest=digest,
        video_id=video_id,
        idempotency_key=idempotency_key,
        priority=priority,
        webhook_url=webhook_url,
    )


def open_input(offer: Offer, version: Version) -> Property | None:
    """What the user has to bring; None if nothing, or if the effect brings it."""
    primary = version.primary_input
    return None if primary is None or primary.name in offer.effect.overrides else primary


def digest_request(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


async def find_ordered(tx: TenantTx, user_id: UserId, key: str, digest: str) -> Job | None:
    """The job of this key, as it was when it was made. Raises KeyReused for another request's."""
    row = await tx.maybe(sql.by_key(), user_id=user_id, key=key)
    if row is None:
        return None
    if row.request_digest != digest:
        raise KeyReused(key)
    return Job.from_row(row).as_created


async def place_order(tx: TenantTx, order: Order, *, rules: JobRules, webhook_secret: Secret) -> Placed:
    """Raises KeyReused, TooManyActiveJobs, InsufficientTokens, InvalidInput, NotFound; then nothing may be kept."""
    # First: of a user's orders one is placed at a time, so that keys and limits hold exactly.
    await ledger.hold_wallet(tx, order.user_id)
    if order.idempotency_key is not None:
        before = await find_ordered(tx, order.user_id, order.idempotency_key, order.digest)
        if before is not None:
            return Placed(before, replayed=True)
    await require_room(tx, order.user_id, rules)
    job_id = JobId(new_id())
    payload, inputs = await _payload(tx, order)
    video_id = await follow_video(tx, order.user_id, job_id, video_id=order.video_id, title=order.offer.effect.name)
    endpoint_id = None
    if order.webhook_url is not None:
        endpoint_id = await webhooks.endpoint_of_url(tx, order.webhook_url, secret=webhook_secret)
    job = await create_job(
        tx,
        NewJob(
            id=job_id,
            user_id=order.user_id,
            workflow_id=order.offer.workflow.id,
            structure_hash=order.version.structure_hash,
            provider=Provider(order.version.provider),
            payload=payload.as_json(),
            priority=order.priority,
            reserved_tokens=Tokens(order.offer.effect.credits_cost),
            expected_s=order.offer.estimate_s,
            run_deadline_s=order.version.run_deadline_s,
            effect_id=order.offer.effect.id,
            effect_slug=order.offer.effect.slug,
            workflow_version=order.version.version,
            video_id=video_id,
            input_file_id=inputs[0] if inputs and order.video_id else None,
            properties=_shown(order),
            idempotency_key=order.idempotency_key,
            request_digest=order.digest,
            webhook_endpoint_id=endpoint_id,
        ),
    )
    await keep_inputs(tx, job_id, inputs, primary=job.video_id is not None and order.video_id is not None)
    await tell_queued(tx, job)
    return Placed(job, replayed=False)


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


async def keep_inputs(tx: TenantTx, job_id: JobId, inputs: list[FileId], *, primary: bool) -> None:
    """While the job is under way, these cannot be deleted."""
    rows = [
        {"job_id": job_id, "position": position, "file_id": file_id, "is_primary": primary and position == 0}
        for position, file_id in enumerate(inputs)
    ]
    if rows:
        await tx.run_each(sql.insert_files(sql.INPUT), rows)


async def _payload(tx: TenantTx, order: Order) -> tuple[Payload, list[FileId]]:
    """With the files that it takes, the primary one first."""
    files = {FileId(each): each for each in order.chosen.files.values()}
    found: dict[Any, File] = dict(await storage.read_files(tx, list(files), order.user_id))
    ids: list[FileId] = []
    if order.video_id is not None:
        # The video's id stands in for its file's: see `prepare_order`.
        found[order.video_id] = await videos.read_input(tx, order.video_id, order.user_id)
        ids.append(found[order.video_id].id)
    stored = {each: file for each, file in found.items() if file.status is FileStatus.STORED}
    assets = workflows.list_assets(
        order.stored_graph,
        order.version.properties,
        order.chosen,
        files={each: MediaObject(file.key, file.media_type, file.size_bytes) for each, file in stored.items()},
        effect_assets=order.offer.effect.assets,
    )
    ids += [FileId(each) for each in order.chosen.files.values() if each != order.video_id]
    return Payload(order.graph, order.chosen.values, assets, order.version.output_node), list(dict.fromkeys(ids))


def _shown(order: Order) -> dict[str, Any]:
    """What it runs with, as its user may read it."""
    files = {name: str(each) for name, each in order.chosen.files.items() if each != order.video_id}
    shown = {each.name for each in order.offer.properties}
    return {name: value for name, value in (order.chosen.values | files).items() if name in shown}


def _called(prop: Property) -> str:
    return "an image" if prop.type == "image" else "a video"
