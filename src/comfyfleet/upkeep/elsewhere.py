"""Upkeep that other replicas do: they are called, and nothing is lost where they do not hear it."""

from dataclasses import dataclass

from comfyfleet.desk import Desk


@dataclass(frozen=True, slots=True)
class Elsewhere:
    desk: Desk

    def start(self) -> None:
        """Nothing runs here."""

    def wake(self, name: str, *, pool: str | None = None) -> None:
        self.desk.call(name, pool)

    async def stop(self) -> None:
        """Nothing ran here."""
