"""Forget what ended long ago. The order is safe: nothing goes before its tenant's database knows the outcome."""

from comfyfleet.db import ControlTx
from comfyfleet.dispatch.retention import sql


async def forget_ended(tx: ControlTx, *, age_s: float, rows: int) -> int:
    """Dispatches that ended and were settled so long ago, with their attempts, payloads and settlements.

    What is not settled stays for ever: a job whose outcome is only known here must not come back to life.
    """
    ids = [row.id for row in await tx.all(sql.long_settled(age_s=age_s, rows=rows))]
    if not ids:
        return 0
    parts = (sql.forget_results, sql.forget_attempts, sql.forget_payloads, sql.forget_settlements)
    for statement in (*parts, sql.forget_dispatches):
        await tx.run(statement(ids))
    return len(ids)
