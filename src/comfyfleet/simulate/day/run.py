"""One day under one policy: an event heap, the product's own matching and fairness, and the fake cloud."""

import heapq
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import count, islice
from typing import cast
from uuid import UUID

from comfyfleet.dispatch import Ask, Holder
from comfyfleet.dispatch.failures import POLICIES, FailureClass
from comfyfleet.dispatch.matching import EVERY_STRUCTURE, Block, Head, match
from comfyfleet.dispatch.turns import Turns
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, WorkerId
from comfyfleet.scaling import FleetMachine, LaunchAnswer, LaunchRequest, MachineState, Place
from comfyfleet.scaling.fake_cloud import CloudEvent, CloudEventKind, FakeCloud
from comfyfleet.simulate.day.arrivals import Job, arrivals
from comfyfleet.simulate.day.figures import DayFigures, DayTally, Sample, figures_of
from comfyfleet.simulate.day.lanes import SimulatedLane
from comfyfleet.simulate.day.plan import HOUR_S, DayPlan
from comfyfleet.simulate.day.rules import OurRule, ScalingRule

SAMPLE_S = 300.0
LEASE_S = 90.0
COOLDOWN_S, COOLDOWN_S_MAX = 60.0, 3600.0
MAX_ATTEMPTS = 3
HEADS_PAST_BLOCKS = 32
HOPS_MAX = 8
# What is still queued when the arrivals end is worked off, for at most this long.
AFTERWARDS_S = 6 * HOUR_S


class Event(IntEnum):
    """In this order at one moment."""

    FINISHED = 0
    RETRY = 1
    SHOCK = 2
    TICK = 3
    RESTART = 4
    RESUME = 5
    STORM = 6


@dataclass(slots=True)
class _Blocked:
    until_s: float
    cooldown_s: float
    tenant: int | None
    probing: bool = False


class _Worker:
    __slots__ = (
        "ask", "began_s", "blocks", "busy_until_s", "draining", "holder", "idle_since_s", "job", "launched_at_s",
        "listed", "machine_id", "number", "place", "run", "speed", "warm",
    )  # fmt: skip

    def __init__(self, number: int, machine_id: str, place: Place, speed: float) -> None:
        self.number, self.machine_id, self.place, self.speed = number, machine_id, place, speed
        self.holder = Holder(WorkerId(UUID(int=number)), 1)
        self.ask: Ask | None = None
        self.warm: str | None = None
        self.job: Job | None = None
        self.run = 0  # of its runs: a finish that belongs to an earlier one is void
        self.began_s = self.busy_until_s = self.idle_since_s = self.launched_at_s = 0.0
        self.draining = False
        self.blocks: dict[str, _Blocked] | None = None
        self.listed: FleetMachine | None = None


class Day:
    """Runs once. It is the `Ground` of its policy."""

    def __init__(self, plan: DayPlan, rule: ScalingRule) -> None:
        self.plan, self.rule, self.tally = plan, rule, DayTally()
        self.now_s = 0.0
        self.waiting = 0
        self.queued_gpu_s = self.arrived_gpu_s = 0.0
        self.leased = 0
        self.starts_s: list[float] = []
        self.asked_at_s: float | None = None  # when the first machine was asked for
        self.cloud = FakeCloud(plan.habits, random.Random(f"{plan.seed}/cloud"), dict(plan.room))  # noqa: S311 no secret
        self._chance = random.Random(f"{plan.seed}/runs")  # noqa: S311 no secret
        self._classes = {each.name: each for each in plan.settings.classes}
        self._lanes: dict[int, SimulatedLane[Job]] = {}
        self._open: dict[int, SimulatedLane[Job]] = {}  # those in which something waits
        self._every_lane: frozenset[LaneId] = frozenset()
        self._turns = Turns()
        self._kept_heads: dict[int, Head] = {}
        self._kept_at_s: dict[int, float] = {}
        self._workers: dict[str, _Worker] = {}  # by machine
        self._starting: dict[str, FleetMachine] = {}
        self._idle: dict[_Worker, None] = {}
        self._idle_warm: dict[str, dict[_Worker, None]] = {}
        self._heap: list[tuple[float, int, int, object]] = []
        self._order = count()
        self._numbers = count(1)
        self._hashes: dict[int, str] = {}
        self._tenants: dict[int, TenantId] = {}
        self._away_until_s = 0.0
        self._tokens = count(1)
        self._sampled_s = -math.inf
        self._ready = 0

    # ── what the policy sees and does ──

    @property
    def counts(self) -> tuple[int, int]:
        return self._ready, len(self._starting)

    def machines(self) -> tuple[FleetMachine, ...]:
        return (*self._starting.values(), *map(self._listed, self._workers.values()))

    def waiting_hashes(self) -> frozenset[str]:
        return frozenset(self._hash(structure) for structure in self._open)

    def launch(self, request: LaunchRequest) -> LaunchAnswer:
        answer = self.cloud.launch(request, f"{self.rule.name}-{next(self._tokens)}")
        if self.asked_at_s is None:
            self.asked_at_s = self.now_s
        self.tally.launches += len(answer.ids)
        self.tally.launch_errors += bool(answer.errors)
        for each in answer.ids:
            self._starting[each] = FleetMachine(each, MachineState.STARTING, *request.place, launched_at_s=self.now_s)
        return answer

    def drain(self, worker_id: str) -> None:
        worker = self._workers[worker_id]
        if not worker.draining:
            worker.draining, worker.listed = True, None
            self._ready -= 1
            self._unseat(worker)

    def end(self, machine_id: str) -> None:
        self._starting_over(machine_id)
        worker = self._workers.get(machine_id)
        if worker is not None:
            self.tally.ended_with_lease += worker.job is not None
            self._lose(worker)
        self.cloud.terminate([machine_id])

    def end_idle(self, number: int) -> int:
        """Whoever is idle, the longest idle first."""
        chosen = [worker for worker, _ in zip(self._idle, range(number), strict=False)]
        for worker in chosen:
            self.end(worker.machine_id)
        return len(chosen)

    # ── the day ──

    def run(self) -> DayFigures:
        began_s = time.process_time()
        self._plan_events()
        jobs = arrivals(self.plan)
        coming = next(jobs, None)
        ends_s = self.plan.lasts_s + AFTERWARDS_S
        heap, cloud = self._heap, self.cloud
        while True:
            event_s = heap[0][0] if heap else math.inf
            cloud_s = cloud.next_due_s()
            if coming is not None and coming.queued_s <= event_s and coming.queued_s <= cloud_s:
                cloud.now_s = self.now_s = coming.queued_s
                self._arrive(coming)
                coming = next(jobs, None)
                continue
            at_s = min(event_s, cloud_s)
            if at_s >= ends_s or (coming is None and at_s >= self.plan.lasts_s and self._is_over()):
                break
            self.now_s = at_s
            if cloud_s <= event_s:
                for happened in cloud.advance(cloud_s):
                    self._follow_cloud(happened)
                continue
            cloud.now_s = at_s
            _, kind, _, what = heapq.heappop(heap)
            self._happen(kind, what)
        return self._figures(time.process_time() - began_s)

    def _is_over(self) -> bool:
        return not self.waiting and not self.leased and not any(kind == Event.RETRY for _, kind, _, _ in self._heap)

    def _plan_events(self) -> None:
        plan = self.plan
        self._later(0.0, Event.TICK, None)
        if math.isfinite(plan.restarts_every_s):
            self._later(plan.restarts_every_s, Event.RESTART, None)
        for outage in plan.outages:
            self._later(outage.at_s, Event.RESUME, outage.lasts_s)
        for storm in plan.storms:
            self._later(storm.at_s, Event.STORM, storm.share)
        if plan.shocks is not None:
            for place in self._spot_places():
                self._later(self._chance.expovariate(1 / plan.shocks.up_mean_s), Event.SHOCK, (place, True))

    def _spot_places(self) -> Iterator[Place]:
        for each in self.plan.settings.classes:
            for offer in each.offers:
                if offer.market.value == "spot":
                    yield from (Place(each.name, offer.market, zone) for zone in each.zones)

    def _later(self, at_s: float, kind: Event, what: object) -> None:
        heapq.heappush(self._heap, (at_s, kind, next(self._order), what))

    def _happen(self, kind: int, what: object) -> None:
        if kind == Event.FINISHED:
            worker, run = cast("tuple[_Worker, int]", what)
            if worker.run == run and worker.job is not None:
                self._finish(worker, worker.job)
        elif kind == Event.TICK:
            self._tick()
        elif kind == Event.RETRY:
            self._queue(cast("Job", what))
        elif kind == Event.SHOCK:
            self._shock(*cast("tuple[Place, bool]", what))
        elif kind == Event.RESTART:
            self._turns = Turns()
            self._later(self.now_s + self.plan.restarts_every_s, Event.RESTART, None)
        elif kind == Event.STORM:
            for place in self._spot_places():
                self.cloud.take(place, cast("float", what))
        elif what is None:
            self._serve_idle()
        else:
            self._away_until_s = self.now_s + cast("float", what)
            self._later(self._away_until_s, Event.RESUME, None)

    # ── jobs ──

    def _arrive(self, job: Job) -> None:
        self.tally.jobs += 1
        self.arrived_gpu_s += job.cost_s
        self._queue(job)

    def _queue(self, job: Job) -> None:
        lane = self._lanes.get(job.structure)
        if lane is None:
            lane = self._lanes[job.structure] = SimulatedLane()
            self._every_lane = frozenset(LaneId(each) for each in self._lanes)
            for worker in self._workers.values():
                worker.ask = None
        if job.epoch:
            lane.put((job.tag, job.number, job.queued_s, job))
        else:
            job.tag = lane.add(job, job.number, job.queued_s)
        self._open[job.structure] = lane
        self.waiting += 1
        self.queued_gpu_s += job.cost_s
        if self._away_until_s > self.now_s:
            return
        if self._idle:
            self._wake(job)
        elif not self._ready and not self._starting:
            self._tick_now()

    def _wake(self, job: Job) -> None:
        """One idle worker, a warm one first; one that may not take it wakes another."""
        warm = self._idle_warm.get(self._hash(job.structure))
        first = list(islice(warm, HOPS_MAX)) if warm else []
        if any(self._serve(worker) for worker in first):
            return
        for worker in list(islice(self._idle, HOPS_MAX - len(first))):
            if self._serve(worker):
                return

    def _serve_idle(self) -> None:
        for worker in list(self._idle):
            if not self.waiting:
                return
            self._serve(worker)

    def _serve(self, worker: _Worker) -> bool:
        """Its poll: the heads of all lanes, the product's own choice."""
        blocked, tenant_rows = worker.blocks or {}, HEADS_PAST_BLOCKS
        heads = [
            head
            for structure, lane in self._open.items()
            for head in self._heads(structure, lane, tenant_rows if self._hash(structure) in blocked else 1)
        ]
        blocks = {worker.holder.worker_id: self._blocks(worker)} if worker.blocks else {}
        pairings = match([self._ask(worker)], heads, blocks, self._turns)
        if not pairings:
            return False
        pairing = pairings[0]
        structure = cast("int", pairing.head.lane)
        lane = self._open[structure]
        _, _, _, job = lane.take(cast("int", pairing.head.id))
        if not lane:
            del self._open[structure]
        if pairing.probes is not None and worker.blocks:
            worker.blocks[pairing.probes].probing = True
        self.waiting -= 1
        self.queued_gpu_s = self.queued_gpu_s - job.cost_s if self.waiting else 0.0
        self._start(worker, job)
        return True

    def _heads(self, structure: int, lane: SimulatedLane[Job], each: int) -> list[Head]:
        """The first rows of a lane. The one in front is kept for a second: how long it waited is right to that."""
        rows = lane.first(each)
        kept = self._kept_heads.get(structure)
        if each == 1 and kept is not None and kept.seq == rows[0][1] and self._kept_at_s[structure] > self.now_s - 1:
            return [kept]
        heads = [
            Head(
                cast("DispatchId", number),
                cast("LaneId", structure),
                self._tenant(job.tenant),
                self._hash(structure),
                0,
                self.now_s - queued_s,
                job.epoch,
                3600.0,
                job.attempts,
                tag,
                number,
            )
            for tag, number, queued_s, job in rows
        ]
        self._kept_heads[structure], self._kept_at_s[structure] = heads[0], self.now_s
        return heads

    def _ask(self, worker: _Worker) -> Ask:
        if worker.ask is None:
            warm = frozenset({worker.warm}) if worker.warm is not None else frozenset()
            worker.ask = Ask(worker.holder, self._every_lane, 1, warm)
        return worker.ask

    def _blocks(self, worker: _Worker) -> list[Block]:
        return [
            Block(
                structure,
                self._tenant(block.tenant) if block.tenant is not None else None,
                half_open=block.until_s <= self.now_s,
                probing=block.probing,
            )
            for structure, block in (worker.blocks or {}).items()
        ]

    def _start(self, worker: _Worker, job: Job) -> None:
        self._unseat(worker)
        plan, structure_hash = self.plan, self._hash(job.structure)
        takes_s = job.work_s / worker.speed
        if worker.warm != structure_hash:
            takes_s += self._load_s(first=worker.warm is None)
            self.tally.switches += worker.warm is not None
            worker.warm, worker.ask = structure_hash, None
        shares = plan.failures
        if job.fate < shares.user_fault + shares.out_of_memory + shares.server_fault:
            takes_s *= 0.5  # it fails on the way
        job.attempts += 1
        job.epoch += 1
        worker.job, worker.began_s, worker.busy_until_s, worker.listed = job, self.now_s, self.now_s + takes_s, None
        worker.run += 1
        self.leased += 1
        if job.epoch == 1:
            self.tally.waited(job.tenant, self.now_s - job.queued_s)
        heapq.heappush(self._heap, (worker.busy_until_s, Event.FINISHED, next(self._order), (worker, worker.run)))

    def _load_s(self, *, first: bool) -> float:
        plan = self.plan
        median_s, sigma = (
            (plan.first_load_median_s, plan.first_load_sigma) if first else (plan.switch_median_s, plan.switch_sigma)
        )
        return self._chance.lognormvariate(math.log(median_s), sigma) if median_s > 0 else 0.0

    def _finish(self, worker: _Worker, job: Job) -> None:
        self._close_run(worker)
        failure = self._failure(job)
        if failure is None:
            self.tally.completed += 1
            if worker.blocks:
                worker.blocks.pop(self._hash(job.structure), None)
                worker.blocks.pop(EVERY_STRUCTURE, None)
        else:
            self._fail(worker, job, failure)
        if worker.draining:
            return
        worker.idle_since_s = self.now_s
        if self.waiting and self._away_until_s <= self.now_s and self._serve(worker):
            return
        self._seat(worker)

    def _close_run(self, worker: _Worker) -> None:
        job = worker.job
        if job is None:
            return
        ran_s = self.now_s - worker.began_s
        self.tally.busy_s += ran_s
        self.tally.gpu_s[job.tenant] = self.tally.gpu_s.get(job.tenant, 0.0) + ran_s
        worker.job, worker.listed = None, None
        worker.run += 1
        self.leased -= 1

    def _failure(self, job: Job) -> FailureClass | None:
        """A user's fault shows each time; others with the first attempt only."""
        shares = self.plan.failures
        if job.fate < shares.user_fault:
            return FailureClass.USER_INPUT
        if job.attempts > 1:
            return None
        if job.fate < shares.user_fault + shares.out_of_memory:
            return FailureClass.OUT_OF_MEMORY
        if job.fate < shares.user_fault + shares.out_of_memory + shares.server_fault:
            return FailureClass.SERVER_FAULT
        return None

    def _fail(self, worker: _Worker, job: Job, failure: FailureClass) -> None:
        policy = POLICIES[failure]
        if policy.blocks != "nothing":
            self._block(worker, EVERY_STRUCTURE if policy.blocks == "server" else self._hash(job.structure), job)
        if not policy.retried:
            self.tally.failed += 1
            return
        self.tally.retries += 1
        self._try_again(job)

    def _try_again(self, job: Job) -> None:
        if job.attempts >= MAX_ATTEMPTS:
            self.tally.exhausted += 1
            return
        self._later(self.now_s + 2.0 * 2**job.attempts, Event.RETRY, job)

    def _block(self, worker: _Worker, structure: str, job: Job) -> None:
        """As `dispatch.blocks` keeps them: each further failure doubles the time, another tenant's makes it all's."""
        worker.blocks = worker.blocks or {}
        before = worker.blocks.get(structure)
        if before is None:
            tenant = None if structure == EVERY_STRUCTURE else job.tenant
            worker.blocks[structure] = _Blocked(self.now_s + COOLDOWN_S, COOLDOWN_S, tenant)
            return
        cooldown_s = min(COOLDOWN_S_MAX, 2 * before.cooldown_s)
        tenant = before.tenant if before.tenant == job.tenant else None
        worker.blocks[structure] = _Blocked(self.now_s + cooldown_s, cooldown_s, tenant)

    # ── machines ──

    def _follow_cloud(self, event: CloudEvent) -> None:
        if event.kind is CloudEventKind.BOOTED:
            self._register(event.machine_id)
            return
        worker = self._workers.get(event.machine_id)
        if event.kind is CloudEventKind.NOTICE:
            self.tally.interruptions += 1
            self._starting_over(event.machine_id)
            if worker is not None:
                self._leave_with_notice(worker)
            return
        self._starting_over(event.machine_id)
        if worker is not None:
            self._lose(worker)

    def _register(self, machine_id: str) -> None:
        listed = self._starting_over(machine_id)
        if listed is None:
            return
        worker = _Worker(next(self._numbers), machine_id, listed.place, self._classes[listed.machine_class].speed)
        worker.idle_since_s = self.now_s
        worker.launched_at_s = listed.launched_at_s
        self._workers[machine_id] = worker
        self._ready += 1
        self.starts_s.append(self.now_s - listed.launched_at_s)
        if not (self.waiting and self._away_until_s <= self.now_s and self._serve(worker)):
            self._seat(worker)

    def _starting_over(self, machine_id: str) -> FleetMachine | None:
        """It no longer starts: it is up, or gone."""
        listed = self._starting.pop(machine_id, None)
        if listed is not None:
            self.tally.starting_s += self.now_s - listed.launched_at_s
        return listed

    def _leave_with_notice(self, worker: _Worker) -> None:
        """It takes no more, ends what it can in the time left, and gives the rest back at once: no attempt is spent."""
        self.drain(worker.machine_id)
        job = worker.job
        if job is not None and worker.busy_until_s > self.now_s + self.plan.habits.notice_s:
            self.tally.wasted_s += self.now_s - worker.began_s
            self.tally.requeues += 1
            self._close_run(worker)
            job.attempts -= 1
            self._queue(job)

    def _lose(self, worker: _Worker) -> None:
        """The machine is gone. What it ran comes back when the lease has expired, and has spent an attempt."""
        del self._workers[worker.machine_id]
        if not worker.draining:
            self._ready -= 1
        self._unseat(worker)
        job = worker.job
        if job is not None:
            self.tally.wasted_s += self.now_s - worker.began_s
            self._close_run(worker)
            self.tally.retries += 1
            if job.attempts >= MAX_ATTEMPTS:
                self.tally.exhausted += 1
            else:
                self._later(self.now_s + LEASE_S, Event.RETRY, job)

    def _seat(self, worker: _Worker) -> None:
        self._idle[worker] = None
        if worker.warm is not None:
            self._idle_warm.setdefault(worker.warm, {})[worker] = None

    def _unseat(self, worker: _Worker) -> None:
        self._idle.pop(worker, None)
        if worker.warm is not None:
            self._idle_warm.get(worker.warm, {}).pop(worker, None)

    def _shock(self, place: Place, falls: bool) -> None:
        shocks = self.plan.shocks
        if shocks is None:
            return
        if falls:
            self.cloud.close(place)
            self.cloud.take(place, self._chance.uniform(shocks.taken_least, 1.0))
        else:
            self.cloud.open(place)
        mean_s = shocks.down_mean_s if falls else shocks.up_mean_s
        self._later(self.now_s + self._chance.expovariate(1 / mean_s), Event.SHOCK, (place, not falls))

    def _listed(self, worker: _Worker) -> FleetMachine:
        if worker.listed is None:
            worker.listed = FleetMachine(
                worker.machine_id,
                MachineState.DRAINING if worker.draining else MachineState.READY,
                *worker.place,
                launched_at_s=worker.launched_at_s,
                worker_id=worker.machine_id,
                leases=0 if worker.job is None else 1,
                idle_since_s=worker.idle_since_s,
                warm=frozenset({worker.warm}) if worker.warm is not None else frozenset(),
            )
        return worker.listed

    # ── the policy's turn ──

    def _tick(self) -> None:
        if self._away_until_s <= self.now_s:
            self._decide()
        if self.now_s - self._sampled_s >= SAMPLE_S:
            self._sampled_s = self.now_s
            ready, starting = self.counts
            sample = Sample(self.now_s, ready, self.leased, starting, self.waiting, self.rule.desired)
            self.tally.samples.append(sample)
        self._later(self.now_s + self.rule.tick_s, Event.TICK, None)

    def _tick_now(self) -> None:
        """An order wakes a fleet at zero; the other policies have a tick, and nothing else."""
        if isinstance(self.rule, OurRule):
            self._decide()

    def _decide(self) -> None:
        self.tally.decisions += 1
        decision = self.rule.tick(self)
        if decision is not None:
            self.tally.holds.update(held.hold.value for held in decision.held)

    # ── words and sums ──

    def _hash(self, structure: int) -> str:
        known = self._hashes.get(structure)
        if known is None:
            known = self._hashes[structure] = f"structure-{structure}"
        return known

    def _tenant(self, tenant: int) -> TenantId:
        known = self._tenants.get(tenant)
        if known is None:
            known = self._tenants[tenant] = TenantId(UUID(int=tenant + 1))
        return known

    def _figures(self, cpu_s: float) -> DayFigures:
        for each in list(self._starting):
            self._starting_over(each)
        for worker in self._workers.values():
            self._close_run(worker)
        billed = self.cloud.billed()
        prices = {
            (each.name, offer.market): offer.price or 0.0 for each in self._classes.values() for offer in each.offers
        }
        return figures_of(
            self.rule.name,
            self.tally,
            paid_s=sum(billed.values()),
            dollars=sum(
                each_s / HOUR_S * prices[place.machine_class, place.market] for place, each_s in billed.items()
            ),
            lasts_s=self.plan.lasts_s,
            unfinished=self.waiting,
            cpu_s=cpu_s,
        )
