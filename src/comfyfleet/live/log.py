"""The last events of each job, in memory. Bounded by job, by jobs, and by bytes: the oldest job goes first."""

import heapq
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from comfyfleet.live.model import STANDING, Event

EACH_MAX = 200
TOPICS_MAX = 5_000
BYTES_MAX = 64 * 1024**2
# What an event weighs beside its data.
OVERHEAD_BYTES = 250


@dataclass(slots=True)
class TopicLog:
    events: deque[Event] = field(default_factory=deque)
    preview: Event | None = None  # the latest: an older one is of no use to anybody
    heads: dict[str, int] = field(default_factory=dict)
    latest: dict[str, Event] = field(default_factory=dict)  # by kind, of those that say how far the job is
    size_bytes: int = 0

    def add(self, event: Event) -> None:
        if event.is_preview:
            self.size_bytes += _weight(event) - (_weight(self.preview) if self.preview else 0)
            self.preview = event
            return
        self.heads[event.origin] = event.number
        if event.kind in STANDING and (event.kind not in self.latest or event.at >= self.latest[event.kind].at):
            self.latest[event.kind] = event
        self.events.append(event)
        self.size_bytes += _weight(event)
        if len(self.events) > EACH_MAX:
            self.size_bytes -= _weight(self.events.popleft())

    def in_order(self) -> Iterator[Event]:
        """Of each process in the order of its numbers; of several, woven by their clocks. The preview last."""
        by_origin: dict[str, list[Event]] = {}
        for event in self.events:
            by_origin.setdefault(event.origin, []).append(event)
        yield from heapq.merge(*by_origin.values(), key=lambda event: event.at)
        if self.preview is not None:
            yield self.preview

    def of(self, origin: str, *, after: int) -> Iterator[Event]:
        yield from (event for event in self.events if event.origin == origin and event.number > after)
        if self.preview is not None and self.preview.origin == origin and self.preview.number > after:
            yield self.preview


class Logs:
    def __init__(self, *, topics_max: int = TOPICS_MAX, bytes_max: int = BYTES_MAX) -> None:
        self._topics_max, self._bytes_max = topics_max, bytes_max
        self._logs: OrderedDict[UUID, TopicLog] = OrderedDict()
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._logs)

    def get(self, topic: UUID) -> TopicLog | None:
        return self._logs.get(topic)

    def head(self, topic: UUID, origin: str) -> int:
        log = self._logs.get(topic)
        return log.heads.get(origin, 0) if log else 0

    def add(self, event: Event) -> None:
        log = self._logs.get(event.topic)
        if log is None:
            log = self._logs[event.topic] = TopicLog()
        self._logs.move_to_end(event.topic)
        self.size_bytes -= log.size_bytes
        log.add(event)
        self.size_bytes += log.size_bytes
        while len(self._logs) > self._topics_max or (self.size_bytes > self._bytes_max and len(self._logs) > 1):
            _, gone = self._logs.popitem(last=False)
            self.size_bytes -= gone.size_bytes


def _weight(event: Event) -> int:
    return len(event.data) + OVERHEAD_BYTES
