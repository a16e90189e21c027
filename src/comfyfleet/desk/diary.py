"""What workers did, gathered in memory and written in batches. Leases and their ends are rows of their own already."""

from comfyfleet import audit
from comfyfleet.audit import WorkerEvent
from comfyfleet.db import Database

FLUSH_EVERY_S = 1.0
KEPT_MAX = 10_000


class Diary:
    def __init__(self, central: Database) -> None:
        self._central = central
        self._events: list[WorkerEvent] = []

    def note(self, event: WorkerEvent) -> None:
        if len(self._events) < KEPT_MAX:
            self._events.append(event)

    async def flush(self) -> int:
        events, self._events = self._events, []
        if not events:
            return 0
        try:
            async with self._central.control_tx() as tx:
                await audit.record_worker_events(tx, events)
        except BaseException:
            self._events = (events + self._events)[:KEPT_MAX]
            raise
        return len(events)
