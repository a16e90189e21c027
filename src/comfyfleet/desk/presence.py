"""When each worker was last heard of. Noted in memory, written for all of them every few seconds."""

import time

from comfyfleet import fleet
from comfyfleet.db import Database
from comfyfleet.fleet import Sighting
from comfyfleet.kernel.ids import WorkerId

FLUSH_EVERY_S = 5.0


class Presence:
    def __init__(self, central: Database) -> None:
        self._central = central
        self._seen: dict[WorkerId, tuple[float, int]] = {}

    def note(self, worker_id: WorkerId, *, current_load: int) -> None:
        self._seen[worker_id] = (time.monotonic(), current_load)

    async def flush(self) -> int:
        seen, self._seen = self._seen, {}
        if not seen:
            return 0
        now = time.monotonic()
        sightings = [Sighting(worker_id, now - at, load) for worker_id, (at, load) in sorted(seen.items())]
        try:
            async with self._central.control_tx() as tx:
                await fleet.touch_workers(tx, sightings)
        except BaseException:
            self._seen = seen | self._seen
            raise
        return len(sightings)
