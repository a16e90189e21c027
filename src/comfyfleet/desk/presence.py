"""When each worker was last heard of. Noted in memory, written for all of them every few seconds."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from comfyfleet import fleet
from comfyfleet.db import Database
from comfyfleet.fleet import Sighting
from comfyfleet.kernel.ids import WorkerId

FLUSH_EVERY_S = 5.0


class Presence:
    def __init__(self, central: Database, *, again_s: float) -> None:
        """`again_s`: a worker whose call is still open after so long is noted again."""
        self._central = central
        self._again_s = again_s
        self._seen: dict[WorkerId, tuple[float, int]] = {}
        self._open: dict[object, tuple[WorkerId, float, int]] = {}

    def note(self, worker_id: WorkerId, *, current_load: int) -> None:
        self._seen[worker_id] = (time.monotonic(), current_load)

    @contextmanager
    def calling(self, worker_id: WorkerId, *, current_load: int) -> Iterator[None]:
        """For a call that waits: a worker is there for as long as it lasts."""
        self.note(worker_id, current_load=current_load)
        call = object()
        self._open[call] = (worker_id, time.monotonic(), current_load)
        try:
            yield
        finally:
            del self._open[call]

    def _note_open(self) -> None:
        now = time.monotonic()
        for call, (worker_id, noted_at, load) in list(self._open.items()):
            if now - noted_at >= self._again_s:
                self.note(worker_id, current_load=load)
                self._open[call] = (worker_id, now, load)

    async def flush(self) -> int:
        self._note_open()
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
