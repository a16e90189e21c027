"""Runs of pipelines on two replicas and one PostgreSQL, and SIGKILL: trees, budgets and ledgers exact, nothing twice.

`PIPELINE_CANDIDATES`, `PIPELINE_KILLS` and `PIPELINE_WORKERS` set the size, `PIPELINE_SEED` repeats a night's blows.
"""

import asyncio
import json
import os
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from comfyfleet.bootstrap import build_house
from comfyfleet.db.migrate import CENTRAL_HISTORY, TENANT_HISTORY
from comfyfleet.pipelines.begin import BASE
from comfyfleet.pipelines.select import FAILURES_MAX
from comfyfleet.settings import Settings
from tests.builders import balance
from tests.chaos.outcome import DEADLOCKS, JOBS_OF_TENANT, Account, surprises_in
from tests.chaos.processes import Replica, hire, run_audit
from tests.chaos.runs.gallery import CANDIDATES, KINDS, PRICE, RUN_JOBS, RUNS, Gallery
from tests.chaos.runs.night import Night
from tests.chaos.stage import CREDIT, Stage, settings_of
from tests.chaos.test_drain import databases, end_all, migrate
from tests.postgres import postgres_cluster
from tests.server import free_port

WANTED = int(os.environ.get("PIPELINE_CANDIDATES", "20"))
KILLS = int(os.environ.get("PIPELINE_KILLS", "2"))
WORKERS = int(os.environ.get("PIPELINE_WORKERS", "5"))
SEED = os.environ.get("PIPELINE_SEED") or uuid4().hex[:8]
VARIANTS, TOP, CONCURRENCY = (5, 2, 12) if WANTED >= 500 else (2, 1, 4)
WITHIN_S = 90 + WANTED * 1.2 + KILLS * 30

pytestmark = pytest.mark.timeout(WITHIN_S + 120)


@dataclass(frozen=True)
class Morning:
    """What there is when all runs are over."""

    night: Night
    runs: Sequence[Any]
    candidates: Sequence[Any]
    jobs: Sequence[Any]
    accounts: Sequence[Account]
    dispatches: int
    deadlocks: int
    surprises: list[str]
    audit_code: int
    audit: str

    def report(self) -> str:
        facts = {
            "runs": len(self.runs),
            "candidates": len(self.candidates),
            "jobs": len(self.jobs),
            "jobs failed": sum(job.state == "failed" for job in self.jobs),
            "over in s": round(self.night.took_s, 1),
            **self.night.blows,
            "votes": self.night.votes,
            "budgets met": len(self.night.paused),
            "audits while it went on": self.night.audits,
            "deadlocks": self.deadlocks,
        }
        return "\n".join(f"{name:>30}  {value}" for name, value in facts.items())


@pytest.fixture(scope="module")
def morning(tmp_path_factory: pytest.TempPathFactory) -> Morning:
    """After one night, at which every test looks."""
    print(f"\nPIPELINE_SEED={SEED} PIPELINE_CANDIDATES={WANTED} PIPELINE_KILLS={KILLS}")  # noqa: T201 to be run again
    folder = tmp_path_factory.mktemp("night")
    with postgres_cluster(durable=True) as cluster, databases(cluster) as urls:
        found = asyncio.run(spend(folder, settings_of(folder, urls)))
    print(found.report())  # noqa: T201 the figures are what it is for
    return found


async def spend(folder: Path, settings: dict[str, str]) -> Morning:
    await migrate(settings["DATABASE_URL"], CENTRAL_HISTORY)
    for url in json.loads(settings["POOLS"]).values():
        await migrate(url, TENANT_HISTORY)
    given = {name.lower(): json.loads(text) if name == "POOLS" else text for name, text in settings.items()}
    house = build_house(Settings(**given))
    try:
        stage = Stage(house, random.Random(SEED))
        await stage.furnish()
        gallery = Gallery(stage, VARIANTS, TOP, CONCURRENCY)
        await gallery.furnish()
        return await look_around(await play(gallery, folder, settings), folder, settings)
    finally:
        await house.close()


async def play(gallery: Gallery, folder: Path, settings: dict[str, str]) -> Night:
    replicas = [Replica(f"replica-{number}", folder, free_port(), settings) for number in (1, 2)]
    order = {"ports": [each.port for each in replicas], "secret": gallery.stage.secret, "seed": SEED}
    crew = hire(WORKERS, {**order, "folder": str(folder), "delivers": True})
    wanted = 0
    while wanted < WANTED or len(gallery.runs) < len(KINDS):
        kind = KINDS[len(gallery.runs) % len(KINDS)]
        await gallery.start(kind)
        wanted += gallery.tree_of(kind)
    night = Night(gallery, replicas, crew, wanted, KILLS, random.Random(f"{SEED}/night"))
    try:
        await asyncio.gather(*(replica.start() for replica in replicas))
        for process in crew:
            process.start()
        await night.run(within_s=WITHIN_S)
    finally:
        end_all([*crew, *replicas])
    return night


async def look_around(night: Night, folder: Path, settings: dict[str, str]) -> Morning:
    gallery, stage = night.gallery, night.gallery.stage
    code, said = await run_audit(folder, settings)
    accounts = []
    for customer in stage.customers:
        pool = stage.house.pool(customer.tenant.pool)
        rows = await stage.ask(pool, JOBS_OF_TENANT, tenant_id=customer.tenant.id)
        accounts.append(Account(customer, rows, await balance(stage.house, customer.tenant, customer.user)))
    [dispatches] = await stage.ask(stage.house.central, "SELECT count(*) FROM ai_job_dispatches")
    [deadlocks] = await stage.ask(stage.house.central, DEADLOCKS)
    return Morning(
        night=night,
        runs=await gallery.ask_all(RUNS),
        candidates=await gallery.ask_all(CANDIDATES),
        jobs=await gallery.ask_all(RUN_JOBS),
        accounts=accounts,
        dispatches=dispatches[0],
        deadlocks=int(deadlocks[0]),
        surprises=[line for replica in night.replicas for line in surprises_in(replica.log)],
        audit_code=code,
        audit=said,
    )


def by_place(jobs: Sequence[Any]) -> dict[tuple[Any, int], list[Any]]:
    places: dict[tuple[Any, int], list[Any]] = defaultdict(list)
    for job in jobs:
        places[job.place, job.position].append(job)
    return places


def test_every_run_is_over(morning: Morning) -> None:
    assert len(morning.runs) == len(morning.night.gallery.runs)
    assert [row.name for row in morning.runs if row.in_flight or row.advance_due_at is not None] == []
    has_failures = {job.run_id for job in morning.jobs if job.state == "failed"}
    assert [row.name for row in morning.runs if row.status != "completed" and row.id not in has_failures] == []


def test_every_place_in_every_tree_is_filled_exactly(morning: Morning) -> None:
    """The parents are those that the gates let through; each has its children, neither one more nor one fewer."""
    jobs, tops = by_place(morning.jobs), {}
    for run in morning.runs:
        is_person = run.name.startswith("person")
        for position in range(3):
            made = [each for each in morning.candidates if (each.run_id, each.position) == (run.id, position)]
            parents = [run.id] if position == 0 else tops[run.id, position - 1]
            for place in parents:
                filling = jobs.pop((place, position))
                done = [job for job in filling if job.state == "done"]
                failed = [job for job in filling if job.state == "failed"]
                limit = max(FAILURES_MAX, len(done) + 1) if position == 0 else FAILURES_MAX
                assert len(done) == VARIANTS or len(failed) >= limit, (run.name, position, len(done))
                assert {job.state for job in filling} <= {"done", "failed"}
                children = [each for each in made if (each.parent_id or run.id) == place]
                assert {each.job_id for each in children} == {job.job_id for job in done}
                assert len(children) == len(done)
            best = sorted(made, key=lambda each: (-each.elo, each.id))
            tops[run.id, position] = [each.id for each in best[: TOP if is_person else None]]
    assert jobs == {}, "places that no gate let through"


def test_ordinals_have_neither_gap_nor_double(morning: Morning) -> None:
    for filling in by_place(morning.jobs).values():
        assert sorted(job.ordinal for job in filling) == list(range(len(filling)))


def test_no_job_is_there_twice(morning: Morning) -> None:
    keys = [job.idempotency_key for job in morning.jobs]
    assert keys == [f"run:{job.run_id}:{job.position}:{job.parent_id or BASE}:{job.ordinal}" for job in morning.jobs]
    assert len(set(keys)) == len(keys)
    everything = [job for account in morning.accounts for job in account.jobs]
    assert len(everything) == len(keys) == morning.dispatches


def test_every_job_is_paid_for_or_given_back_and_the_runs_know_it(morning: Morning) -> None:
    for account in morning.accounts:
        ends = {(job.status == "completed", job.reserved, job.consumed, job.refunded) for job in account.jobs}
        assert ends <= {(True, 1, 1, 0), (False, 1, 0, 1)}
        assert account.balance == CREDIT - PRICE * sum(job.status == "completed" for job in account.jobs)
    for run in morning.runs:
        own = [job for job in morning.jobs if job.run_id == run.id]
        assert (run.jobs_started, run.tokens_spent) == (len(own), PRICE * sum(job.state == "done" for job in own))


def test_runs_stood_still_exactly_at_their_budgets(morning: Morning) -> None:
    wanted = sum(run.kind in ("jobs", "tokens") for run in morning.night.gallery.runs)
    assert len(morning.night.paused) == wanted
    assert [(reason, spent) for kind, reason, spent, _ in morning.night.paused] == [
        (f"budget_{kind}", limit) for kind, _, _, limit in morning.night.paused
    ]


def test_the_invariants_hold_at_the_end_and_held_all_the_while(morning: Morning) -> None:
    assert morning.night.audits >= 1
    assert morning.night.broken == []
    assert morning.audit_code == 0, morning.audit
    assert {each["state"] for each in json.loads(morning.audit)} == {"ok"}


def test_the_blows_were_given_and_surprised_nobody(morning: Morning) -> None:
    blows = morning.night.blows
    assert blows["replica killed"] + blows["both replicas killed"] == KILLS
    assert morning.surprises == []
    assert morning.deadlocks == 0
    assert [process.names for process in morning.night.crew if process.fell_over] == []
