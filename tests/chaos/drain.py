"""Jobs come, workers drain them, and all the while something is hit; it ends when every job is settled."""

import asyncio
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TypeVar

from comfyfleet import checks
from comfyfleet.checks import Finding
from tests.chaos.blows import Blow, Kind
from tests.chaos.processes import Replica, WorkerProcess
from tests.chaos.stage import Stage

STALL_S, DOWN_S = 5.5, 1.0
LOOK_EVERY_S, AUDIT_EVERY_S = 0.1, 3.0
BATCHES = 24
CANCELLED_IN = 50
_Hit = TypeVar("_Hit", Replica, WorkerProcess)


@dataclass
class Drain:
    stage: Stage
    replicas: list[Replica]
    crew: list[WorkerProcess]
    jobs: int
    chance: random.Random
    blows: Counter[Kind] = field(default_factory=Counter)
    broken: list[Finding] = field(default_factory=list)
    audits: int = 0
    cancels: int = 0
    connections_cut: int = 0
    took_s: float = 0.0
    finished: int = 0
    _over: asyncio.Event = field(default_factory=asyncio.Event)
    # An audit that is cut off has not found anything out.
    _undisturbed: asyncio.Lock = field(default_factory=asyncio.Lock)
    _one_stays_up: asyncio.Lock = field(default_factory=asyncio.Lock)
    _stalled: list[WorkerProcess] = field(default_factory=list)

    async def run(self, blows: list[Blow], *, within_s: float) -> None:
        began = time.monotonic()
        async with asyncio.timeout(within_s), asyncio.TaskGroup() as tasks:
            for work in (self._create(), self._cancel(), self._audit(), self._strike(blows, tasks), self._watch()):
                tasks.create_task(work)
        self.took_s = time.monotonic() - began

    async def _create(self) -> None:
        """Never all at once: some jobs come when everything has been killed already."""
        batch = max(1, self.jobs // BATCHES)
        while (left := self.jobs - len(self.stage.created)) > 0:
            if len(self.stage.created) - self.finished < self.jobs / 4:
                await self.stage.create(min(batch, left))
            await asyncio.sleep(LOOK_EVERY_S)

    async def _cancel(self) -> None:
        wanted = self.jobs // CANCELLED_IN
        while self.cancels < wanted and not self._over.is_set():
            if self.finished * wanted >= self.cancels * self.jobs:
                self.cancels += await self.stage.cancel_one(self.chance.choice(["queued", "leased"]))
            await asyncio.sleep(LOOK_EVERY_S)

    async def _audit(self) -> None:
        """Every invariant holds at every instant, not only when all is quiet again."""
        while not self._over.is_set():
            async with self._undisturbed:
                found = await checks.check_everything(self.stage.house)
            self.audits += 1
            self.broken += [each for each in found if each.state not in ("ok", "noted")]
            await asyncio.sleep(AUDIT_EVERY_S)

    async def _watch(self) -> None:
        settled = 0
        while settled < self.jobs:
            await asyncio.sleep(LOOK_EVERY_S)
            self.finished, settled = await self.stage.progress()
        self._over.set()

    # ── blows ──

    async def _strike(self, blows: list[Blow], tasks: asyncio.TaskGroup) -> None:
        for blow in blows:
            while self.finished < blow.at * self.jobs:  # noqa: ASYNC110 others do the work
                await asyncio.sleep(LOOK_EVERY_S)
            await self._give(blow, tasks)
            self.blows[blow.kind] += 1

    async def _give(self, blow: Blow, tasks: asyncio.TaskGroup) -> None:
        if blow.kind is Kind.CONNECTIONS:
            async with self._undisturbed:
                self.connections_cut += await self.stage.cut_connections()
        elif blow.kind is Kind.REPLICA:
            await self._one_stays_up.acquire()
            tasks.create_task(self._kill_replica(_pick(self.replicas, blow)))
        elif blow.kind is Kind.WORKERS:
            process = _pick(self._awake(), blow)
            process.kill()
            process.start()
        else:
            tasks.create_task(self._stall(_pick(self._awake(), blow), replaced=blow.kind is Kind.TAKE_OVER))

    async def _kill_replica(self, replica: Replica) -> None:
        try:
            replica.kill()
            await asyncio.sleep(DOWN_S)
            await replica.start()
        finally:
            self._one_stays_up.release()

    async def _stall(self, stopped: WorkerProcess, *, replaced: bool) -> None:
        """It does not know that time went on. Replaced meanwhile, its leases are another process's."""
        self._stalled.append(stopped)
        old = stopped.process
        assert old is not None
        old.send_signal(signal.SIGSTOP)
        if replaced:
            stopped.start()
        await asyncio.sleep(STALL_S)
        old.send_signal(signal.SIGCONT)
        self._stalled.remove(stopped)

    def _awake(self) -> list[WorkerProcess]:
        return [each for each in self.crew if each not in self._stalled]


def _pick(those: list[_Hit], blow: Blow) -> _Hit:
    return those[int(blow.target * len(those))]
