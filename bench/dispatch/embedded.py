"""The same lease on SQLite, with nothing else waiting and with a million rows."""

import asyncio
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.dispatch.engine import open_verbs
from bench.dispatch.ground import Ground
from bench.dispatch.growth import LANES, WARM_UP, Cost, time_leases, typical
from bench.dispatch.stock import COLUMNS
from comfyfleet.db import open_database
from comfyfleet.db.migrate import CENTRAL_HISTORY, upgrade
from comfyfleet.kernel.ids import LaneId

NOW, TOMORROW = "2026-01-01T00:00:00.000000Z", "2100-01-01T00:00:00.000000Z"
LANE_ROWS = """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
INSERT INTO lanes (id, workflow_id, structure_hash, provider, priority)
SELECT i, printf('%032x', i), 'structure-' || i, 'self_hosted', 0 FROM n"""
ROWS = f"""WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)
INSERT INTO ai_job_dispatches ({COLUMNS})
SELECT printf('%012x70008000%012x', i, i), printf('%032x', 1), printf('%012x70008000%012x', i, i), 'main',
 printf('%032x', i % :lanes + 1), 'self_hosted', i % :lanes + 1, 'queued', 0, i, i, 0, 3, 0, 20, 0, 3600.0,
 '{NOW}', '{TOMORROW}', '{NOW}' FROM n"""
PAYLOADS = """WITH RECURSIVE n(i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)
INSERT INTO dispatch_payloads (dispatch_id, payload)
SELECT printf('%012x70008000%012x', i, i), x'7b7d' FROM n"""


@dataclass
class EmbeddedQueue:
    """A SQLite file in which so many rows wait beyond those that will be leased."""

    path: Path
    written: int = 0

    @classmethod
    async def prepare(cls, ground: Ground, name: str, waiting: int) -> "EmbeddedQueue":
        template = ground.folder / "template.sqlite"
        if not template.exists():
            database = open_database("central", f"sqlite:///{template}")
            await upgrade(database, CENTRAL_HISTORY)
            await database.close()
        queue = cls(Path(shutil.copy(template, ground.folder / f"{name}.sqlite")))
        with queue._open() as connection:
            connection.execute(LANE_ROWS, (LANES,))
        if waiting:
            await asyncio.to_thread(queue._add, waiting)
        return queue

    async def measure(self, leases: int) -> Cost:
        """As many rows are added as will be leased: the backlog stays what it is. The CPU is this process's own."""
        await asyncio.to_thread(self._add, leases + WARM_UP)
        lanes = [LaneId(number) for number in range(1, LANES + 1)]
        async with open_verbs(f"sqlite:///{self.path}") as verbs:
            await time_leases(verbs, lanes, WARM_UP)
            return typical(await time_leases(verbs, lanes, leases, cpu=lambda: time.process_time() * 1000))

    def _add(self, rows: int) -> None:
        facts = {"first": self.written + 1, "last": self.written + rows, "lanes": LANES}
        self.written += rows
        with self._open() as connection:
            connection.execute(ROWS, facts)
            connection.execute(PAYLOADS, facts)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            yield connection
