"""A fleet in virtual time. Tags and choices are the product's own functions; only database and GPUs are made up."""

import heapq
import random
from bisect import insort
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from uuid import UUID

from comfyfleet.dispatch import Ask, Holder
from comfyfleet.dispatch.fairness import finish_tag, share_cost, start_tags, virtual_now
from comfyfleet.dispatch.lease import SPARE_HEADS
from comfyfleet.dispatch.matching import LEANINGS, Head, Leanings, match
from comfyfleet.dispatch.turns import Turns
from comfyfleet.kernel.ids import DispatchId, LaneId, TenantId, WorkerId

ASKS_MAX = 500


@cache
def numbered(number: int) -> UUID:
    return UUID(int=number)


@dataclass(frozen=True, slots=True)
class Job:
    tenant: int
    workflow: str = "w"
    priority: int = 0
    cost_s: float = 60.0
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Run:
    """A job that got a worker."""

    job: Job
    queued_s: float
    started_s: float
    worker: int
    switched: bool

    @property
    def waited_s(self) -> float:
        return self.started_s - self.queued_s


Row = tuple[float, int, float, Job]  # tag, sequence, when it was queued, what


@dataclass(slots=True)
class SimulatedLane:
    """Rows by (tag, sequence): the first few in order, the others in a heap until they are looked at."""

    front: list[Row] = field(default_factory=list)
    others: list[Row] = field(default_factory=list)
    finish: dict[int, float] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.front) + len(self.others)

    def add(self, job: Job, number: int, queued_s: float) -> None:
        first = self.first(1)
        now = virtual_now(first[0][0], None) if first else virtual_now(None, max(self.finish.values(), default=None))
        cost = share_cost(job.cost_s, job.weight)
        self.finish[job.tenant] = finish_tag(self.finish.get(job.tenant), now, cost)
        (tag,) = start_tags(self.finish[job.tenant], [cost])
        row = (tag, number, queued_s, job)
        if self.front and row < self.front[-1]:
            insort(self.front, row)
        else:
            heapq.heappush(self.others, row)

    def first(self, rows: int) -> list[Row]:
        while len(self.front) < rows and self.others:
            self.front.append(heapq.heappop(self.others))
        return self.front[:rows]

    def take(self, number: int) -> tuple[Job, float]:
        at = next(at for at, row in enumerate(self.front) if row[1] == number)
        _, _, queued_s, job = self.front.pop(at)
        return job, queued_s


@dataclass
class Simulation:
    """`serves[i]` are the workflows of worker i."""

    serves: list[frozenset[str]]
    leanings: Leanings = LEANINGS
    switch_s: float = 0.0
    jitter: float = 0.2  # how far a run's time strays from its expected cost
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    runs: list[Run] = field(default_factory=list)
    now_s: float = 0.0
    _lanes: dict[tuple[str, int], LaneId] = field(default_factory=dict)
    _queues: dict[LaneId, SimulatedLane] = field(default_factory=lambda: defaultdict(SimulatedLane))
    _events: list[tuple[float, int, Job | int]] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _turns: Turns = field(default_factory=Turns)
    _loaded: dict[int, str] = field(default_factory=dict)
    _idle: dict[int, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        order = list(range(len(self.serves)))
        self.chance.shuffle(order)
        self._idle = dict.fromkeys(order)

    def arrive(self, jobs: Iterable[tuple[float, Job]]) -> None:
        for at_s, job in jobs:
            heapq.heappush(self._events, (at_s, next(self._numbers), job))

    def run(self, until_s: float = float("inf")) -> list[Run]:
        while self._events and self._events[0][0] <= until_s:
            self.now_s = self._events[0][0]
            while self._events and self._events[0][0] == self.now_s:
                _, number, event = heapq.heappop(self._events)
                if isinstance(event, Job):
                    self._lane(event).add(event, number, self.now_s)
                else:
                    self._idle[event] = None
            self._lease()
        return self.runs

    def waiting(self) -> list[tuple[Job, float]]:
        """What nobody has taken, and since when it waits."""
        rows = (row for lane in self._queues.values() for row in (*lane.front, *lane.others))
        return [(job, queued_s) for _, _, queued_s, job in rows]

    def _lane(self, job: Job) -> SimulatedLane:
        return self._queues[self._lanes.setdefault((job.workflow, job.priority), LaneId(len(self._lanes) + 1))]

    def _lease(self) -> None:
        """As many ask as there are jobs: the wake-up calls one waiter a job, warm ones first."""
        while self._idle and (waiting := {lane: queue for lane, queue in self._queues.items() if len(queue)}):
            asks = {self._ask(worker): worker for worker in self._woken(waiting)}
            heads = self._heads(waiting, len(asks) + SPARE_HEADS)
            pairings = match(list(asks), heads, {}, self._turns, leanings=self.leanings)
            for pairing in pairings:
                self._start(asks[pairing.ask], pairing.head)
            if len(pairings) < len(asks):
                return

    def _woken(self, waiting: dict[LaneId, SimulatedLane]) -> list[int]:
        jobs = min(ASKS_MAX, sum(len(queue) for queue in waiting.values()))
        if len(self._idle) <= jobs:
            return list(self._idle)
        wanted = {workflow for (workflow, _), lane in self._lanes.items() if lane in waiting}
        fitting = [worker for worker in self._idle if wanted & self.serves[worker]]
        return sorted(fitting, key=lambda worker: self._loaded.get(worker) not in wanted)[:jobs]

    def _ask(self, worker: int) -> Ask:
        lanes = frozenset(lane for (workflow, _), lane in self._lanes.items() if workflow in self.serves[worker])
        warm = frozenset({self._loaded[worker]}) if worker in self._loaded else frozenset()
        return Ask(Holder(WorkerId(numbered(worker)), 1), lanes, 1, warm)

    def _heads(self, waiting: dict[LaneId, SimulatedLane], rows: int) -> list[Head]:
        return [
            Head(
                id=DispatchId(numbered(number)),
                lane=lane,
                tenant_id=TenantId(numbered(job.tenant)),
                structure_hash=job.workflow,
                priority=job.priority,
                fair_tag=tag,
                waited_s=self.now_s - queued_s,
                epoch=0,
                run_deadline_s=3600.0,
            )
            for lane, queue in waiting.items()
            for tag, number, queued_s, job in queue.first(rows)
        ]

    def _start(self, worker: int, head: Head) -> None:
        job, queued_s = self._queues[head.lane].take(head.id.int)
        switched = self._loaded.get(worker) != job.workflow
        self._loaded[worker] = job.workflow
        del self._idle[worker]
        self.runs.append(Run(job, queued_s, self.now_s, worker, switched))
        takes_s = job.cost_s * self.chance.uniform(1 - self.jitter, 1 + self.jitter) + self.switch_s * switched
        heapq.heappush(self._events, (self.now_s + takes_s, next(self._numbers), worker))
