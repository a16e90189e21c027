"""What runs beside the requests, as this edge sees it: it starts it, wakes it, and stops it."""

from typing import Protocol


class Background(Protocol):
    def start(self) -> None: ...

    def wake(self, name: str, *, pool: str | None = None) -> None:
        """There is work now for the loop of this name. Nothing is lost without it: the loop looks by itself."""

    async def stop(self) -> None: ...
