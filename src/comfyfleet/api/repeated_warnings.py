"""A warning that comes every second is one line, and then one a minute that says how often it came.

Two warnings are the same if their names and texts are; numbers and times in them may differ. Errors and whatever
carries a traceback always go out.
"""

import atexit
import re
import threading
import time
from collections.abc import Callable, Hashable, MutableMapping
from typing import Any

import structlog

from comfyfleet.kernel.repeats import Again, Repeats

EVERY_S = 60.0
# A number that stands alone, as in "for 12.3 s"; not a port, an address or a part of a name.
NUMBER = re.compile(r"(?<![^\s(])\d+(?:\.\d+)?(?=[\s,;)]|$)")
# Each request has its own, whatever is wrong with it.
OWN = frozenset({"request_id", "timestamp", "level"})
SUMMARY = "_summary"

Event = MutableMapping[str, Any]


class RepeatedWarnings:
    """A processor of structlog, before those that add times."""

    def __init__(
        self,
        *,
        every_s: float = EVERY_S,
        clock: Callable[[], float] = time.monotonic,
        say: Callable[[Again[dict[str, Any]]], None] | None = None,
    ) -> None:
        self._repeats: Repeats[dict[str, Any]] = Repeats(every_s=every_s)
        self._clock = clock
        self._say = say or _say
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        atexit.register(self.tell, at_last=True)

    def __call__(self, _logger: Any, method: str, event: Event) -> Event:
        if event.pop(SUMMARY, False) or method != "warning" or event.get("exc_info"):
            return event
        with self._changed:
            admitted = self._repeats.admit(_key(event), dict(event), now_s=self._clock())
            if not admitted:
                self._wake()
        if not admitted:
            raise structlog.DropEvent
        return event

    def tell(self, *, at_last: bool = False) -> None:
        with self._changed:
            due = self._repeats.due(now_s=self._clock(), at_last=at_last)
        for again in due:
            self._say(again)

    def _wake(self) -> None:
        """A thread, for there may be no loop, or one that stands still; none while nothing is said again."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="repeated warnings", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                next_s = self._repeats.next_due_s()
                if next_s is None:
                    self._thread = None
                    return
                self._changed.wait(max(0.0, next_s - self._clock()))
            self.tell()


def _say(again: Again[dict[str, Any]]) -> None:
    facts = {name: value for name, value in again.latest.items() if name not in OWN and name != "event"}
    structlog.get_logger().warning(again.latest["event"], **facts, repeated=str(again), **{SUMMARY: True})


def _key(event: Event) -> Hashable:
    return tuple(sorted((name, _without_numbers(value)) for name, value in event.items() if name not in OWN))


def _without_numbers(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "#"
    return NUMBER.sub("#", str(value))
