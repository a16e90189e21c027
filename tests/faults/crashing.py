"""A process that dies at a given point: every commit of its databases has one before it and one after it.

What happens inside a transaction needs no point of its own: it is undone together with the rest.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from comfyfleet.db import Database
from comfyfleet.desk import Desk
from comfyfleet.house import House


class Crash(BaseException):
    """Not an `Exception`: nobody who tidies up after errors may meet it."""


@dataclass
class Fuse:
    """Blows at the so-many-eth point. What was passed until then, the last one included, can be read."""

    at: int | None = None
    passed: list[str] = field(default_factory=list)

    def meet(self, point: str) -> None:
        self.passed.append(point)
        if self.at == len(self.passed) - 1:
            raise Crash(point)

    @property
    def blown(self) -> bool:
        return self.at is not None and len(self.passed) > self.at


@dataclass(frozen=True)
class CrashingDatabase(Database):
    fuse: Fuse = field(default_factory=Fuse)

    @asynccontextmanager
    async def _begin(self, *, read_only: bool) -> AsyncIterator[AsyncConnection]:
        async with super()._begin(read_only=read_only) as connection:
            yield connection
            if not read_only:
                self.fuse.meet(f"{self.name}, before its commit")
        if not read_only:
            self.fuse.meet(f"{self.name}, after its commit")


def crashing(house: House, fuse: Fuse) -> House:
    """The same house, in a process that dies when the fuse blows."""

    def doomed(database: Database) -> Any:
        return CrashingDatabase(database.name, database.engine, database.clock_offset_s, fuse)

    central = doomed(house.central)
    pools = {name: doomed(pool) for name, pool in house.pools.items()}
    return replace(
        house, central=central, pools=pools, desk=Desk(central, signer=house.leases, rules=house.queue_rules)
    )
