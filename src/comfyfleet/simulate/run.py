"""The whole simulation: a stage, its workers, the orders, until everything has ended."""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress

import httpx2

from comfyfleet.kernel.errors import FleetError, Unavailable
from comfyfleet.simulate.orders import Orders
from comfyfleet.simulate.plan import LATE, Plan
from comfyfleet.simulate.stage import ANSWER_WITHIN_S, PRICE, Stage, set_stage
from comfyfleet.simulate.tally import Tally
from comfyfleet.simulate.worker import SimulatedWorker

REGISTERED_AT_ONCE = 20
LOOK_S = 0.05
# Nothing ended for so long: perhaps some did, and no worker saw it. A lease that ran out too often ends a job, too.
QUIET_S = 20.0
ASKED_AT_ONCE = 100
# Still nothing: it never will.
STUCK_S = 300.0
SETTLED_WITHIN_S = 60.0
ENDED = ("completed", "failed", "cancelled")

Tell = Callable[[Tally], None]


class SimulationStuck(Unavailable):
    """Jobs wait, workers wait, and nothing happens."""

    code = "simulation_stuck"
    text = "No job has ended for {seconds:time}; {ended} of {jobs} had. Is another fleet in the way, or the disk full?"


async def simulate(url: str, operator_key: str, plan: Plan, tally: Tally, tell: Tell) -> Stage:
    stage = await set_stage(url, operator_key, plan)
    output = os.urandom(plan.output_bytes)
    workers = [SimulatedWorker(number, stage, tally, output) for number in range(plan.workers)]
    try:
        await _register(workers)
        async with asyncio.TaskGroup() as tasks:
            for worker in workers:
                tasks.create_task(worker.live())
            orders = Orders(stage, plan, tally)
            tasks.create_task(orders.place())
            await _until_all_ended(orders, tell)
            for worker in workers:
                worker.stop()
    except ExceptionGroup as several:
        raise _first(several) from None
    finally:
        await _leave(workers)
    return stage


def _first(several: ExceptionGroup[Exception]) -> Exception:
    """One that says what is wrong: the others are cancelled, or say it too."""
    first = several.exceptions[0]
    return _first(first) if isinstance(first, ExceptionGroup) else first


async def _register(workers: list[SimulatedWorker]) -> None:
    for first in range(0, len(workers), REGISTERED_AT_ONCE):
        await asyncio.gather(*(each.register() for each in workers[first : first + REGISTERED_AT_ONCE]))


async def _leave(workers: list[SimulatedWorker]) -> None:
    async def leave(worker: SimulatedWorker) -> None:
        with suppress(FleetError, OSError):
            await worker.leave()

    await asyncio.gather(*(leave(each) for each in workers))


async def _until_all_ended(orders: Orders, tell: Tell) -> None:
    plan, tally = orders.plan, orders.tally
    tenants = sorted({user.tenant for user in orders.stage.users} - {LATE})
    ended, since, asked = 0, time.monotonic(), time.monotonic()
    while len(tally.ended) < plan.jobs:
        await asyncio.sleep(LOOK_S)
        now = time.monotonic()
        tally.look(tenants, now)
        tell(tally)
        if len(tally.ended) > ended:
            ended, since, asked = len(tally.ended), now, now
        elif now - asked > QUIET_S + 2 * plan.run_s:
            await _ask_for_ends(orders)
            asked = now
        if now - since > STUCK_S + 2 * plan.run_s:
            raise SimulationStuck(seconds=STUCK_S, ended=ended, jobs=plan.jobs)


async def _ask_for_ends(orders: Orders) -> None:
    """As the jobs' owners see it."""
    missing = [job_id for job_id in orders.owners if job_id not in orders.tally.ended][:ASKED_AT_ONCE]
    async with httpx2.AsyncClient(base_url=orders.stage.url, timeout=ANSWER_WITHIN_S) as client:
        for job_id in missing:
            headers = {"Authorization": f"Bearer {orders.owners[job_id].key}"}
            with suppress(httpx2.HTTPError):
                status = (await client.get(f"/api/ai-jobs/{job_id}", headers=headers)).json().get("status")
                if status in ENDED:
                    orders.tally.deliver(job_id, completed=status == "completed")


async def ledger_is_exact(stage: Stage, tally: Tally) -> bool:
    """What is left in all wallets is, to the token, what failed jobs gave back: soon, for settlements follow at their
    own pace."""
    until = time.monotonic() + SETTLED_WITHIN_S
    async with httpx2.AsyncClient(base_url=stage.url, timeout=ANSWER_WITHIN_S) as client:
        while True:
            seen = [await _look(client, user.key) for user in stage.users]
            if not any(under_way for _, under_way in seen):
                return sum(balance for balance, _ in seen) == tally.failed * PRICE
            if time.monotonic() > until:
                return False
            await asyncio.sleep(0.5)


async def _look(client: httpx2.AsyncClient, key: str) -> tuple[int, bool]:
    """A wallet's balance, and whether a job is under way that could still give something back."""
    headers = {"Authorization": f"Bearer {key}"}
    under_way = False
    for status in ("queued", "processing"):
        found = await client.get("/api/ai-jobs", headers=headers, params={"status": status, "limit": 1})
        under_way = under_way or bool(found.json()["jobs"])
    wallet = await client.get("/api/wallet", headers=headers)
    return int(wallet.json()["balance"]), under_way
