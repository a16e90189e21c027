"""What runs make gets its thumbs before anybody asks: whoever opens a run in the morning finds it drawn.

Of runs whose jobs this process settled, and from memory alone: what a restart forgets is drawn when it is asked for.
"""

import asyncio
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog

from comfyfleet import pipelines, storage
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.ids import RunId, TenantId, id_at
from comfyfleet.storage import File

NAME = "draw_thumbs"
EVERY_S = 60.0
BATCH = 20
# It rests so many times as long as each picture took: a tenth of one core, and least of all when it is needed.
REST = 9.0
RUNS_MAX = 1_000
# Of a run that is heard of for the first time: what was made just now, by a clock that may differ.
BEFORE = timedelta(minutes=1)

log = structlog.get_logger()


@dataclass
class Drawing:
    """`wanted`: runs of which something was made. `_after`: how far each has been drawn."""

    house: House
    pool: str
    wanted: dict[RunId, TenantId] = field(default_factory=dict)
    _after: dict[RunId, UUID] = field(default_factory=dict)

    def want(self, tenant_id: TenantId, run_ids: Collection[RunId]) -> None:
        for run_id in run_ids:
            self._after.setdefault(run_id, id_at(datetime.now(UTC) - BEFORE))
            self.wanted[run_id] = tenant_id
        while len(self._after) > RUNS_MAX:
            oldest = next(iter(self._after))
            del self._after[oldest]
            self.wanted.pop(oldest, None)

    async def tick(self) -> int:
        """So many of each run, then the others have their turn."""
        wanted, self.wanted = self.wanted, {}
        more = False
        for run_id, tenant_id in wanted.items():
            async with self.house.pool(self.pool).tenant_tx(tenant_id, read_only=True) as tx:
                found = await pipelines.list_pictures(tx, run_id, after=self._after.get(run_id), rows=BATCH)
            for candidate_id, file in found:
                await self._draw(file)
                if run_id in self._after:
                    self._after[run_id] = candidate_id
            if len(found) == BATCH:
                self.wanted[run_id], more = tenant_id, True
        return BATCH if more else 0

    async def _draw(self, file: File) -> None:
        began = time.monotonic()
        try:
            if file.disk == self.house.store.disk and not await storage.has_thumb(self.house.store, file):
                await storage.read_thumb(self.house.store, self.house.prober, file)
        except FleetError as problem:
            log.info("thumbs.not_drawn", file_id=str(file.id), problem=problem.message)
        await asyncio.sleep(REST * (time.monotonic() - began))
