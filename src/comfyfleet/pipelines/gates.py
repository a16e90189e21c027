"""The gate behind each step: closed until somebody, or the run's own rule, says how many of its best go on."""

from collections.abc import Sequence

from comfyfleet.db import TenantTx
from comfyfleet.kernel.errors import IllegalMove, InvalidInput, NotFound
from comfyfleet.kernel.ids import CandidateId, RunId, UserId
from comfyfleet.pipelines import sql
from comfyfleet.pipelines.count import make_due
from comfyfleet.pipelines.lifecycle import RUN, RunEvent, RunStatus
from comfyfleet.pipelines.model import TOP_MAX, Run, RunStep
from comfyfleet.pipelines.read import hold_run, read_steps
from comfyfleet.pipelines.tree import sql as tree_sql


async def approve_step(tx: TenantTx, run_id: RunId, user_id: UserId, position: int, *, top: int | None = None) -> Run:
    """For its best `top`, or as many as the run says. Approved again, with another number, it is that one.

    Where a scorer left fewer than so many, whom it passed over counts again: a person decides now.
    """
    run = await hold_run(tx, run_id, user_id)
    step = await _require_gate(tx, run, position)
    chosen = run.top if top is None else top
    if not 1 <= chosen <= TOP_MAX:
        raise InvalidInput("top", f"must be from 1 to {TOP_MAX}")
    if len(await tx.all(tree_sql.best(top=chosen), of_run=run_id, at_step=position)) < min(chosen, step.alive):
        await tx.run(tree_sql.pass_again(run_id, position))
    await tx.run(sql.set_gate(run_id, position, top=chosen, by=str(user_id)))
    return await _go_on(tx, run)


async def reopen_step(tx: TenantTx, run_id: RunId, user_id: UserId, position: int) -> Run:
    """The decision is open again: no new children behind it until somebody approves. What is there stays."""
    run = await hold_run(tx, run_id, user_id)
    step = await _require_gate(tx, run, position)
    if step.approved_at is None:
        raise IllegalMove("gate", state="closed", event="reopen")
    await tx.run(sql.set_gate(run_id, position, top=None, by=None))
    return await _go_on(tx, run)


async def open_by_rule(tx: TenantTx, run_id: RunId, position: int, *, top: int, by: str) -> None:
    """Whoever calls it holds the run."""
    await tx.run(sql.set_gate(run_id, position, top=top, by=by))


async def record_scores(tx: TenantTx, run_id: RunId, scores: Sequence[tuple[CandidateId, dict[str, float]]]) -> None:
    """Shown beside Elo, and never mixed into it."""
    if await tx.maybe(sql.hold_run_of_house(), of_run=run_id) is None:
        raise NotFound("run", run_id)
    for candidate_id, found in scores:
        await tx.run(tree_sql.set_scores(candidate_id, found))


async def approve_by_scorer(
    tx: TenantTx, run_id: RunId, position: int, *, passed_over: Sequence[CandidateId], scorer: str
) -> bool:
    """Those that the scorer likes less get no children. False: somebody was faster, or the run goes on no more."""
    row = await tx.maybe(sql.hold_run_of_house(), of_run=run_id)
    if row is None or row.status not in sql.ADVANCING:
        return False
    step = (await read_steps(tx, [run_id]))[run_id][position]
    if step.approved_at is not None:
        return False
    if passed_over:
        await tx.run(tree_sql.pass_over(list(passed_over)))
    await open_by_rule(tx, run_id, position, top=row.top, by=f"scorer:{scorer}")
    await make_due(tx, run_id)
    return True


async def _require_gate(tx: TenantTx, run: Run, position: int) -> RunStep:
    if run.status is RunStatus.STOPPED:
        raise IllegalMove("run", state=run.status, event="approve")
    steps = (await read_steps(tx, [run.id]))[run.id]
    if not 0 <= position < len(steps):
        raise NotFound("step", position)
    if position == len(steps) - 1:
        raise InvalidInput("position", "the last step has no gate behind it")
    if steps[position].alive == 0:
        raise InvalidInput("position", "this step has no candidates to choose from")
    return steps[position]


async def _go_on(tx: TenantTx, run: Run) -> Run:
    """One that waited, or seemed over, has something to do; one that is paused is told when it goes on."""
    if run.status in RUN.sources(RunEvent.GO_ON):
        await tx.one(sql.move_run(run.id, RunEvent.GO_ON))
    await make_due(tx, run.id)
    return Run.from_row(await tx.one(sql.run_of_user(run.id, run.user_id)))
