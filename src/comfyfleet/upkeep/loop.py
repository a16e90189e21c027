"""How a loop runs: tick, pause, tick; its failure is its own, and it stops when told."""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import Unavailable
from comfyfleet.metrics.facts import FactSink, LoopTicked

FAILURE_PAUSE_S_MAX = 30.0
STOP_WITHIN_S = 1.0
SOON_S = 0.25

log = structlog.get_logger()


@dataclass
class Loop:
    """`tick` does at most `batch` rows and says how many; after a full batch it goes on at once.

    `name` is what wakes it, `pool` tells the loops of one name apart. `beside`: another one that does the same, and is
    woken when this one has its hands full.
    """

    name: str
    every_s: float
    batch: int
    tick: Callable[[], Awaitable[int]]
    pool: str | None = None
    close: Callable[[], Awaitable[None]] | None = None
    failures: int = 0
    # By the clock of this process; before the first success: when it was made.
    succeeded_at: float = field(default_factory=time.monotonic)
    beside: "Loop | None" = None
    facts: FactSink = field(default_factory=FactSink)
    _is_busy: bool = False
    _alarm: asyncio.TimerHandle | None = None
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self) -> None:
        self._woken.set()
        if self._is_busy and self.beside is not None:
            self.beside.wake()

    def wake_in(self, seconds: float) -> None:
        """Only from the event loop it runs in."""
        asyncio.get_running_loop().call_later(seconds, self.wake)

    def wake_soon(self) -> None:
        """Once for all who say so within a moment: what it does can wait for so long."""
        if self._alarm is None or self._alarm.when() <= asyncio.get_running_loop().time():
            self._alarm = asyncio.get_running_loop().call_later(SOON_S, self.wake)

    def stop(self) -> None:
        self._stopped.set()
        self._woken.set()

    async def run(self, chance: random.Random) -> None:
        while not self._stopped.is_set():
            # Before the tick, not after: what is told while it runs may have come too late for it.
            self._woken.clear()
            self._is_busy = True
            full = await self._tick_once() >= self.batch
            self._is_busy = False
            if not self._stopped.is_set():
                await self._pause(0.0 if full else self._pause_s(chance.random()))

    async def _tick_once(self) -> int:
        try:
            done = await self.tick()
        except Exception as problem:
            self.failures += 1
            # An outage is told once in words; anything else is a fault of ours, and its trace is wanted.
            expected = isinstance(problem, Unavailable)
            log.warning(
                "upkeep.tick_failed",
                loop=self.name,
                pool=self.pool,
                failures=self.failures,
                problem=str(problem),
                exc_info=None if expected else problem,
            )
            self.facts.note(LoopTicked(self.name, failed=True, at_s=time.time(), every_s=self.every_s))
            return 0
        self.failures = 0
        self.succeeded_at = time.monotonic()
        self.facts.note(LoopTicked(self.name, failed=False, at_s=time.time(), every_s=self.every_s))
        return done

    def _pause_s(self, chance: float) -> float:
        """From three to five quarters of the interval: replicas that started together drift apart."""
        if self.failures:
            return backoff_s(self.failures, chance=chance, base_s=self.every_s, ceiling_s=FAILURE_PAUSE_S_MAX)
        return self.every_s * (0.75 + chance / 2)

    async def _pause(self, seconds: float) -> None:
        # A loop whose database is away is not woken: every job that ends would make it ask again.
        signal = self._stopped if self.failures else self._woken
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await signal.wait()


def loop_of(module: Any, tick: Callable[[], Awaitable[int]], pool: str | None = None) -> Loop:
    """The name, interval and batch stand in each loop's own file."""
    return Loop(module.NAME, module.EVERY_S, module.BATCH, tick, pool)


class Upkeep:
    """All loops of one process."""

    def __init__(self, loops: Sequence[Loop], *, facts: FactSink | None = None) -> None:
        self._loops = loops
        for loop in loops:
            loop.facts = facts or loop.facts
        self._running: list[tuple[Loop, asyncio.Task[None]]] = []

    def start(self) -> None:
        chance = random.Random()  # noqa: S311 pauses are no secrets
        self._running = [
            (loop, asyncio.create_task(loop.run(chance), name=f"upkeep {loop.name} {loop.pool or ''}".rstrip()))
            for loop in self._loops
        ]

    def wake(self, name: str, *, pool: str | None = None) -> None:
        """There is work for it now: it need not wait for its interval. Only from the event loop it runs in."""
        for loop in self._loops:
            if loop.name == name and pool in (None, loop.pool):
                loop.wake()

    async def stop(self) -> None:
        """A tick under way may end, for a moment; one that is cut off is like a crash, and those are harmless."""
        ending, self._running = self._running, []
        await _end(ending)

    async def stop_loop(self, name: str) -> None:
        """Before the others: what it would do must not happen any more."""
        ending = [each for each in self._running if each[0].name == name]
        self._running = [each for each in self._running if each[0].name != name]
        await _end(ending)


async def _end(ending: Sequence[tuple[Loop, asyncio.Task[None]]]) -> None:
    for loop, _ in ending:
        loop.stop()
    tasks = [task for _, task in ending]
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=STOP_WITHIN_S)
    for task in late:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for loop, _ in ending:
        if loop.close is not None:
            await loop.close()
