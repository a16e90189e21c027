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
from comfyfleet.simulate.stage import ANSWER_WITHIN_S, Stage, set_stage
from comfyfleet.simulate.tally import Tally
from comfyfleet.simulate.worker import SimulatedWorker

REGISTERED_AT_ONCE = 20
LOOK_S = 0.05
# Nothing ended for so long: it never will.
STUCK_S = 300.0
SETTLED_WITHIN_S = 60.0

Tell = Callable[[Tally], None]


class SimulationStuck(Unavailable):
    """Jobs wait, workers wait, and nothing happens."""

    code = "simulation_stuck"
    text = "No job has ended for {seconds:g} s; {ended} of {jobs} had. Is another fleet in the way, or the disk full?"


async def simulate(url: str, operator_key: str, plan: Plan, tally: Tally, tell: Tell) -> Stage:
    stage = await set_stage(url, operator_key, plan)
    output = os.urandom(plan.output_bytes)
    workers = [SimulatedWorker(number, stage, tally, output) for number in range(plan.workers)]
    try:
        await _register(workers)
        async with asyncio.TaskGroup() as tasks:
            for worker in workers:
                tasks.create_task(worker.live())
            tasks.create_task(Orders(stage, plan, tally).place())
            await _until_all_ended(plan, tally, stage, tell)
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


async def _until_all_ended(plan: Plan, tally: Tally, stage: Stage, tell: Tell) -> None:
    tenants = sorted({user.tenant for user in stage.users} - {LATE})
    ended, since = 0, time.monotonic()
    while len(tally.ended) < plan.jobs:
        await asyncio.sleep(LOOK_S)
        now = time.monotonic()
        tally.look(tenants, now)
        tell(tally)
        if len(tally.ended) > ended:
            ended, since = len(tally.ended), now
        elif now - since > STUCK_S + plan.run_s:
            raise SimulationStuck(seconds=STUCK_S, ended=ended, jobs=plan.jobs)


async def ledger_is_exact(stage: Stage) -> bool:
    """Every user has spent, to the token, what was ordered: soon, for settlements follow at their own pace."""
    if not stage.price:
        return True
    until = time.monotonic() + SETTLED_WITHIN_S
    async with httpx2.AsyncClient(base_url=stage.url, timeout=ANSWER_WITHIN_S) as client:
        for user in stage.users:
            while not await _is_settled(client, user.key):
                if time.monotonic() > until:
                    return False
                await asyncio.sleep(0.5)
    return True


async def _is_settled(client: httpx2.AsyncClient, key: str) -> bool:
    """Nothing left, and no job under way that could still give something back."""
    headers = {"Authorization": f"Bearer {key}"}
    wallet = await client.get("/api/wallet", headers=headers)
    under_way = [
        len((await client.get("/api/ai-jobs", headers=headers, params={"status": status, "limit": 1})).json()["jobs"])
        for status in ("queued", "processing")
    ]
    return wallet.json()["balance"] == 0 and not any(under_way)
