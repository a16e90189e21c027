"""What the queue looks like from above. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from comfyfleet.kernel.ids import TenantId, WorkerId, WorkflowId

COMPLETED = "completed"
# Nobody failed: the lease went back, by its worker or from it, or somebody wanted no result any more.
NO_FAILURE = frozenset(["requeued", "worker_restarted", "revoked", "interrupted", "cancelled"])


@dataclass(frozen=True, slots=True)
class Waiting:
    """How many wait, counted up to a bound: `is_at_least` says that there are more. `oldest_s`: the longest wait among
    those that are looked at, which are the first of each lane."""

    queued: int = 0
    is_at_least: bool = False
    oldest_s: float | None = None

    def plus(self, other: "Waiting") -> "Waiting":
        ages = [each for each in (self.oldest_s, other.oldest_s) if each is not None]
        return Waiting(self.queued + other.queued, self.is_at_least or other.is_at_least, max(ages) if ages else None)


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """By workflow and by tenant. `reasons`: why nobody takes a workflow's jobs, where that is known."""

    waiting: dict[WorkflowId, Waiting]
    tenants: dict[TenantId, Waiting]
    running: dict[WorkflowId, int]
    reasons: dict[WorkflowId, str]
    delayed: int
    delayed_is_at_least: bool


@dataclass(frozen=True, slots=True)
class Ends:
    """Attempts that ended, in equal stretches of time, the oldest first; and how all of them ended. Those that were
    given back or cancelled neither completed nor failed."""

    begins_at: datetime
    stretch_s: float
    completed: list[int]
    failed: list[int]
    by_reason: dict[str, int]

    @classmethod
    def counted(
        cls, rows: Iterable[tuple[int, str | None, int]], begins_at: datetime, stretch_s: float, stretches: int
    ) -> "Ends":
        completed, failed = [0] * stretches, [0] * stretches
        by_reason: dict[str, int] = {}
        for stretch, reason, number in rows:
            word = reason or "unknown"
            by_reason[word] = by_reason.get(word, 0) + number
            if word not in NO_FAILURE:
                # What ends while this is counted belongs to the last.
                (completed if word == COMPLETED else failed)[min(max(stretch, 0), stretches - 1)] += number
        order = sorted(by_reason.items(), key=lambda each: (-each[1], each[0]))
        return cls(begins_at, stretch_s, completed, failed, dict(order))


@dataclass(frozen=True, slots=True)
class Span:
    """A worker held a lease, from when to when, in seconds from the beginning of what is looked at."""

    worker_id: WorkerId
    begins_s: float
    ends_s: float


@dataclass(frozen=True, slots=True)
class Spans:
    """`looked_s`: how much of the time is covered. Where there was too much, only the latest part is."""

    spans: list[Span] = field(default_factory=list)
    begins_s: float = 0.0
    ends_s: float = 0.0

    @property
    def looked_s(self) -> float:
        return self.ends_s - self.begins_s


def busy_shares(spans: Spans, slots: Mapping[WorkerId, int]) -> dict[WorkerId, float]:
    """How much of the time each worker had something to run, 0 to 1. A lease beyond what it runs at once waits on the
    worker, and makes it no busier."""
    by_worker: dict[WorkerId, list[Span]] = {worker_id: [] for worker_id in slots}
    for span in spans.spans:
        if span.worker_id in by_worker:
            by_worker[span.worker_id].append(span)
    return {each: _busy(found, slots[each], spans.begins_s, spans.ends_s) for each, found in by_worker.items()}


def _busy(spans: Sequence[Span], slots: int, begins_s: float, ends_s: float) -> float:
    turns: list[tuple[float, int]] = []
    for span in spans:
        begin, end = max(span.begins_s, begins_s), min(span.ends_s, ends_s)
        if end > begin:
            turns += [(begin, 1), (end, -1)]
    if not turns or ends_s <= begins_s:
        return 0.0
    held, busy_s = 0, 0.0
    for (at, change), (until, _) in pairwise(sorted(turns)):
        held += change
        busy_s += (until - at) * min(held, slots)
    return min(1.0, busy_s / (slots * (ends_s - begins_s)))
