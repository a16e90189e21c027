"""Jobs that ended at given times, written as the verbs leave them, and in bulk: the verbs know only now."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.dialect import now
from comfyfleet.db.tables import ai_job_dispatches, dispatch_attempts, settlements
from comfyfleet.house import House
from comfyfleet.kernel.ids import new_id

BATCH = 2_000


@dataclass(frozen=True)
class PastJob:
    """It was ordered, waited, and ran until `ended_at`. `attempts`: how those before the last one ended, and where."""

    ended_at: datetime
    workflow_id: UUID
    tenant_id: UUID
    worker_id: UUID
    outcome: str = "completed"
    error_class: str | None = None
    wait_s: float = 1.0
    run_s: float = 10.0
    before: tuple[tuple[str, UUID], ...] = ()
    started: bool = True
    id: UUID = field(default_factory=new_id)

    @property
    def reason(self) -> str:
        return self.error_class or self.outcome


async def now_of(house: House) -> datetime:
    async with house.control_tx(read_only=True) as tx:
        at: datetime = (await tx.one(sa.select(now().label("at")))).at
        return at


async def plant(house: House, jobs: Sequence[PastJob]) -> None:
    for place in range(0, len(jobs), BATCH):
        part = jobs[place : place + BATCH]
        async with house.central.engine.begin() as connection:
            await connection.execute(sa.insert(ai_job_dispatches), [_dispatch(each) for each in part])
            attempts = [row for each in part for row in _attempts(each)]
            if attempts:
                await connection.execute(sa.insert(dispatch_attempts), attempts)
            await connection.execute(sa.insert(settlements), [_settlement(each) for each in part])


def many(job: PastJob, count: int, *, apart_s: float = 0.0) -> list[PastJob]:
    """The same again and again, each so much earlier than the one before."""
    return [
        replace(job, id=new_id(), ended_at=job.ended_at - timedelta(seconds=number * apart_s))
        for number in range(count)
    ]


def _begun(job: PastJob) -> datetime:
    return job.ended_at - timedelta(seconds=job.run_s)


def _dispatch(job: PastJob) -> dict[str, object]:
    ordered_at = _begun(job) - timedelta(seconds=job.wait_s)
    return {
        "id": job.id,
        "tenant_id": job.tenant_id,
        "tenant_job_id": job.id,
        "pool": "main",
        "workflow_id": job.workflow_id,
        "provider": "self_hosted",
        "lane": 1,
        "status": job.outcome,
        "priority": 0,
        "fair_tag": 0.0,
        "seq": 1,
        "attempts": len(job.before) + job.started,
        "max_attempts": 3,
        "releases": 0,
        "max_releases": 20,
        "epoch": len(job.before) + job.started,
        "run_deadline_s": 3600.0,
        "queued_at": ordered_at,
        "queue_deadline_at": ordered_at + timedelta(days=1),
        "error_class": job.error_class,
        "duration_seconds": job.run_s if job.outcome == "completed" else None,
        "finished_at": job.ended_at,
        "settled_at": job.ended_at,
        "created_at": ordered_at,
        "leased_at": _begun(job),
    }


def _attempts(job: PastJob) -> list[dict[str, object]]:
    ends = [*job.before, *([(job.reason, job.worker_id)] if job.started else [])]
    return [
        {
            "dispatch_id": job.id,
            "epoch": number,
            "nonce": "n",
            "worker_id": worker_id,
            "incarnation": 1,
            "granted_at": _begun(job),
            "ended_at": job.ended_at,
            "reason": reason,
        }
        for number, (reason, worker_id) in enumerate(ends, start=1)
    ]


def _settlement(job: PastJob) -> dict[str, object]:
    return {
        "id": new_id(),
        "dispatch_id": job.id,
        "tenant_id": job.tenant_id,
        "pool": "main",
        "outcome": job.outcome,
        "detail": "{}",
        "tries": 0,
        "next_try_at": job.ended_at,
        "applied_at": job.ended_at,
        "created_at": job.ended_at,
    }
