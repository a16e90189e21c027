"""A person takes a run in hand: pauses it, lets it go on, stops it, or gives it more to spend."""

from collections.abc import Sequence
from dataclasses import dataclass

from comfyfleet import jobs
from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import JobId, RunId, UserId
from comfyfleet.pipelines import sql
from comfyfleet.pipelines.count import make_due
from comfyfleet.pipelines.fit import HOURS_MAX
from comfyfleet.pipelines.lifecycle import ENDED, RUN, RunEvent, RunStatus
from comfyfleet.pipelines.model import Run
from comfyfleet.pipelines.read import hold_run

BY_USER = "by_user"
BUDGET = "budget_"


@dataclass(frozen=True, slots=True)
class MoreBudget:
    """New limits, for those that are named. `hours`: from now on."""

    tokens_max: int | None = None
    jobs_max: int | None = None
    hours: float | None = None


async def pause_run(tx: TenantTx, run_id: RunId, user_id: UserId) -> Run:
    """No new jobs; those under way end as they will. Paused already is fine. Raises IllegalMove where it is over."""
    run = await hold_run(tx, run_id, user_id)
    if run.status is RunStatus.PAUSED:
        return run
    RUN.next(run.status, RunEvent.PAUSE)
    return Run.from_row(await tx.one(sql.move_run(run_id, RunEvent.PAUSE, reason=BY_USER)))


async def resume_run(tx: TenantTx, run_id: RunId, user_id: UserId) -> Run:
    """What it does next is found out right after: it may turn out to wait, or to be out of budget once more."""
    run = await hold_run(tx, run_id, user_id)
    if run.status in (RunStatus.PENDING, RunStatus.RUNNING, RunStatus.WAITING_FOR_APPROVAL):
        return run
    RUN.next(run.status, RunEvent.RESUME)
    return await go_on_again(tx, run_id)


async def stop_run(tx: TenantTx, run_id: RunId, user_id: UserId) -> tuple[Run, Sequence[JobId]]:
    """For good. With it, the jobs that are still under way: cancel them after the commit. Stopped already is fine."""
    run = await hold_run(tx, run_id, user_id)
    if run.status is not RunStatus.STOPPED:
        RUN.next(run.status, RunEvent.STOP)
        run = Run.from_row(await tx.one(sql.move_run(run_id, RunEvent.STOP, ends=True)))
    unwanted = [JobId(row.job_id) for row in await tx.all(sql.jobs_in_flight(run_id))]
    await jobs.request_cancels(tx, unwanted)
    return run, unwanted


async def raise_budget(tx: TenantTx, run_id: RunId, user_id: UserId, more: MoreBudget) -> Run:
    """A run that was paused for want of budget goes on. Raises InvalidInput for less than was spent already."""
    run = await hold_run(tx, run_id, user_id)
    if run.status in ENDED:
        raise InvalidInput("run_id", f"this run is {run.status.value}: a budget would change nothing")
    _check(run, more)
    await tx.run(sql.set_budget(run_id, tokens_max=more.tokens_max, jobs_max=more.jobs_max, hours_more=more.hours))
    if run.status is RunStatus.PAUSED and (run.status_reason or "").startswith(BUDGET):
        return await go_on_again(tx, run_id)
    await make_due(tx, run_id)
    return Run.from_row(await tx.one(sql.run_of_user(run_id, user_id)))


async def go_on_again(tx: TenantTx, run_id: RunId) -> Run:
    """A paused run that the caller holds."""
    row = await tx.one(sql.move_run(run_id, RunEvent.RESUME))
    await make_due(tx, run_id)
    return Run.from_row(row)


def _check(run: Run, more: MoreBudget) -> None:
    if more == MoreBudget():
        raise InvalidInput("budget", "name at least one of tokens_max, jobs_max and hours")
    spent = {"tokens_max": run.tokens_spent, "jobs_max": run.jobs_started}
    for name, least in spent.items():
        value = getattr(more, name)
        if value is not None and not least <= value <= 10**15:
            raise InvalidInput(name, f"must be {least} at least: so much was spent already")
    if more.jobs_max is not None and more.jobs_max > 10**6:
        raise InvalidInput("jobs_max", "must be 1000000 at most")
    if more.hours is not None and not 0 < more.hours <= HOURS_MAX:
        raise InvalidInput("hours", f"must be more than 0 and {HOURS_MAX} at most")
