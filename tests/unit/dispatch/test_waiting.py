"""Why a job waits, and who should try again."""

from datetime import UTC, datetime, timedelta

from comfyfleet.dispatch import Provider
from comfyfleet.dispatch.matching import EVERY_STRUCTURE
from comfyfleet.dispatch.waiting import (
    ALL_BLOCKED,
    NO_WORKER,
    KeptAway,
    Reason,
    Starving,
    Verdict,
    is_of_workers,
    judge,
)
from comfyfleet.kernel.ids import LaneId, TenantId, WorkerId, WorkflowId, new_id

LANE = LaneId(7)
ANN, BOB = sorted(TenantId(new_id()) for _ in range(2))
ONE, TWO = sorted(WorkerId(new_id()) for _ in range(2))
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
STARVING = Starving(LANE, WorkflowId(new_id()), "hash", Provider.SELF_HOSTED, frozenset({ANN, BOB}))


def kept(
    worker: WorkerId, tenant: TenantId | None = None, *, days: int = 0, opens: bool = False, structure: str = "hash"
) -> KeptAway:
    return KeptAway(worker, structure, tenant, LONG_AGO + timedelta(days=days), opens)


def test_nobody_may_run_it() -> None:
    assert judge(STARVING, [], {}) == Verdict((Reason(LANE, None, NO_WORKER),))


def test_those_who_may_lack_something_and_it_is_named() -> None:
    [reason] = judge(STARVING, [], {}, lacked="model files and GPU memory").reasons
    assert reason.text == "No worker that is online has all the model files and GPU memory that this workflow needs."
    assert is_of_workers(reason.text)
    assert is_of_workers(NO_WORKER)
    assert not is_of_workers(ALL_BLOCKED)


def test_somebody_may_run_it_so_it_only_waits_its_turn() -> None:
    assert judge(STARVING, [ONE, TWO], {ONE: [kept(ONE)]}) == Verdict()
    assert judge(STARVING, [ONE], {ONE: [kept(ONE, structure="another")]}) == Verdict()


def test_all_are_kept_away_and_the_longest_kept_tries_again() -> None:
    verdict = judge(STARVING, [ONE, TWO], {ONE: [kept(ONE, days=2)], TWO: [kept(TWO, days=1)]})
    assert verdict == Verdict((Reason(LANE, None, ALL_BLOCKED),), frozenset({(TWO, "hash")}))


def test_a_fault_of_the_server_keeps_away_as_well_and_both_blocks_open() -> None:
    verdict = judge(STARVING, [ONE], {ONE: [kept(ONE), kept(ONE, structure=EVERY_STRUCTURE)]})
    assert verdict.probes == {(ONE, "hash"), (ONE, EVERY_STRUCTURE)}


def test_one_that_may_try_already_is_enough() -> None:
    verdict = judge(STARVING, [ONE, TWO], {ONE: [kept(ONE, opens=True)], TWO: [kept(TWO)]})
    assert verdict == Verdict((Reason(LANE, None, ALL_BLOCKED),))


def test_a_block_of_one_tenant_is_that_tenants_reason() -> None:
    verdict = judge(STARVING, [ONE], {ONE: [kept(ONE, ANN)]})
    assert verdict == Verdict((Reason(LANE, ANN, ALL_BLOCKED),), frozenset({(ONE, "hash")}))
