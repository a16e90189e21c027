"""Says why this worker takes no work: a worker that stands idle without a word costs hours of looking."""

import time
from collections.abc import Callable

import structlog

from comfyfleet.worker.telemetry import Telemetry

# Shorter ones are everyday: a restart of the control plane, a server that is busy.
TOLD_AFTER_S = 10.0
TOLD_AGAIN_S = 60.0

log = structlog.get_logger()


class Idleness:
    """`look` is called every second with the reason, or None while it takes work."""

    def __init__(self, telemetry: Telemetry, now: Callable[[], float] = time.monotonic) -> None:
        self._telemetry, self._now = telemetry, now
        self._since: float | None = None
        self._told_at: float | None = None

    def look(self, reason: str | None) -> None:
        self._telemetry.takes_no_work(reason)
        now = self._now()
        if reason is None:
            if self._told_at is not None and self._since is not None:
                log.info("worker.takes_work_again", after_s=round(now - self._since))
            self._since = self._told_at = None
            return
        self._since = now if self._since is None else self._since
        due = self._since + TOLD_AFTER_S if self._told_at is None else self._told_at + TOLD_AGAIN_S
        if now >= due:
            self._told_at = now
            log.warning("worker.takes_no_work", reason=reason, for_s=round(now - self._since))
