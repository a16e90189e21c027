"""Waiting as the cloud asks, when it says that it is asked too much."""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from comfyfleet.comfy.cloud.clock import Clock
from comfyfleet.comfy.cloud.errors import CloudBusy
from comfyfleet.kernel.backoff import backoff_s

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """`wait_s_max`: the longest single wait that is obeyed. `total_s_max`: what all waits of one request may take."""

    clock: Clock
    wait_s_max: float = 300.0
    total_s_max: float = 900.0
    chance: Callable[[], float] = random.random

    async def ask(self, work: Callable[[], Awaitable[T]]) -> T:
        until, attempt = self.clock.monotonic() + self.total_s_max, 0
        while True:
            try:
                return await work()
            except CloudBusy as busy:
                attempt += 1
                wait_s = self.wait_s(busy, attempt)
                # Coming back earlier than asked would be rude; who cannot wait that long says so instead.
                if wait_s > self.wait_s_max or self.clock.monotonic() + wait_s > until:
                    raise
            await self.clock.sleep(wait_s)

    def wait_s(self, busy: CloudBusy, attempt: int) -> float:
        if busy.retry_after_s is None:
            return backoff_s(attempt, chance=self.chance())
        # A little later than asked, each by chance: all who were turned away come back at that very moment.
        return busy.retry_after_s + self.chance()
