"""What this worker can do, and which of its servers are unwell: said once, and again until the control plane heard."""

from collections.abc import Callable
from typing import Any


class News:
    """From any thread. `now`: how it is at this instant, never changed in place."""

    def __init__(self, now: Callable[[], dict[str, Any]]) -> None:
        self._now = now
        self._heard: dict[str, Any] = {}

    def all(self) -> dict[str, Any]:
        return self._now()

    def unheard(self) -> dict[str, Any]:
        """All of it, where something is new; else nothing, which is not sent."""
        now = self._now()
        return {} if now == self._heard else now

    def heard(self, said: dict[str, Any]) -> None:
        self._heard = said or self._heard
