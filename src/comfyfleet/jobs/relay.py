"""The outbox: what was written with the job reaches the central queue, once, however often it is sent."""

import json
from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from comfyfleet.db import PoolTx
from comfyfleet.db.dialect import batch
from comfyfleet.dispatch import NewDispatch
from comfyfleet.jobs import sql
from comfyfleet.jobs.lifecycle import JOB
from comfyfleet.jobs.model import Submission
from comfyfleet.kernel.ids import DispatchId, JobId


async def unsent(tx: PoolTx, *, rows: int) -> list[Submission]:
    """Oldest first. Nothing is locked: sending is once per id, so two who send the same do no harm."""
    return [
        Submission.from_row(row, job_ended=row.status in JOB.terminal) for row in await tx.all(sql.unsent(rows=rows))
    ]


async def mark_sent(tx: PoolTx, job_ids: Sequence[JobId]) -> int:
    return await tx.run(sql.mark_sent(), rows=batch([{"id": each} for each in job_ids])) if job_ids else 0


async def begin_traces(tx: PoolTx, traceparents: Mapping[JobId, str]) -> dict[JobId, str]:
    """Jobs that were not ordered over HTTP get their trace on their way to the queue. The trace that each has now: the
    first one stands, so that a job that is sent again stays in its trace."""
    rows = [{"id": job_id, "traceparent": text} for job_id, text in traceparents.items()]
    return {row.job_id: row.traceparent for row in await tx.all(sql.begin_traces(), rows=batch(rows))} if rows else {}


async def traceparents_of(tx: PoolTx, job_ids: Collection[UUID]) -> dict[UUID, str]:
    """Those that have a trace."""
    rows = batch([{"id": each} for each in job_ids])
    return {row.job_id: row.traceparent for row in await tx.all(sql.traceparents_of(), rows=rows)} if job_ids else {}


async def forget_sent(tx: PoolTx, *, age_s: float, rows: int) -> int:
    return await tx.run(sql.forget_sent(age_s=age_s, rows=rows))


def to_dispatch(submission: Submission, *, pool: str, weight: int) -> NewDispatch:
    """The place that a submission asks for: the dispatch has the job's own id."""
    return NewDispatch(
        id=DispatchId(submission.job_id),
        tenant_id=submission.tenant_id,
        pool=pool,
        workflow_id=submission.workflow_id,
        structure_hash=submission.structure_hash,
        provider=submission.provider,
        payload=json.dumps(submission.payload, separators=(",", ":")).encode(),
        priority=submission.priority,
        cost_s=submission.expected_s,
        weight=weight,
        run_deadline_s=submission.run_deadline_s,
        delivers=submission.delivers,
        traceparent=submission.traceparent,
    )
