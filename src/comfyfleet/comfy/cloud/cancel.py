"""Stopping one job on Comfy Cloud, and seeing that it stopped.

`/api/interrupt` is never used: it stops every running job of the account, whoever started it.
"""

from dataclasses import dataclass

from comfyfleet.comfy.cloud.client import CloudClient
from comfyfleet.comfy.cloud.clock import Clock
from comfyfleet.comfy.cloud.jobs import job_route, read_status
from comfyfleet.comfy.cloud.patience import Patience
from comfyfleet.comfy.cloud.status import JobState
from comfyfleet.comfy.errors import CancelUnconfirmed
from comfyfleet.kernel.backoff import backoff_s

NO_SUCH_ROUTE = (404, 405)
ALREADY_OVER = (400, 409)


@dataclass(frozen=True, slots=True)
class Cancellation:
    client: CloudClient
    clock: Clock
    patience: Patience
    within_s: float

    async def cancel(self, job_id: str) -> bool:
        """True: it is cancelled. False: it had ended by itself, or there is no such job."""
        await self.patience.ask(lambda: self._ask(job_id))
        until, look = self.clock.monotonic() + self.within_s, 0
        while True:
            status = await self.patience.ask(lambda: read_status(self.client, job_id))
            if status is None:
                return False
            if not status.state.in_flight:
                return status.state is JobState.CANCELLED
            look += 1
            wait_s = backoff_s(look, chance=1.0, base_s=0.5, ceiling_s=4.0)
            if self.clock.monotonic() + wait_s > until:
                raise CancelUnconfirmed(self.client.server, prompt_id=job_id)
            await self.clock.sleep(wait_s)

    async def _ask(self, job_id: str) -> None:
        accept = NO_SUCH_ROUTE + ALREADY_OVER
        answer = await self.client.ask("POST", f"{job_route(job_id)}/cancel", body={}, accept=accept)
        if answer.status in NO_SUCH_ROUTE:
            # Older: takes what waits out of the queue and lets what runs run.
            await self.client.ask("POST", "/api/queue", body={"delete": [job_id]})
