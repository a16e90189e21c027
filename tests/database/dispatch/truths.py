"""The product's own invariants of the queue, asked of a database in a test."""

from functools import cache
from typing import Any

import sqlalchemy as sa

from comfyfleet.checks import QUEUE, Finding, check_invariants
from comfyfleet.db import Database
from comfyfleet.dispatch import QueueRules


async def broken_truths(central: Database, rules: QueueRules | None = None) -> list[Finding]:
    """Those that do not hold, with the rows that break them."""
    rules = rules or QueueRules()
    async with central.control_tx(read_only=True) as tx:
        if not await tx.all(_any_broken(rules)):
            return []
        found = await check_invariants(tx, QUEUE, database=central.name, rules=rules)
    return [each for each in found if each.state != "ok"]


@cache
def _any_broken(rules: QueueRules) -> sa.CompoundSelect[Any]:
    """All of them in one statement: a machine asks after every step."""
    return sa.union_all(
        *(sa.select(sa.literal(each.code)).select_from(each.statement(rules).subquery()) for each in QUEUE)
    )
