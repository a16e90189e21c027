"""What this worker can do, and which of its servers are unwell: said once, and again until the control plane heard.

Polls and heartbeats say it, at once and on connections of their own: an older report may be written down after a newer
one. Of two that were under way together nobody knows which one stands, so what differs is said again.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# A report without an answer may still arrive for so long.
UNDER_WAY_S = 90.0


@dataclass(eq=False, slots=True)
class _Report:
    said: dict[str, Any]
    began_at: float
    in_doubt: bool = False  # another one, of other contents, was answered meanwhile


class News:
    """From any thread. `now`: how it is at this instant, never changed in place."""

    def __init__(self, now: Callable[[], dict[str, Any]], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._clock = clock
        self._lock = threading.Lock()
        self._heard: dict[str, Any] = {}
        self._under_way: list[_Report] = []

    def all(self) -> dict[str, Any]:
        """For a registration."""
        with self._lock:
            return self._report(self._now())

    def unheard(self) -> dict[str, Any]:
        """All of it, where something is new; else nothing, which is not sent."""
        now = self._now()
        with self._lock:
            return {} if now == self._heard else self._report(now)

    def heard(self, said: dict[str, Any]) -> None:
        """`said` is what `all` or `unheard` returned, itself."""
        if not said:
            return
        with self._lock:
            self._forget_old()
            mine = next((each for each in self._under_way if each.said is said), None)
            self._under_way = [each for each in self._under_way if each is not mine]
            differ = [each for each in self._under_way if each.said != said]
            for each in differ:
                each.in_doubt = True
            is_known = mine is not None and not mine.in_doubt and not differ
            self._heard = said if is_known else {}

    def _report(self, said: dict[str, Any]) -> dict[str, Any]:
        self._forget_old()
        said = dict(said)  # two reports of the same contents are two
        self._heard = {}  # it may be written down although no answer comes
        self._under_way.append(_Report(said, self._clock()))
        return said

    def _forget_old(self) -> None:
        since = self._clock() - UNDER_WAY_S
        self._under_way = [each for each in self._under_way if each.began_at > since]
