"""Open streams would keep a server from stopping: they watch this, and end when it is set."""

import asyncio


class Stopping:
    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def attach(self) -> None:
        """Called in the server's event loop, before the first request."""
        self._loop = asyncio.get_running_loop()

    def announce(self) -> None:
        """Safe from a signal handler."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self) -> None:
        """Until the server is stopping."""
        await self._event.wait()

    async def pause(self, seconds: float) -> bool:
        """Wait; True if the server is stopping."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        return True
