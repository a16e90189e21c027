"""What runs beside the requests, as this edge sees it: it starts it, wakes it, and stops it."""

from typing import Protocol

from fastapi import Request


class Background(Protocol):
    def start(self) -> None: ...

    def wake(self, name: str, *, pool: str | None = None) -> None:
        """There is work now for the loop of this name. Nothing is lost without it: the loop looks by itself."""

    async def stop(self) -> None: ...


def wake_relay(request: Request, pool: str) -> None:
    """A job was written: it need not wait for the relay's next round."""
    _wake(request, "relay_submissions", pool)


def wake_webhooks(request: Request, pool: str) -> None:
    """An event was written, or is to be sent again."""
    _wake(request, "deliver_webhooks", pool)


def wake_runs(request: Request, pool: str) -> None:
    """A run may have something to do."""
    _wake(request, "advance_runs", pool)


def wake_notifications(request: Request) -> None:
    """One was written for operators."""
    _wake(request, "deliver_notifications", None)


def _wake(request: Request, name: str, pool: str | None) -> None:
    background: Background | None = request.app.state.upkeep
    if background is not None:
        background.wake(name, pool=pool)
