"""Upkeep that other replicas do: they are called, and nothing is lost where they do not hear it."""

from dataclasses import dataclass

from comfyfleet.desk import Desk
from comfyfleet.upkeep.loop import Upkeep


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """`own`: loops over what only this process knows."""

    desk: Desk
    own: Upkeep

    def start(self) -> None:
        self.own.start()

    def wake(self, name: str, *, pool: str | None = None) -> None:
        self.desk.call(name, pool)

    async def stop(self) -> None:
        await self.own.stop()
