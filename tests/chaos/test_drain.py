"""Two replicas on one PostgreSQL, workers that drain a queue, and SIGKILL: none lost, none doubled, all paid right.

`CHAOS_JOBS`, `CHAOS_WORKERS` and `CHAOS_KILLS` set the size, `CHAOS_SEED` repeats a run's blows.
"""

import asyncio
import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from comfyfleet.bootstrap import build_house
from comfyfleet.db import open_database
from comfyfleet.db.migrate import CENTRAL_HISTORY, TENANT_HISTORY, History, upgrade
from comfyfleet.settings import Settings
from tests.chaos.blows import Kind, plan_blows
from tests.chaos.drain import Drain
from tests.chaos.outcome import Outcome, read_outcome
from tests.chaos.processes import WORKERS_EACH, Replica, WorkerProcess, hire
from tests.chaos.stage import CREDIT, POOLS, Stage, settings_of
from tests.postgres import Cluster, postgres_cluster
from tests.server import free_port

JOBS = int(os.environ.get("CHAOS_JOBS", "240"))
WORKERS = int(os.environ.get("CHAOS_WORKERS", "20"))
KILLS = int(os.environ.get("CHAOS_KILLS", "8"))
SEED = os.environ.get("CHAOS_SEED") or uuid4().hex[:8]
WITHIN_S = 90 + JOBS * 0.2

pytestmark = pytest.mark.timeout(WITHIN_S + 120)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """One drain, whose end every test looks at."""
    print(f"\nCHAOS_SEED={SEED} CHAOS_JOBS={JOBS} CHAOS_WORKERS={WORKERS} CHAOS_KILLS={KILLS}")  # noqa: T201 to be run again
    folder = tmp_path_factory.mktemp("chaos")
    with postgres_cluster(durable=True) as cluster, databases(cluster) as urls:
        found = asyncio.run(drain_it(folder, settings_of(folder, urls)))
    print(found.report())  # noqa: T201 the figures are what it is for
    return found


@contextmanager
def databases(cluster: Cluster) -> Iterator[dict[str, str]]:
    mark = uuid4().hex[:8]
    names = {"central": f"chaos_central_{mark}", **{pool: f"chaos_{pool}_{mark}" for pool in POOLS}}
    urls = {name: cluster.create(database) for name, database in names.items()}
    try:
        yield urls
    finally:
        for database in names.values():
            cluster.drop(database)


async def drain_it(folder: Path, settings: dict[str, str]) -> Outcome:
    await migrate(settings["DATABASE_URL"], CENTRAL_HISTORY)
    for url in json.loads(settings["POOLS"]).values():
        await migrate(url, TENANT_HISTORY)
    given = {name.lower(): json.loads(text) if name == "POOLS" else text for name, text in settings.items()}
    house = build_house(Settings(**given))
    try:
        stage = Stage(house, random.Random(SEED))
        await stage.furnish()
        return await read_outcome(await play(stage, folder, settings), folder, settings)
    finally:
        await house.close()


async def migrate(url: str, history: History) -> None:
    database = open_database(history.name, url)
    await upgrade(database, history)
    await database.close()


async def play(stage: Stage, folder: Path, settings: dict[str, str]) -> Drain:
    replicas = [Replica(f"replica-{number}", folder, free_port(), settings) for number in (1, 2)]
    order = {"ports": [each.port for each in replicas], "secret": stage.secret, "seed": SEED, "folder": str(folder)}
    crew = hire(WORKERS, order)
    drain = Drain(stage, replicas, crew, JOBS, random.Random(f"{SEED}/drain"))
    try:
        await asyncio.gather(*(replica.start() for replica in replicas))
        for process in crew:
            process.start()
        await drain.run(plan_blows(SEED, KILLS), within_s=WITHIN_S)
    finally:
        end_all([*crew, *replicas])
    return drain


def end_all(processes: list[Replica | WorkerProcess]) -> None:
    for process in processes:
        process.end()


def test_no_job_is_lost(outcome: Outcome) -> None:
    created = {str(job_id) for job_id in outcome.drain.stage.created}
    assert len(created) == JOBS
    assert {str(job.id) for account in outcome.accounts for job in account.jobs} == created
    assert outcome.dispatches.keys() == created
    assert {job.status for account in outcome.accounts for job in account.jobs} <= {"completed", "failed", "cancelled"}


def test_no_job_is_done_twice(outcome: Outcome) -> None:
    """By what the workers were told: one `complete` of a job is the first, and nobody gets the job after it."""
    completed = outcome.records.completed()
    assert {job: epochs for job, epochs in completed.items() if len(epochs) > 1} == {}
    assert outcome.records.begun_after_success() == []
    ends = {job: (outcome.dispatches[job].status, outcome.dispatches[job].done_epoch) for job in completed}
    assert ends == {job: ("completed", epochs[0]) for job, epochs in completed.items()}


def test_what_was_completed_was_executed(outcome: Outcome) -> None:
    began = {(line["job"], line["epoch"]) for line in outcome.records.of("began")}
    done = {job: row.done_epoch for job, row in outcome.dispatches.items() if row.status == "completed"}
    assert {job for job, epoch in done.items() if (job, epoch) not in began} == set()


def test_nothing_is_executed_again_without_a_reason(outcome: Outcome) -> None:
    """Somebody said that it failed, gave it back, forgot it or lost it; or was hit: with what it ran, and one ahead."""
    blows = outcome.drain.blows
    hit = blows[Kind.WORKERS] + blows[Kind.STALL] + blows[Kind.TAKE_OVER]
    assert len(outcome.records.cut_off()) <= 2 * WORKERS_EACH * hit


def test_every_job_is_paid_for_or_given_back(outcome: Outcome) -> None:
    for account in outcome.accounts:
        ends = {(job.status == "completed", job.reserved, job.consumed, job.refunded) for job in account.jobs}
        assert ends <= {(True, 1, 1, 0), (False, 1, 0, 1)}
        assert account.balance == CREDIT - sum(job.price for job in account.jobs if job.status == "completed")


def test_job_and_dispatch_say_the_same(outcome: Outcome) -> None:
    for account in outcome.accounts:
        assert [job.id for job in account.jobs if outcome.dispatches[str(job.id)].status != job.status] == []


def test_every_settlement_is_applied(outcome: Outcome) -> None:
    assert len(outcome.settlements) == JOBS
    assert [each for each in outcome.settlements if each.applied_at is None or each.parked_at is not None] == []
    assert [each for each in outcome.dispatches.values() if each.settled_at is None] == []


def test_the_invariants_hold_at_the_end_and_held_all_the_while(outcome: Outcome) -> None:
    assert outcome.drain.audits >= 3
    assert outcome.drain.broken == []
    assert outcome.audit_code == 0, outcome.audit
    assert {each["state"] for each in json.loads(outcome.audit)} == {"ok"}


def test_the_blows_were_given(outcome: Outcome) -> None:
    blows = outcome.drain.blows
    assert blows[Kind.WORKERS] + blows[Kind.REPLICA] == KILLS
    assert min(blows[kind] for kind in Kind) >= 1
    assert outcome.drain.connections_cut > 0
    assert outcome.records.of("superseded")


def test_nothing_surprised_the_server_or_a_worker(outcome: Outcome) -> None:
    assert outcome.records.of("unexpected") == []
    assert outcome.surprises == []
    assert outcome.deadlocks == 0, outcome.deadlocked
    assert [process.names for process in outcome.drain.crew if process.fell_over] == []
