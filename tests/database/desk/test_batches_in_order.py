"""Two batches over the same rows, in opposite orders: neither may wait for the other.

Somebody holds the row in the middle, so that each batch has its first row and wants its last before either can go on.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import sqlalchemy as sa

from comfyfleet import dispatch, fleet
from comfyfleet.db.tables import ai_job_dispatches as d
from comfyfleet.dispatch import Grant, Holder
from comfyfleet.fleet import NameProof, NewWorker, Worker
from comfyfleet.kernel.ids import DispatchId, WorkflowId
from tests.database.desk.shop import Shop, a_beat, a_report, proof

# A few rows are read as they lie; of many, each batch takes those it names, in its own order.
COPIES = """
INSERT INTO ai_job_dispatches
SELECT (jsonb_populate_record(d, jsonb_build_object('id', n.id, 'tenant_job_id', n.id, 'worker_id', n.id))).*
FROM ai_job_dispatches d, (SELECT gen_random_uuid() AS id FROM generate_series(1, 2000)) n WHERE d.id = :id
"""
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"


@pytest.fixture(autouse=True)
def only_where_rows_are_locked(engine: str) -> None:
    if engine == "sqlite":
        pytest.skip("SQLite locks no rows: one transaction writes at a time")


@asynccontextmanager
async def held(shop: Shop, dispatch_id: DispatchId, *, waiters: int) -> AsyncIterator[None]:
    """Locked until so many wait for a lock."""
    async with shop.house.central.engine.begin() as connection:
        await connection.execute(sa.select(d.c.id).where(d.c.id == dispatch_id).with_for_update())
        yield
        async with shop.house.central.engine.connect() as watcher, asyncio.timeout(10):
            watcher = await watcher.execution_options(isolation_level="AUTOCOMMIT")
            while await watcher.scalar(sa.text(WAITING)) < waiters:  # noqa: ASYNC110 locks signal nobody
                await asyncio.sleep(0.01)


async def make_many(shop: Shop, dispatch_id: DispatchId) -> None:
    async with shop.house.central.engine.begin() as connection:
        await connection.execute(sa.text(COPIES).bindparams(sa.bindparam("id", dispatch_id, type_=sa.Uuid())))
        await connection.execute(sa.text("ANALYZE ai_job_dispatches"))


async def three_leases(shop: Shop, worker: Worker) -> list[Grant]:
    await shop.add(3)
    grants = [grant for _ in range(3) if (grant := await shop.poll(worker, leases_max=3)) is not None]
    await make_many(shop, grants[0].dispatch_id)
    return sorted(grants, key=lambda grant: grant.dispatch_id)


async def test_heartbeats_and_completions(shop: Shop) -> None:
    worker = await shop.worker(max_concurrency=3)
    grants = await three_leases(shop, worker)
    async with held(shop, grants[1].dispatch_id, waiters=2):
        beats = asyncio.create_task(shop.desks[0].heartbeat([a_beat(grant, worker) for grant in grants]))
        ends = [asyncio.create_task(shop.desks[1].complete(a_report(grant, worker))) for grant in reversed(grants)]
    await beats
    assert [ended.status.value for ended in await asyncio.gather(*ends)] == ["completed"] * 3


async def test_claims_of_two_replicas(shop: Shop) -> None:
    flows = [await shop.workflow(slug) for slug in ("a", "b", "c")]
    ids = [next(iter(await shop.place(workflow_id=flow))) for flow in flows]
    await make_many(shop, next(iter(await shop.place())))
    here = [await _specialist(shop, f"here-{at}", flow) for at, flow in enumerate(flows)]
    there = [await _specialist(shop, f"there-{at}", flow) for at, flow in enumerate(flows)]
    for desk in shop.desks:
        await desk.polls.look()
    async with held(shop, ids[1], waiters=0):
        polls = [asyncio.create_task(shop.poll(worker, at=0)) for worker in here]
        polls += [asyncio.create_task(shop.poll(worker, at=1)) for worker in reversed(there)]
        grants = await asyncio.gather(*polls)
    assert sorted(grant.dispatch_id for grant in grants if grant) == [ids[0], ids[2]], "nobody waits for the one held"
    for desk in shop.desks:
        desk.polls._floors_until = 0.0  # a second later
    grant = await shop.poll(here[1])
    assert grant is not None
    assert grant.dispatch_id == ids[1]


async def test_a_restarted_worker_and_its_older_process(shop: Shop) -> None:
    before = await shop.worker(max_concurrency=3)
    grants = await three_leases(shop, before)
    async with held(shop, grants[1].dispatch_id, waiters=2):
        beats = asyncio.create_task(shop.desks[0].heartbeat([a_beat(grant, before) for grant in grants]))
        back = asyncio.create_task(_take_over(shop, before, list(reversed(grants))))
    await beats
    assert await back == 3


async def _take_over(shop: Shop, before: Worker, grants: list[Grant]) -> int:
    new = NewWorker(before.worker_id, "127.0.0.1", max_concurrency=3)
    house = shop.house
    async with house.control_tx() as tx:
        made = await fleet.register_worker(
            tx, new, fleet=shop.fleet, rules=house.fleet_rules, proof=NameProof(shop.tokens[before.worker_id])
        )
        tokens = await dispatch.rebind_leases(
            tx,
            [proof(grant, before) for grant in grants],
            to=Holder(made.worker.id, made.worker.incarnation),
            signer=house.leases,
            rules=house.queue_rules,
        )
    return len(tokens)


async def _specialist(shop: Shop, name: str, flow: WorkflowId) -> Worker:
    async with shop.house.control_tx() as tx:
        made = await fleet.register_worker(
            tx, NewWorker(name, "127.0.0.1"), fleet=None, own_workflows=[flow], rules=shop.house.fleet_rules
        )
    return made.worker
