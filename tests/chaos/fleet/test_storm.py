"""A fleet in a storm: real workers on real engines, two replicas, real users; processes die and sockets break; every
output has the right bytes, every token is where it belongs.

`FLEET_JOBS`, `FLEET_WORKERS`, `FLEET_MINUTES` (in which the jobs come) and `FLEET_BLOWS` set the size, `FLEET_SEED`
repeats a run's orders and blows, `FLEET_PROGRESS=1` says every half minute how it goes.
"""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from tests.chaos.fleet.blows import Kind, plan_blows
from tests.chaos.fleet.orders import plan_orders
from tests.chaos.fleet.outcome import Outcome, read_outcome
from tests.chaos.fleet.stage import CREDIT, CUSTOMERS, POOLS, Stage, a_stage
from tests.chaos.fleet.storm import Storm
from tests.postgres import Cluster, postgres_cluster

JOBS = int(os.environ.get("FLEET_JOBS", "24"))
WORKERS = int(os.environ.get("FLEET_WORKERS", "2"))
LASTS_S = float(os.environ.get("FLEET_MINUTES", "0.3")) * 60
BLOWS = int(os.environ.get("FLEET_BLOWS", "9"))
SEED = os.environ.get("FLEET_SEED") or uuid4().hex[:8]
SAYS_EVERY_S = 30.0 if os.environ.get("FLEET_PROGRESS") else None
WITHIN_S = LASTS_S * 1.5 + 240 + JOBS * 0.5

pytestmark = pytest.mark.timeout(WITHIN_S + 300)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """One storm, whose end every test looks at."""
    sizes = f"FLEET_JOBS={JOBS} FLEET_WORKERS={WORKERS} FLEET_MINUTES={LASTS_S / 60:g} FLEET_BLOWS={BLOWS}"
    print(f"\nFLEET_SEED={SEED} {sizes}", flush=True)  # noqa: T201 to be run again
    folder = tmp_path_factory.mktemp("storm")
    with postgres_cluster(durable=True) as cluster, databases(cluster) as urls:
        found = asyncio.run(play(folder, urls))
    print(found.report(), flush=True)  # noqa: T201 the figures are what it is for
    return found


@contextmanager
def databases(cluster: Cluster) -> Iterator[dict[str, str]]:
    mark = uuid4().hex[:8]
    names = {name: f"storm_{name}_{mark}" for name in ("central", *POOLS)}
    try:
        yield {name: cluster.create(database) for name, database in names.items()}
    finally:
        for database in names.values():
            cluster.drop(database)


async def play(folder: Path, urls: dict[str, str]) -> Outcome:
    async with a_stage(folder, urls, workers=WORKERS) as stage:
        orders = plan_orders(SEED, JOBS, customers=CUSTOMERS, lasts_s=LASTS_S)
        storm = Storm(stage, orders, LASTS_S, SAYS_EVERY_S)
        await storm.run(plan_blows(SEED, BLOWS, lasts_s=LASTS_S), within_s=WITHIN_S)
        await send_home(stage)
        return await read_outcome(storm)


async def send_home(stage: Stage) -> None:
    """Whoever leaves with nothing in hand leaves at once, and well."""
    await asyncio.gather(*(unit.worker.says("worker.starts") for unit in stage.units))
    codes = await asyncio.gather(*(unit.worker.leave() for unit in stage.units))
    assert codes == [0] * len(codes)


def test_every_job_ends_as_it_should(outcome: Outcome) -> None:
    """Completed; or cancelled, if its user asked for that. None failed: eight blows to one job would be needed."""
    storm = outcome.storm
    assert sorted(storm.jobs) == list(range(JOBS))
    ends = {str(job.id): job.status for account in outcome.accounts for job in account.jobs}
    assert ends.keys() == set(storm.jobs.values()) == outcome.dispatches.keys()
    allowed = {
        storm.jobs[order.number]: {"completed", "cancelled"} if order.number in storm.cancelled else {"completed"}
        for order in storm.orders
    }
    assert {job: (end, outcome.failed.get(job)) for job, end in ends.items() if end not in allowed[job]} == {}


def test_every_output_has_the_right_bytes(outcome: Outcome) -> None:
    assert outcome.wrong == {}
    completed = sum(job.status == "completed" for account in outcome.accounts for job in account.jobs)
    assert outcome.files_checked >= completed > 0


def test_every_job_is_paid_for_or_given_back(outcome: Outcome) -> None:
    for account in outcome.accounts:
        ends = {(job.status == "completed", job.reserved, job.consumed, job.refunded) for job in account.jobs}
        assert ends <= {(True, 1, 1, 0), (False, 1, 0, 1)}
        assert account.balance == CREDIT - sum(job.price for job in account.jobs if job.status == "completed")


def test_no_attempt_is_spent_without_a_blow_that_explains_it(outcome: Outcome) -> None:
    """A drain explains none, nor does a dead replica."""
    assert outcome.unexplained() == []


def test_whoever_was_told_to_leave_left_well(outcome: Outcome) -> None:
    drains = [hit for hit in outcome.storm.hits if hit.kind is Kind.WORKER_DRAINED]
    assert [hit for hit in drains if hit.code != 0] == []


def test_nothing_is_left_behind(outcome: Outcome) -> None:
    """No lease, no journal, no object that nobody names, no file that is not there."""
    assert [each for each in outcome.attempts if each.ended_at is None] == []
    assert {row.status for row in outcome.dispatches.values()} <= {"completed", "cancelled"}
    assert [row for row in outcome.dispatches.values() if row.settled_at is None] == []
    assert outcome.left == {}
    assert outcome.unnamed == set()
    assert outcome.missing == set()


def test_the_invariants_hold_at_the_end_and_held_all_the_while(outcome: Outcome) -> None:
    assert outcome.storm.audits >= 3
    assert outcome.storm.broken == []
    assert outcome.audit_code == 0, outcome.audit
    assert {each["state"] for each in json.loads(outcome.audit)} == {"ok"}


def test_the_blows_were_given_and_nobody_fell_over_by_itself(outcome: Outcome) -> None:
    assert outcome.storm.troubles == []
    assert len(outcome.storm.hits) == BLOWS
    assert {hit.kind for hit in outcome.storm.hits} == set(list(Kind)[:BLOWS])
    units = outcome.storm.stage.units
    assert [each.name for unit in units for each in (unit.worker, unit.engine) if each.fell_over] == []
    assert outcome.surprises == []
