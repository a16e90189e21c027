"""What must agree between the central database and a pool. No transaction spans them: every doubt is looked at twice.

Whoever writes goes pool first, then central, then pool: a job before its dispatch, a settled job before `settled_at`.
Reading goes the other way round, and what was removed between two looks is no fault.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from comfyfleet.checks import sql
from comfyfleet.checks.model import Finding, Offenders
from comfyfleet.house import House
from comfyfleet.kernel.ids import DispatchId, JobId

BATCH = 500
AGREES = ("X1", "a settled dispatch and its job agree")
PAIRED = ("X2", "every sent submission has a dispatch, every dispatch a job")
OWN_MAKE = ("V18", "what was delivered was made under the lease that completed it")


async def check_across(house: House, pool: str) -> list[Finding]:
    differing, unpaired, foreign = Offenders(), Offenders(), Offenders()
    async for batch in _dispatches(house, pool):
        await _compare(house, pool, batch, differing, unpaired)
        await _require_own_make(house, pool, batch, foreign)
    async for batch in _submissions(house, pool):
        await _require_dispatches(house, pool, batch, unpaired)
    found = [(AGREES, differing), (PAIRED, unpaired), (OWN_MAKE, foreign)]
    return [Finding.of(about, pool, offenders) for about, offenders in found]


async def _compare(
    house: House, pool: str, dispatches: Sequence[Any], differing: Offenders, unpaired: Offenders
) -> None:
    jobs = await _jobs(house, pool, dispatches)
    doubtful = [row.id for row in dispatches if _is_unpaired(row, jobs.get(row.id)) or _differs(row, jobs.get(row.id))]
    for row in await _again(house, doubtful):
        job = jobs.get(row.id)
        if job is None or _is_unpaired(row, job):
            unpaired.add(dispatch_id=row.id, tenant_id=row.tenant_id, job_of_tenant=job.tenant_id if job else None)
        elif _differs(row, job):
            differing.add(dispatch_id=row.id, dispatch_status=row.status, job_status=job.status)


async def _require_own_make(house: House, pool: str, dispatches: Sequence[Any], foreign: Offenders) -> None:
    """A dispatch that is settled never changes, so one look is enough."""
    folders = {
        row.id: f"tenants/{row.tenant_id}/ai-jobs/{row.id}/{row.done_epoch}-" for row in dispatches if row.settled
    }
    if not folders:
        return
    async with house.pool_tx(pool, read_only=True) as tx:
        for row in await tx.all(sql.outputs_by_job(list(folders))):
            if not row.path.startswith(folders[row.job_id]):
                foreign.add(job_id=row.job_id, path=row.path, expected=folders[row.job_id])


async def _require_dispatches(house: House, pool: str, sent: Sequence[Any], unpaired: Offenders) -> None:
    there = {row.id for row in await _again(house, [DispatchId(row.job_id) for row in sent])}
    doubtful = [JobId(row.job_id) for row in sent if row.job_id not in there]
    if doubtful:
        async with house.pool_tx(pool, read_only=True) as tx:
            for row in await tx.all(sql.sent_by_id(doubtful)):
                unpaired.add(submission=row.job_id, tenant_id=row.tenant_id, dispatch_id=None)


def _is_unpaired(dispatch: Any, job: Any | None) -> bool:
    return job is None or job.tenant_id != dispatch.tenant_id


def _differs(dispatch: Any, job: Any | None) -> bool:
    return bool(dispatch.settled) and job is not None and job.status != dispatch.status


async def _jobs(house: House, pool: str, dispatches: Sequence[Any]) -> dict[DispatchId, Any]:
    async with house.pool_tx(pool, read_only=True) as tx:
        return {row.id: row for row in await tx.all(sql.jobs_by_id([row.id for row in dispatches]))}


async def _again(house: House, ids: list[DispatchId]) -> Sequence[Any]:
    if not ids:
        return []
    async with house.control_tx(read_only=True) as tx:
        return await tx.all(sql.dispatches_by_id(ids))


async def _dispatches(house: House, pool: str) -> AsyncIterator[Sequence[Any]]:
    after: DispatchId | None = None
    while True:
        async with house.control_tx(read_only=True) as tx:
            rows = await tx.all(sql.dispatches_after(pool, after, rows=BATCH))
        if not rows:
            return
        yield rows
        after = rows[-1].id


async def _submissions(house: House, pool: str) -> AsyncIterator[Sequence[Any]]:
    after: JobId | None = None
    while True:
        async with house.pool_tx(pool, read_only=True) as tx:
            rows = await tx.all(sql.sent_after(after, rows=BATCH))
        if not rows:
            return
        yield rows
        after = rows[-1].job_id
