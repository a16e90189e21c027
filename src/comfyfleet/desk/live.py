"""What running jobs report on their way, kept for a minute in this process, for whoever watches."""

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

KEPT_S = 60.0
KEPT_MAX = 10_000


@dataclass(frozen=True, slots=True)
class LiveEvent:
    number: int
    at: float  # of this process's monotonic clock
    worker_id: str
    dispatch_id: UUID | None
    kind: str
    data: dict[str, Any]


class LiveEvents:
    def __init__(self) -> None:
        self._kept: deque[LiveEvent] = deque(maxlen=KEPT_MAX)
        self._last = 0

    def add(
        self, worker_id: str, kind: str, data: dict[str, Any], *, dispatch_id: UUID | None = None, ago_s: float = 0.0
    ) -> None:
        self._last += 1
        self._kept.append(LiveEvent(self._last, time.monotonic() - ago_s, worker_id, dispatch_id, kind, data))

    def after(self, number: int) -> Iterator[LiveEvent]:
        """The oldest first; none older than a minute."""
        oldest = time.monotonic() - KEPT_S
        return (event for event in list(self._kept) if event.number > number and event.at >= oldest)
