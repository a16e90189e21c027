"""Who hears what, inside one process: readers by topic, and the other processes that listen to it.

A topic is the id of a job or of a run, of a user whose jobs and runs are watched, of a tenant whose webhooks are; or
one of those in `model.py` that belong to nobody.
"""

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol
from uuid import UUID

from comfyfleet.live.log import Logs
from comfyfleet.live.model import PREVIEW, READ_HERE, Event, JobState
from comfyfleet.live.subscription import Subscription

EVENT_BYTES_MAX = 8 * 1024
PREVIEW_BYTES_MAX = 768 * 1024


def bytes_max(kind: str) -> int:
    """Of an event's data as JSON."""
    return PREVIEW_BYTES_MAX if kind == PREVIEW else EVENT_BYTES_MAX


class Ear(Protocol):
    """Another process that listens to this one."""

    def put(self, event: Event) -> None: ...

    def hint(self, topic: UUID) -> None: ...


class Hub:
    def __init__(self, origin: str, *, logs: Logs | None = None) -> None:
        self.origin = origin
        self.logs = logs if logs is not None else Logs()
        self._numbers = itertools.count(1)
        self._readers: dict[UUID, set[Subscription]] = {}
        self._ears: dict[UUID, set[Ear]] = {}
        # Somebody here begins to listen to a topic, or the last one stops.
        self.on_interest: Callable[[UUID, bool], None] = lambda _topic, _wanted: None

    # ── what workers report to this process ──

    def report(self, topic: UUID, kind: str, data: bytes, *, ago_s: float = 0.0) -> set[Ear]:
        """The other processes that it was passed to. What is too large for a log line or a preview is left out."""
        if len(data) > bytes_max(kind):
            return set()
        before = self.logs.head(topic, self.origin)
        event = Event(topic, self.origin, next(self._numbers), before, kind, data, time.time() - ago_s)
        self._deliver(event)
        ears = self._ears.get(topic, set())
        for ear in ears:
            ear.put(event)
        return ears

    def changed(self, topics: Iterable[UUID]) -> None:
        """A hint: what stands in the database is newer than what was told."""
        for topic in topics:
            self.hear_hint(topic)
            for ear in self._ears.get(topic, ()):
                ear.hint(topic)

    # ── what other processes pass on ──

    def hear(self, event: Event) -> None:
        """What was heard before is not heard again."""
        if event.topic not in self._readers:
            return  # its reader has left in the meantime
        if event.is_preview or event.number > self.logs.head(event.topic, event.origin):
            self._deliver(event)

    def hear_hint(self, topic: UUID) -> None:
        for reader in self._readers.get(topic, ()):
            reader.hint(topic)

    def hint_notices(self) -> None:
        """Whoever could have been told by another process meanwhile looks for themselves."""
        for topic in self._readers.keys() - READ_HERE:
            for reader in self._readers[topic]:
                if topic in reader.notices:
                    reader.hint(topic)

    def _deliver(self, event: Event) -> None:
        self.logs.add(event)
        for reader in self._readers.get(event.topic, ()):
            reader.put(event)

    # ── readers ──

    def listen(self, reader: Subscription, topic: UUID) -> None:
        reader.topics.add(topic)
        if topic not in self._readers:
            self._readers[topic] = set()
            self.on_interest(topic, True)
        self._readers[topic].add(reader)

    def leave(self, reader: Subscription, topic: UUID) -> None:
        reader.topics.discard(topic)
        reader.forget(topic)
        readers = self._readers.get(topic)
        if readers is None:
            return
        readers.discard(reader)
        if not readers:
            del self._readers[topic]
            self.on_interest(topic, False)

    def tell_state(self, state: JobState) -> None:
        for reader in self._readers.get(state.job_id, ()):
            reader.put_state(state)

    def has_readers(self, topic: UUID) -> bool:
        return topic in self._readers

    @property
    def topics(self) -> Sequence[UUID]:
        return list(self._readers)

    # ── other processes ──

    def lend(self, ear: Ear, topic: UUID, *, after: int) -> list[Event]:
        """From now on it hears of this topic; and what came before, past the number that it knows."""
        self._ears.setdefault(topic, set()).add(ear)
        log = self.logs.get(topic)
        return list(log.of(self.origin, after=after)) if log else []

    def take_back(self, ear: Ear, topics: Iterable[UUID]) -> None:
        for topic in topics:
            ears = self._ears.get(topic)
            if ears is not None:
                ears.discard(ear)
                if not ears:
                    del self._ears[topic]
