"""Counts are kept as things happen: whoever chooses reads them, and never a whole tree. Below zero: fewer.

Whoever counts holds the run. Their statements are built once: a run counts several times for each picture.
"""

from comfyfleet.db import TenantTx
from comfyfleet.kernel.ids import CandidateId, RunId
from comfyfleet.pipelines import sql
from comfyfleet.pipelines.tree import sql as tree_sql


async def count_step(tx: TenantTx, run_id: RunId, position: int, **more: int) -> None:
    """`made`, `alive`, `in_flight`, `started`, `failures`, `votes`."""
    by = {f"by_{name}": more.pop(name, 0) for name in sql.COUNTS}
    _require_known(more)
    await tx.run(sql.count_step(), of_run=run_id, at_step=position, **by)


async def count_run(
    tx: TenantTx,
    run_id: RunId,
    *,
    in_flight: int = 0,
    jobs_started: int = 0,
    tokens_spent: int = 0,
    is_due: bool = False,
) -> None:
    """`is_due`: and somebody should look what it can do now, as by `make_due`."""
    statement = sql.count_and_make_due() if is_due else sql.count_run()
    await tx.run(statement, of_run=run_id, by_in_flight=in_flight, by_jobs=jobs_started, by_tokens=tokens_spent)


async def count_parent(
    tx: TenantTx, candidate_id: CandidateId, *, children: int = 0, started: int = 0, failures: int = 0
) -> None:
    await tx.run(
        tree_sql.count_parent(),
        candidate_id=candidate_id,
        by_children=children,
        by_started=started,
        by_failures=failures,
    )


async def make_due(tx: TenantTx, run_id: RunId) -> None:
    """Somebody should look what it can do now. One that is paused or over is left in peace."""
    await tx.run(sql.make_due(), of_run=run_id)


async def make_all_due(tx: TenantTx) -> None:
    """All of the tenant's runs: it was suspended, and they pause."""
    await tx.run(sql.make_all_due())


def _require_known(rest: dict[str, int]) -> None:
    if rest:
        raise TypeError(f"a step has no counts {sorted(rest)}")
