"""Tenants that order: all but one as fast as they are served, the latecomer one job after the other."""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from comfyfleet.kernel.errors import Unavailable
from comfyfleet.simulate.line import Line
from comfyfleet.simulate.plan import LATE, Plan
from comfyfleet.simulate.stage import Stage, User
from comfyfleet.simulate.tally import Tally

ORDERS_AT_ONCE = 4  # for each user
FULL_PAUSE_S = 0.5
LATE_LOOKS_S = 0.02
CREATED, REFUSED = 201, 422


class OrderRefused(Unavailable):
    """Nobody can be simulated who may not order."""

    code = "simulated_order_refused"
    text = "The control plane answered {status} to an order: {said}"


@dataclass
class Orders:
    stage: Stage
    plan: Plan
    tally: Tally
    owners: dict[str, User] = field(default_factory=dict)

    async def place(self) -> None:
        """All of them, until the last is accepted."""
        first = 0
        async with asyncio.TaskGroup() as tasks:
            for user in self.stage.users:
                numbers = iter(range(first, first + user.jobs))
                first += user.jobs
                for _ in range(1 if user.tenant == LATE else ORDERS_AT_ONCE):
                    tasks.create_task(self._order_on(user, numbers))

    async def _order_on(self, user: User, numbers: Iterator[int]) -> None:
        line = Line(self.stage.url)
        try:
            for number in numbers:
                job_id = await self._order(line, user, number)
                while user.tenant == LATE and job_id not in self.tally.ended:  # noqa: ASYNC110 the tally is pure
                    await asyncio.sleep(LATE_LOOKS_S)
        finally:
            await line.close()

    async def _order(self, line: Line, user: User, number: int) -> str:
        body = {
            "effect": self.stage.effect,
            "properties": {"seconds": self.plan.run_s_of(number)},
            "idempotency_key": f"{self.stage.mark}-{number}",
        }
        headers = f"Authorization: Bearer {user.key}\r\n"
        while True:
            answer = await line.post("/api/ai-jobs", headers, json.dumps(body).encode())
            said = json.loads(answer.body)
            if answer.status == CREATED:
                self.owners[said["id"]] = user
                self.tally.order(said["id"], user.tenant, time.monotonic())
                return str(said["id"])
            if said.get("error", {}).get("code") != "too_many_active_jobs":
                raise OrderRefused(status=answer.status, said=answer.body[:300].decode(errors="replace"))
            await asyncio.sleep(FULL_PAUSE_S)  # as many as a user may have: some must end first
