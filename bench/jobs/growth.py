"""What one creation costs as the pool fills with jobs that ended: on the server, and as its caller feels it."""

import asyncio
import time
from dataclasses import dataclass, field

import sqlalchemy as sa

from bench.dispatch.growth import Cost, typical
from bench.dispatch.processes import cpu_ms
from bench.jobs.stock import add_ended_jobs
from bench.jobs.studio import ASKED, SLUG, USERS, Round, Studio, user_id
from comfyfleet.api.tenant.ordering import Wanted, order
from comfyfleet.house import House
from comfyfleet.kernel.ids import new_id

WARM_UP = 30


@dataclass
class FullPool:
    """One pool with so many jobs in it."""

    studio: Studio
    house: House
    numbers: Round = field(default_factory=lambda: Round(USERS))

    async def fill(self, jobs: int) -> None:
        await asyncio.to_thread(add_ended_jobs, self.studio, jobs)

    async def measure(self, creations: int) -> Cost:
        """One after the other, each by another user, on one connection; those of before have ended."""
        await asyncio.to_thread(self.studio.end_all)
        async with self.house.pool_tx("main") as tx:
            backend = (await tx.one(sa.text("SELECT pg_backend_pid() AS pid"))).pid
        for _ in range(WARM_UP):
            await self._order()
        costs = []
        for _ in range(creations):
            used, began = cpu_ms(backend), time.perf_counter()
            await self._order()
            took, later = time.perf_counter() - began, cpu_ms(backend)
            costs.append(Cost(took * 1000, later - used if used is not None and later is not None else None))
        return typical(costs)

    async def _order(self) -> None:
        wanted = Wanted(
            self.studio.home,
            user_id(self.numbers.next()),
            SLUG,
            properties=dict(ASKED),
            idempotency_key=str(new_id()),
        )
        await order(self.house, wanted)
