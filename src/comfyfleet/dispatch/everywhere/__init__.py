"""A workflow that fails everywhere is not tried for ever: after enough workers the fault is its own."""

from collections.abc import Iterable
from dataclasses import dataclass

from comfyfleet.db import ControlTx
from comfyfleet.dispatch.everywhere import sql
from comfyfleet.dispatch.failures import POLICIES, FailureClass
from comfyfleet.dispatch.model import Dispatch
from comfyfleet.kernel.ids import WorkerId

WORKERS_ENOUGH = 3
WINDOW_S = 1800.0
COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class Try:
    """How one attempt ended, and on which worker."""

    worker_id: WorkerId
    reason: str


def may_fail_everywhere(failure: FailureClass) -> bool:
    """Only what lies in the pair of workflow and worker can lie in the workflow alone."""
    return POLICIES[failure].blocks == "hash"


async def failed_everywhere(
    tx: ControlTx, dispatch: Dispatch, failure: FailureClass, *, eligible: int = WORKERS_ENOUGH
) -> bool:
    """Ask while the failing attempt is still open: `dispatch` names its worker.

    Only the tenant's own attempts at that structure count: its bad inputs must not shorten another's tries.
    `eligible` is how many live workers may run it at all.
    """
    if not may_fail_everywhere(failure) or dispatch.worker_id is None:
        return False
    rows = await tx.all(sql.recent_tries(dispatch.id, dispatch.tenant_id, dispatch.lane, window_s=WINDOW_S))
    tries = [Try(row.worker_id, row.reason) for row in rows]
    return is_everywhere([*tries, Try(dispatch.worker_id, failure.value)], failure, eligible=eligible)


def is_everywhere(tries: Iterable[Try], failure: FailureClass, *, eligible: int) -> bool:
    found = list(tries)
    if any(each.reason == COMPLETED for each in found):
        return False
    failed_on = {each.worker_id for each in found if each.reason == failure.value}
    return len(failed_on) >= min(WORKERS_ENOUGH, max(eligible, 1))
