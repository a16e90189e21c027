"""Each replica says how its loops and its disks are, so that the one that watches the conditions sees them all."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from comfyfleet import notifications
from comfyfleet.house import House
from comfyfleet.metrics.disk import disk_space
from comfyfleet.upkeep.loop import Loop

NAME = "report_replica"
EVERY_S = 30.0
BATCH = 1_000_000  # one report a tick


@dataclass
class ReplicaReporter:
    """`loops`: those of this process, set when all are made."""

    house: House
    folders: Callable[[], Mapping[str, Path]]
    loops: Sequence[Loop] = ()

    async def tick(self) -> int:
        at = time.monotonic()
        loops: dict[str, tuple[float, float]] = {}
        for loop in self.loops:
            name = loop.name if loop.pool is None else f"{loop.name} of {loop.pool}"
            loops[name] = (at - loop.succeeded_at, loop.every_s)
        # A network file system that hangs must not hold up the event loop.
        disks = await asyncio.to_thread(self._disks)
        async with self.house.control_tx() as tx:
            await notifications.write_report(tx, self.house.live.me.url, loops=loops, disks=disks)
        return 1

    def _disks(self) -> dict[str, tuple[int, int]]:
        found = {place: disk_space(folder) for place, folder in self.folders().items()}
        return {place: space for place, space in found.items() if space is not None}
