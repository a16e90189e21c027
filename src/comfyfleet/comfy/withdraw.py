"""Taking one prompt of ours off a server, and nobody else's."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from comfyfleet.comfy.health import DEFAULT_PATIENCE, Patience, Reads, look_for
from comfyfleet.comfy.model import Absent, Finished, Found, HistoryEntry, Pending, QueueState, Running
from comfyfleet.kernel.errors import FleetError

FIRST_PAUSE_S = 0.1
PAUSE_MAX_S = 2.0
# Whatever a request ends in but an answer: unreachable, too slow, garbage, refused by something in front of the server.
TROUBLE = (FleetError, TimeoutError)


class Server(Reads, Protocol):
    async def delete_pending(self, prompt_ids: Sequence[str]) -> None:
        """Off the queue, if it is pending. Of two that share an id, one."""
        ...

    async def interrupt(self, prompt_id: str) -> None:
        """Only if this prompt is the one that runs. Never whatever happens to run."""
        ...


class TimedServer:
    """A limit on every request. What takes longer is a `TimeoutError`, whatever the transport thinks of it."""

    def __init__(self, server: Server, *, request_s: float) -> None:
        self._server = server
        self._request_s = request_s

    async def queue(self) -> QueueState:
        async with asyncio.timeout(self._request_s):
            return await self._server.queue()

    async def history(self, prompt_id: str) -> HistoryEntry | None:
        async with asyncio.timeout(self._request_s):
            return await self._server.history(prompt_id)

    async def delete_pending(self, prompt_ids: Sequence[str]) -> None:
        async with asyncio.timeout(self._request_s):
            await self._server.delete_pending(prompt_ids)

    async def interrupt(self, prompt_id: str) -> None:
        async with asyncio.timeout(self._request_s):
            await self._server.interrupt(prompt_id)


def pause_s(attempt: int) -> float:
    """An interruption can get lost when the prompt is just starting: repeat it, but without haste."""
    return min(PAUSE_MAX_S, FIRST_PAUSE_S * 2.0 ** min(attempt, 10))


async def press(server: Server, prompt_id: str, found: Found) -> None:
    """One push. Whether it worked, the next look tells."""
    with suppress(*TROUBLE):
        match found:
            case Pending():
                await server.delete_pending([prompt_id])
            case Running():
                await server.interrupt(prompt_id)
            case Finished() | Absent():
                pass


async def withdraw(server: Server, prompt_id: str, *, patience: Patience = DEFAULT_PATIENCE) -> Found | None:
    """Delete or interrupt until the server has let go. `Finished` and `Absent` are confirmed; anything else is how it
    stood when patience ended, None: the server did not answer at all."""
    timed = TimedServer(server, request_s=patience.request_s)
    clock = asyncio.get_running_loop()
    give_up_at_s = clock.time() + patience.stop_s
    found: Found | None = None
    attempt = 0
    while True:
        with suppress(*TROUBLE):
            found = (await look_for(timed, prompt_id)).found
        if isinstance(found, Finished | Absent) or clock.time() >= give_up_at_s:
            return found
        if found is not None:
            await press(timed, prompt_id, found)
        await asyncio.sleep(pause_s(attempt))
        attempt += 1
