"""Runs go on through a night in which the control plane is killed again and again; it ends when all runs are over."""

import asyncio
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from comfyfleet import checks
from comfyfleet.checks import Finding
from tests.chaos.processes import Replica, WorkerProcess
from tests.chaos.runs.gallery import RUNS, Gallery, Started
from tests.chaos.stage import steadily

EARLIEST, LATEST = 0.03, 0.85  # the last blow, too, is given before the last jobs are done
DOWN_S = 0.3
LOOK_EVERY_S, AUDIT_EVERY_S = 0.2, 3.0
OVER = ("completed", "failed")
BOTH_DIE, CREW_DIES_TOO = 0.25, 0.2
# What a replica had in its hands when it died is due again after half a minute. Nobody here has so long; and whoever
# has it in hand now is disturbed by another who takes it, which must do no harm either.
DUE_NOW = "UPDATE settlements SET next_try_at = now() WHERE applied_at IS NULL AND parked_at IS NULL"


@dataclass
class Night:
    gallery: Gallery
    replicas: list[Replica]
    crew: list[WorkerProcess]
    candidates: int
    kills: int
    chance: random.Random
    blows: Counter[str] = field(default_factory=Counter)
    broken: list[Finding] = field(default_factory=list)
    paused: list[tuple[str, str, int, int]] = field(default_factory=list)
    audits: int = 0
    votes: int = 0
    took_s: float = 0.0
    finished: int = 0
    _down: set[str] = field(default_factory=set)
    _seen_paused: set[Any] = field(default_factory=set)
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, *, within_s: float) -> None:
        began = time.monotonic()
        async with asyncio.timeout(within_s), asyncio.TaskGroup() as tasks:
            for work in (self._strike(), self._attend(), self._audit(), self._count()):
                tasks.create_task(work)
        self.took_s = time.monotonic() - began

    # ── blows ──

    async def _strike(self) -> None:
        """Whoever is due is hit, also while another is still coming back: then nobody is there for a while."""
        shares = sorted(self.chance.uniform(EARLIEST, LATEST) for _ in range(self.kills))
        async with asyncio.TaskGroup() as returns:
            while shares and not self._over.is_set():
                due = sum(self.finished >= share * self.candidates for share in shares)
                if due and len(self._down) < len(self.replicas):
                    shares.pop(0)
                    returns.create_task(self._bring_back(self._kill(both=due > 1 or self.chance.random() < BOTH_DIE)))
                await asyncio.sleep(LOOK_EVERY_S / 4)

    def _kill(self, *, both: bool) -> list[Replica]:
        """One replica, or all that stand at the same moment; and sometimes a process of workers with them."""
        standing = [each for each in self.replicas if each.name not in self._down]
        hit = standing if both else [self.chance.choice(standing)]
        self.blows["both replicas killed" if len(hit) > 1 else "replica killed"] += 1
        for replica in hit:
            replica.kill()
            self._down.add(replica.name)
        if self.chance.random() < CREW_DIES_TOO:
            self.blows["worker process killed"] += 1
            process = self.chance.choice(self.crew)
            process.kill()
            process.start()
        return hit

    async def _bring_back(self, hit: list[Replica]) -> None:
        await asyncio.sleep(DOWN_S)
        await asyncio.gather(*(replica.start() for replica in hit))
        await steadily(self._nothing_in_dead_hands)
        self._down -= {replica.name for replica in hit}

    async def _nothing_in_dead_hands(self) -> None:
        async with self.gallery.stage.house.control_tx() as tx:
            await tx.run(sa.text(DUE_NOW))

    # ── the others ──

    async def _attend(self) -> None:
        """A person who is awake: opens gates, pays when a budget is spent, and votes now and then."""
        gallery = self.gallery
        runs = {run.id: run for run in gallery.runs}
        while True:
            rows = await gallery.ask_all(RUNS)
            if all(row.status in OVER for row in rows):
                break
            for row in rows:
                await self._attend_to(row, runs[row.id])
            voted_on = [each for each in gallery.runs if each.kind == "all"]
            self.votes += await gallery.vote(self.chance.choice(voted_on), self.chance.randrange(3))
            await asyncio.sleep(LOOK_EVERY_S)
        self._over.set()

    async def _attend_to(self, row: Any, run: Started) -> None:
        if row.status == "waiting_for_approval":
            await self.gallery.approve(run)
        elif row.status == "paused":
            if row.id not in self._seen_paused:
                spent = (row.jobs_started, row.jobs_max) if run.kind == "jobs" else (row.tokens_spent, row.tokens_max)
                self.paused.append((run.kind, row.status_reason, *spent))
                self._seen_paused.add(row.id)
            await self.gallery.pay_more(run)

    async def _audit(self) -> None:
        """Every invariant holds at every instant, not only when all is quiet again."""
        while not self._over.is_set():
            found = await steadily(self._check)
            self.audits += 1
            self.broken += [each for each in found if each.state not in ("ok", "noted")]
            await asyncio.sleep(AUDIT_EVERY_S)

    async def _check(self) -> list[Finding]:
        return list(await checks.check_everything(self.gallery.stage.house))

    async def _count(self) -> None:
        while not self._over.is_set():
            self.finished, _ = await self.gallery.stage.progress()
            await asyncio.sleep(LOOK_EVERY_S / 2)
