"""What a worker counts, for its status port. Every method may be called from any thread and never fails."""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum

# Upper ends in seconds; a run of a still takes seconds, one of a film minutes.
SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
# A label comes from words of others now and then: what is too much goes under one name.
LABELS_MAX = 50
OTHERS = "other"
# A loop that has not turned for so long is dead; the heartbeat thread gives its leases up at the same age.
LOOP_AGE_S_MAX = 120.0


class Phase(StrEnum):
    STARTING = "starting"
    POLLING = "polling"
    DRAINING = "draining"
    STOPPED = "stopped"


@dataclass(slots=True)
class Histogram:
    """Of seconds: how many took at most each of `SECONDS`, how many in all, and their sum."""

    within: list[int] = field(default_factory=lambda: [0] * len(SECONDS))
    count: int = 0
    sum_s: float = 0.0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.sum_s += seconds
        for place, end in enumerate(SECONDS):
            self.within[place] += seconds <= end


@dataclass(frozen=True, slots=True)
class ServerStatus:
    ready: bool
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """All of it at one instant."""

    phase: Phase
    loop_age_s: float
    running: int
    leases: int
    servers: dict[str, ServerStatus]
    counts: dict[tuple[str, str], int]  # (what, label)
    stages: dict[str, Histogram]
    busy_s: dict[str, float]
    takes_no_work: str | None = None


class Telemetry:
    """
    phase_is            starting → polling → draining → stopped
    loop_turned         the agent's event loop is alive; at least every few seconds
    takes_no_work       why it takes none at present; None: it does
    server_is           ready or not, by name, with the problem
    polled, beaten      a poll or a heartbeat was answered, or not
    holding             leases held and jobs running at present
    lease_taken, lease_lost
    stage_took          a stage of a job ended: fetch, upload_inputs, wait, run, fetch_outputs, upload, complete
    server_busy         a server executed a prompt for so long
    job_finished        outcome: completed, cancelled, or the failure class
    job_given_back      requeued, with a short word for the reason
    bytes_moved         way: in (assets), out (outputs)
    cache_looked        an asset was there already, or not
    server_restarted    the owned process was started again
    follow_busy         hears when the worker gets its first lease, and when it has returned its last
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._phase = Phase.STARTING
        self._takes_no_work: str | None = None
        self._turned_at = now()
        self._running = 0
        self._leases = 0
        self._servers: dict[str, ServerStatus] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._stages: defaultdict[str, Histogram] = defaultdict(Histogram)
        self._busy_s: defaultdict[str, float] = defaultdict(float)
        self._followers: list[Callable[[bool], None]] = []

    def phase_is(self, phase: Phase) -> None:
        with self._lock:
            self._phase = phase

    def takes_no_work(self, reason: str | None) -> None:
        self._takes_no_work = reason

    def loop_turned(self) -> None:
        self._turned_at = self._now()

    def server_is(self, name: str, *, ready: bool, problem: str | None = None) -> None:
        with self._lock:
            self._servers[name] = ServerStatus(ready, problem)

    def server_gone(self, name: str) -> None:
        with self._lock, suppress(KeyError):
            del self._servers[name]

    def holding(self, *, leases: int, running: int) -> None:
        with self._lock:
            was_busy, self._leases, self._running = self._leases > 0, leases, running
            followers = tuple(self._followers) if was_busy != (leases > 0) else ()
        for tell in followers:
            tell(leases > 0)

    def follow_busy(self, tell: Callable[[bool], None]) -> None:
        """`tell` is called on the thread that calls `holding`, and at once if the worker is busy already."""
        with self._lock:
            self._followers.append(tell)
            busy = self._leases > 0
        if busy:
            tell(True)

    def polled(self, *, answered: bool) -> None:
        self._count("polls", "answered" if answered else "unanswered")

    def beaten(self, *, answered: bool) -> None:
        self._count("heartbeats", "answered" if answered else "unanswered")

    def lease_taken(self) -> None:
        self._count("leases", "taken")

    def lease_lost(self) -> None:
        self._count("leases", "lost")

    def job_finished(self, outcome: str) -> None:
        self._count("jobs", outcome)

    def job_given_back(self, reason: str) -> None:
        self._count("given_back", reason)

    def bytes_moved(self, way: str, count: int) -> None:
        self._count("bytes", way, count)

    def cache_looked(self, *, hit: bool) -> None:
        self._count("cache", "hit" if hit else "miss")

    def server_restarted(self, name: str) -> None:
        self._count("server_restarts", name)

    def stage_took(self, stage: str, seconds: float) -> None:
        with self._lock:
            known = stage in self._stages or len(self._stages) < LABELS_MAX
            self._stages[stage if known else OTHERS].add(seconds)

    def server_busy(self, name: str, seconds: float) -> None:
        with self._lock:
            self._busy_s[name] += seconds

    def seen(self) -> Seen:
        with self._lock:
            return Seen(
                phase=self._phase,
                loop_age_s=max(0.0, self._now() - self._turned_at),
                running=self._running,
                leases=self._leases,
                servers=dict(self._servers),
                counts=dict(self._counts),
                stages={
                    name: Histogram(list(each.within), each.count, each.sum_s) for name, each in self._stages.items()
                },
                busy_s=dict(self._busy_s),
                takes_no_work=self._takes_no_work,
            )

    def _count(self, what: str, label: str, by: int = 1) -> None:
        with self._lock:
            if (what, label) not in self._counts and sum(name == what for name, _ in self._counts) >= LABELS_MAX:
                label = OTHERS
            self._counts[what, label] += by
