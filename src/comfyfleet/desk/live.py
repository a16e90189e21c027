"""What running jobs report on their way, kept for a minute in this process, for operators who watch.

Bounded by bytes, per worker and in all: a worker that reports without end pushes out its own events first.
"""

import json
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from comfyfleet.kernel.errors import LimitReached

KEPT_S = 60.0
KEPT_MAX = 10_000
BYTES_MAX = 16 * 1024**2
WORKER_BYTES_MAX = 1024**2
# What an event weighs beside its data.
OVERHEAD_BYTES = 500
# What a worker may report: the second is what it may have saved up.
EVENTS_PER_S, EVENTS_SAVED_MAX = 200.0, 2_000.0
BYTES_PER_S, BYTES_SAVED_MAX = 4.0 * 1024**2, 16.0 * 1024**2
ALLOWANCES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class LiveEvent:
    number: int
    at: float  # of this process's monotonic clock
    worker_id: str
    dispatch_id: UUID | None
    kind: str
    text: bytes  # JSON: a tenth of what the same weighs as Python objects

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def size_bytes(self) -> int:
        return len(self.text) + OVERHEAD_BYTES


@dataclass(slots=True)
class _OfWorker:
    numbers: deque[int] = field(default_factory=deque)
    size_bytes: int = 0


class LiveEvents:
    def __init__(self, *, bytes_max: int = BYTES_MAX, worker_bytes_max: int = WORKER_BYTES_MAX) -> None:
        self._bytes_max, self._worker_bytes_max = bytes_max, worker_bytes_max
        self._kept: OrderedDict[int, LiveEvent] = OrderedDict()
        self._workers: dict[str, _OfWorker] = {}
        self._last = 0
        self.size_bytes = 0

    def add(
        self, worker_id: str, kind: str, text: bytes, *, dispatch_id: UUID | None = None, ago_s: float = 0.0
    ) -> None:
        """`text`: the event's data as JSON."""
        self._last += 1
        event = LiveEvent(self._last, time.monotonic() - ago_s, worker_id, dispatch_id, kind, text)
        own = self._workers.setdefault(worker_id, _OfWorker())
        self._kept[event.number] = event
        own.numbers.append(event.number)
        own.size_bytes += event.size_bytes
        self.size_bytes += event.size_bytes
        while own.size_bytes > self._worker_bytes_max:
            self._drop(own.numbers[0])
        while self.size_bytes > self._bytes_max or len(self._kept) > KEPT_MAX or self._oldest_is_over():
            self._drop(next(iter(self._kept)))

    def after(self, number: int) -> Iterator[LiveEvent]:
        """The oldest first; none older than a minute."""
        oldest = time.monotonic() - KEPT_S
        return (event for event in list(self._kept.values()) if event.number > number and event.at >= oldest)

    def _oldest_is_over(self) -> bool:
        return bool(self._kept) and next(iter(self._kept.values())).at < time.monotonic() - KEPT_S

    def _drop(self, number: int) -> None:
        event = self._kept.pop(number)
        own = self._workers[event.worker_id]
        own.numbers.popleft()  # of one worker the oldest goes first, whoever asks for the room
        own.size_bytes -= event.size_bytes
        self.size_bytes -= event.size_bytes
        if not own.numbers:
            del self._workers[event.worker_id]


@dataclass(slots=True)
class _Saved:
    events: float
    size_bytes: float
    at: float


class Allowances:
    """How much each worker may report: a rate, and some that was saved up. A refused report costs nothing."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._saved: OrderedDict[str, _Saved] = OrderedDict()

    def spend(self, worker_id: str, *, events: int, size_bytes: int) -> None:
        """Raises LimitReached."""
        now = self._clock()
        saved = self._saved.get(worker_id) or _Saved(EVENTS_SAVED_MAX, BYTES_SAVED_MAX, now)
        passed_s = max(0.0, now - saved.at)
        saved.events = min(EVENTS_SAVED_MAX, saved.events + passed_s * EVENTS_PER_S)
        saved.size_bytes = min(BYTES_SAVED_MAX, saved.size_bytes + passed_s * BYTES_PER_S)
        saved.at = now
        self._saved[worker_id] = saved
        self._saved.move_to_end(worker_id)
        while len(self._saved) > ALLOWANCES_MAX:
            self._saved.popitem(last=False)
        lacks_s = max((events - saved.events) / EVENTS_PER_S, (size_bytes - saved.size_bytes) / BYTES_PER_S)
        if lacks_s > 0:
            raise LimitReached(retry_after_s=math.ceil(lacks_s))
        saved.events -= events
        saved.size_bytes -= size_bytes
