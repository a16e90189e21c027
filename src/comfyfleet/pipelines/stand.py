"""How a run stands, in the words that people see: running, waiting, paused, over; told to whoever asked for it."""

from comfyfleet.db import TenantTx
from comfyfleet.pipelines import sql
from comfyfleet.pipelines.frontier import RunFrontier
from comfyfleet.pipelines.lifecycle import RunEvent, RunStatus
from comfyfleet.pipelines.model import Run
from comfyfleet.pipelines.select import Outlook, closed_gate, outlook
from comfyfleet.pipelines.tell import tell_moved

REJECTED = "Everything it made was rejected."
PASSED_OVER = "Nothing it made can go on: a scorer passed it over, or its picture is gone."


async def show_stand(tx: TenantTx, run: Run, view: RunFrontier, *, paused: str | None, is_scored: bool) -> None:
    """Whoever calls it holds the run. `is_scored`: a scorer opens the gate it waits at, and nobody need be told."""
    status = run.status
    if status is RunStatus.PENDING:
        status = Run.from_row(await tx.one(sql.start_run(run.id))).status
    if paused is not None:
        await _move(tx, run, RunEvent.PAUSE, reason=paused)
        return
    found = outlook(view)
    if found is Outlook.WAITING and not is_scored:
        if status is not RunStatus.WAITING_FOR_APPROVAL:
            await _move(tx, run, RunEvent.WAIT, gate=closed_gate(view))
        return
    if found is Outlook.OUT_OF_BUDGET:
        await _move(tx, run, RunEvent.PAUSE, reason=_spent(view))
        return
    if status is RunStatus.WAITING_FOR_APPROVAL:
        await tx.one(sql.move_run(run.id, RunEvent.GO_ON))
    if found is Outlook.DONE:
        await _move(tx, run, RunEvent.COMPLETE, ends=True)
    elif found is Outlook.FAILED:
        await _move(tx, run, RunEvent.FAIL, reason=await _why_failed(tx, view), ends=True)


async def _move(
    tx: TenantTx, run: Run, event: RunEvent, *, reason: str | None = None, gate: int | None = None, ends: bool = False
) -> None:
    row = await tx.one(sql.move_run(run.id, event, reason=reason, ends=ends))
    await tell_moved(tx, Run.from_row(row), gate=gate)


def _spent(view: RunFrontier) -> str:
    if view.budget.is_over_time:
        return "budget_hours"
    if view.budget.jobs is not None and view.budget.jobs < 1:
        return "budget_jobs"
    return "budget_tokens"


async def _why_failed(tx: TenantTx, view: RunFrontier) -> str:
    row = await tx.maybe(sql.last_error(view.id))
    if row is not None:
        return f"Every path failed. The last error: {row.error}"
    return PASSED_OVER if any(stage.alive for stage in view.stages) else REJECTED
