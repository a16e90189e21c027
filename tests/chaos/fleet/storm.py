"""Orders come, units work, and all the while something is hit; it is over when every job is settled."""

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx2

from comfyfleet import checks
from comfyfleet.checks import Finding
from tests.chaos.fleet.blows import Blow, Kind
from tests.chaos.fleet.orders import Order
from tests.chaos.fleet.stage import LEASE_TTL_S, Stage, ask
from tests.chaos.fleet.units import Unit
from tests.chaos.processes import Replica
from tests.chaos.stage import PROGRESS

LOOK_EVERY_S = 0.25
# How long each kind of blow hurts, from the least to the most.
DOWN_S = {
    Kind.WORKER_KILLED: (0.0, 3.0),
    Kind.WORKER_DRAINED: (0.0, 2.0),
    Kind.ENGINE_KILLED: (0.0, 3.0),
    Kind.ENGINE_RESTARTED: (0.0, 1.0),
    Kind.ENGINE_CUT: (0.0, 2.5),
    Kind.CONTROL_CUT: (0.0, 2.5),
    Kind.CONTROL_AWAY: (LEASE_TTL_S + 3.0, LEASE_TTL_S + 8.0),
    Kind.DOOR_CUT: (0.0, 2.0),
    Kind.REPLICA_KILLED: (0.5, 3.0),
}
RUNS_WITHIN_S = 4.0
# A replica that lets the least of questions wait so long lets heartbeats wait, too: the machine has too much to do.
STALL_S = LEASE_TTL_S / 6


@dataclass(frozen=True)
class Hit:
    kind: Kind
    target: str
    began: datetime
    ended: datetime
    code: int | None = None  # of a worker that left


@dataclass(frozen=True)
class Stall:
    began: datetime
    ended: datetime


@dataclass
class Storm:
    stage: Stage
    orders: list[Order]
    lasts_s: float
    says_every_s: float | None
    jobs: dict[int, str] = field(default_factory=dict)  # order to job
    cancelled: set[int] = field(default_factory=set)
    hits: list[Hit] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)
    broken: list[Finding] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    audits: int = 0
    finished: int = 0
    took_s: float = 0.0
    most_behind: int = 0
    _began: float = 0.0
    _over: asyncio.Event = field(default_factory=asyncio.Event)
    _one_stays_up: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self, blows: list[Blow], *, within_s: float) -> None:
        self._began = time.monotonic()
        async with asyncio.timeout(within_s), asyncio.TaskGroup() as tasks:
            for number in range(len(self.stage.customers)):
                tasks.create_task(self._order(number, tasks))
            for work in (self._strike(blows, tasks), self._watch(), self._audit(), self._say()):
                tasks.create_task(work)
            for replica in self.stage.replicas:
                tasks.create_task(self._feel(replica))
        self.took_s = time.monotonic() - self._began

    @property
    def _now_s(self) -> float:
        return time.monotonic() - self._began

    async def _until(self, at_s: float) -> None:
        await asyncio.sleep(max(0.0, at_s - self._now_s))

    # ── what users do ──

    async def _order(self, number: int, tasks: asyncio.TaskGroup) -> None:
        customer = self.stage.customers[number]
        for order in self.orders:
            if order.customer != number:
                continue
            await self._until(order.at_s)
            self.jobs[order.number] = await customer.order(order)
            if order.cancelled_after_s is not None:
                tasks.create_task(self._cancel(order, order.cancelled_after_s))

    async def _cancel(self, order: Order, after_s: float) -> None:
        await asyncio.sleep(after_s)
        await self.stage.customers[order.customer].cancel(self.jobs[order.number])
        self.cancelled.add(order.number)

    # ── who looks on ──

    async def _watch(self) -> None:
        settled = 0
        while settled < len(self.orders):
            await asyncio.sleep(LOOK_EVERY_S)
            self.finished, settled = await self._progress()
            self.most_behind = max(self.most_behind, len(self.jobs) - self.finished)
        self._over.set()

    async def _progress(self) -> tuple[int, int]:
        [row] = await ask(self.stage.house.central, PROGRESS)
        return row.finished, row.settled

    async def _audit(self) -> None:
        """Every invariant holds at every instant, not only when all is quiet again."""
        while not self._over.is_set():
            found = await checks.check_everything(self.stage.house)
            self.audits += 1
            self.broken += [each for each in found if each.state not in ("ok", "noted")]
            await self._pause(max(3.0, self.lasts_s / 60))

    async def _feel(self, replica: Replica) -> None:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{replica.port}", timeout=120) as client:
            while not self._over.is_set():
                began, asked = _now(), time.monotonic()
                with suppress(httpx2.TransportError):
                    await client.get("/healthz")
                if time.monotonic() - asked > STALL_S:
                    self.stalls.append(Stall(began, _now()))
                await self._pause(1.0)

    async def _say(self) -> None:
        while self.says_every_s is not None and not self._over.is_set():
            await self._pause(self.says_every_s)
            given = Counter(hit.kind.name.lower() for hit in self.hits)
            told = ", ".join(f"{kind} {count}" for kind, count in sorted(given.items()))
            sys.stderr.write(
                f"{self._now_s:6.0f} s  ordered {len(self.jobs)}  over {self.finished}"
                f"  audits {self.audits} (broken {len(self.broken)})  load {os.getloadavg()[0]:.1f}  {told}\n"
            )
            sys.stderr.flush()

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._over.wait()
        except TimeoutError:
            pass

    # ── blows ──

    async def _strike(self, blows: list[Blow], tasks: asyncio.TaskGroup) -> None:
        for blow in blows:
            await self._until(blow.at_s)
            tasks.create_task(self._give(blow))

    async def _give(self, blow: Blow) -> None:
        """What does not come up again is told at the end, with all the rest."""
        try:
            await self._strike_one(blow)
        except AssertionError as problem:
            self.troubles.append(f"{blow.kind.name} at {self._now_s:.0f} s: {problem}")

    async def _strike_one(self, blow: Blow) -> None:
        least_s, most_s = DOWN_S[blow.kind]
        down_s = least_s + (most_s - least_s) * blow.length
        if blow.kind is Kind.REPLICA_KILLED:
            async with self._one_stays_up:
                await self._kill_replica(blow, down_s)
        elif blow.kind is Kind.DOOR_CUT:
            began = _now()
            await self.stage.door.cut()
            await asyncio.sleep(down_s)
            self.stage.door.mend()
            self._note(blow.kind, "door", began)
        else:
            unit = self._pick(blow)
            async with unit.hit:
                await self._hit(unit, blow.kind, down_s)

    def _pick(self, blow: Blow) -> Unit:
        """One that is not being hit already, where there is one: after two blows at once nobody knows whose it was."""
        free = [unit for unit in self.stage.units if not unit.hit.locked()] or self.stage.units
        return free[int(blow.target * len(free))]

    async def _kill_replica(self, blow: Blow, down_s: float) -> None:
        replicas = self.stage.replicas
        replica = replicas[int(blow.target * len(replicas))]
        began = _now()
        replica.kill()
        await asyncio.sleep(down_s)
        await replica.start()
        self._note(blow.kind, replica.name, began)

    async def _hit(self, unit: Unit, kind: Kind, down_s: float) -> None:
        hits: dict[Kind, Callable[[Unit, float], Awaitable[tuple[datetime, int | None]]]] = {
            Kind.WORKER_KILLED: self._kill_worker,
            Kind.WORKER_DRAINED: self._drain_worker,
            Kind.ENGINE_KILLED: self._kill_engine,
            Kind.ENGINE_RESTARTED: self._restart_engine,
            Kind.ENGINE_CUT: self._cut_engine,
            Kind.CONTROL_CUT: self._cut_control,
            Kind.CONTROL_AWAY: self._cut_control,
        }
        began, code = await hits[kind](unit, down_s)
        self._note(kind, unit.name, began, code)

    async def _kill_worker(self, unit: Unit, down_s: float) -> tuple[datetime, int | None]:
        began = _now()
        unit.worker.kill()
        await asyncio.sleep(down_s)
        unit.worker.start()
        return began, None

    async def _drain_worker(self, unit: Unit, down_s: float) -> tuple[datetime, int | None]:
        # Before it listens to signals there is nothing to be polite about.
        await unit.worker.says("worker.starts")
        began = _now()
        code = await unit.worker.leave()
        await asyncio.sleep(down_s)
        unit.worker.start()
        return began, code

    async def _kill_engine(self, unit: Unit, down_s: float) -> tuple[datetime, int | None]:
        await unit.until_it_runs_something(within_s=RUNS_WITHIN_S)
        began = _now()
        unit.engine.kill()
        await asyncio.sleep(down_s)
        await self._start_engine(unit)
        return began, None

    async def _restart_engine(self, unit: Unit, down_s: float) -> tuple[datetime, int | None]:
        began = _now()
        await unit.engine.leave()
        await asyncio.sleep(down_s)
        await self._start_engine(unit)
        return began, None

    async def _start_engine(self, unit: Unit) -> None:
        unit.engine.start()
        await unit.engine_answers()

    async def _cut_engine(self, unit: Unit, down_s: float) -> tuple[datetime, int | None]:
        began = _now()
        await unit.to_engine.cut()
        await asyncio.sleep(down_s)
        unit.to_engine.mend()
        return began, None

    async def _cut_control(self, unit: Unit, down_s: float) -> tuple[datetime, int | None]:
        began = _now()
        await unit.to_control.cut()
        await asyncio.sleep(down_s)
        unit.to_control.mend()
        return began, None

    def _note(self, kind: Kind, target: str, began: datetime, code: int | None = None) -> None:
        self.hits.append(Hit(kind, target, began, _now(), code))


def _now() -> datetime:
    return datetime.now(UTC)
