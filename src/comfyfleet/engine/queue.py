"""Prompts that wait, the one that runs, and what became of those that ran: one lock over all three, so that a prompt
is always in exactly one of them."""

import heapq
import itertools
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from comfyfleet.engine.faults import NO_FAULTS, PromptFaults
from comfyfleet.engine.graphs import Graph
from comfyfleet.engine.history import Entry, History


class SamePlaceTwice(Exception):
    """Two pending prompts with one id and one number: ComfyUI queues the second, and answers 500."""


@dataclass(frozen=True, slots=True)
class Queued:
    number: float
    prompt_id: str
    graph: Graph
    extra_data: dict[str, Any]
    outputs: tuple[str, ...]
    withheld: dict[str, Any] = field(default_factory=dict)  # credentials: they run with the prompt, nobody reads them
    faults: PromptFaults = NO_FAULTS
    over: threading.Event = field(default_factory=threading.Event)  # history has it, or was told to forget it

    def as_listed(self) -> list[Any]:
        return [self.number, self.prompt_id, self.graph, self.extra_data, list(self.outputs)]


class PromptQueue:
    def __init__(self, history: History, *, changed: Callable[[], None]) -> None:
        self._history = history
        self._changed = changed
        self._condition = threading.Condition(threading.RLock())
        self._heap: list[tuple[float, str, int, Queued]] = []
        self._arrivals = itertools.count()
        self._running: Queued | None = None
        self._interrupted: str | None = None
        self._free = False
        self._closed = False

    def put(self, queued: Queued) -> None:
        with self._condition:
            clash = any(queued.number == number and queued.prompt_id == each for number, each, *_ in self._heap)
            heapq.heappush(self._heap, (queued.number, queued.prompt_id, next(self._arrivals), queued))
            if clash:
                raise SamePlaceTwice(queued.prompt_id)
            self._changed()
            self._condition.notify()

    def take(self) -> Queued | None:
        """Wait for the next prompt. None: memory is to be freed, or the queue was closed."""
        with self._condition:
            while not (self._heap or self._free or self._closed):
                self._condition.wait()
            if self._closed or self._free:
                return None
            self._running = heapq.heappop(self._heap)[3]
            # An interrupt sent before this moment is lost, as it is on the real server.
            self._interrupted = None
            self._changed()
            return self._running

    def finish(self, entry: Entry | None) -> None:
        """The running prompt is over; what became of it is history from this moment."""
        with self._condition:
            self._running = None
            self._interrupted = None
            if entry is not None:
                self._history.add(entry)
            self._changed()

    def remaining(self) -> int:
        with self._condition:
            return len(self._heap) + (self._running is not None)

    def snapshot(self) -> tuple[list[Queued], list[Queued]]:
        """What runs, what waits (in heap order)."""
        with self._condition:
            return [self._running] if self._running else [], [each[3] for each in self._heap]

    def look(self) -> tuple[list[Queued], list[Queued], list[Entry]]:
        with self._condition:
            return *self.snapshot(), self._history.all()

    def delete(self, prompt_id: str) -> bool:
        """Drop one pending prompt of that id, if there is one."""
        with self._condition:
            for place, (_, each, *_) in enumerate(self._heap):
                if each == prompt_id:
                    del self._heap[place]
                    heapq.heapify(self._heap)
                    self._changed()
                    return True
            return False

    def clear(self) -> None:
        with self._condition:
            self._heap.clear()
            self._changed()

    def interrupt(self, prompt_id: str | None = None) -> bool:
        """Ask the running prompt to stop; with an id only if it is that one."""
        with self._condition:
            if self._running is None or prompt_id not in (None, self._running.prompt_id):
                return False
            self._interrupted = self._running.prompt_id
            return True

    def take_interrupt(self) -> bool:
        with self._condition:
            asked, self._interrupted = self._interrupted is not None, None
            return asked

    def cancel(self, prompt_ids: Iterable[str]) -> bool:
        with self._condition:
            return any([self.interrupt(each) or self.delete(each) for each in prompt_ids])

    def ask_to_free(self, *, drop_cache: bool) -> None:
        """At the next idle moment. There are no weights to unload here: only the cache of results goes."""
        with self._condition:
            self._free = self._free or drop_cache
            self._condition.notify()

    def take_free(self) -> bool:
        with self._condition:
            asked, self._free = self._free, False
            return asked

    def close(self) -> None:
        with self._condition:
            self._closed = True
            self._interrupted = self._running.prompt_id if self._running else None
            self._condition.notify_all()

    @property
    def closed(self) -> bool:
        return self._closed
