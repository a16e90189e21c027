"""Workers that hold leases wait here to be told at once what else the next heartbeat would tell: a cancel, a drain."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from comfyfleet import dispatch
from comfyfleet.db import Database
from comfyfleet.desk.coalesce import Coalescer
from comfyfleet.dispatch import Holder
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.ids import DispatchId, WorkerId

Unwanted = frozenset[DispatchId]
NONE: Unwanted = frozenset()


class Listener:
    """One call of one worker. `heard`: what it was told before."""

    def __init__(self, holder: Holder, heard: Unwanted) -> None:
        self.holder, self.heard = holder, heard
        self.woken = asyncio.Event()
        self.is_over = False  # another call of the same worker took its place, or the server stops

    def end(self) -> None:
        self.is_over = True
        self.woken.set()

    async def wait(self, seconds: float) -> None:
        """Until there may be something to tell, or the time is over."""
        try:
            async with asyncio.timeout(seconds):
                await self.woken.wait()
        except TimeoutError:
            return
        self.woken.clear()


class Notices:
    """Holds no connection while somebody waits. A worker has one call open; a second one ends the first."""

    def __init__(self, central: Database) -> None:
        self._central = central
        self._listening: dict[WorkerId, Listener] = {}
        self._asked: Coalescer[Holder, Unwanted] = Coalescer(self._read)
        self._closed = False

    def __len__(self) -> int:
        return len(self._listening)

    @contextmanager
    def listen(self, holder: Holder, *, heard: Unwanted) -> Iterator[Listener]:
        """From before the first look, so that nothing falls in between."""
        if (before := self._listening.get(holder.worker_id)) is not None:
            before.end()
        mine = self._listening[holder.worker_id] = Listener(holder, heard)
        if self._closed:
            mine.end()
        try:
            yield mine
        finally:
            if self._listening.get(holder.worker_id) is mine:
                del self._listening[holder.worker_id]

    async def unwanted(self, listener: Listener) -> Unwanted:
        """Leases of its that somebody has cancelled, and that it has not heard of."""
        return await self._asked.ask(listener.holder) - listener.heard

    def wake(self, worker_id: WorkerId) -> None:
        if (listener := self._listening.get(worker_id)) is not None:
            listener.woken.set()

    async def look(self) -> None:
        """The truth, whatever hints were lost: cancelled by a process that could not tell us, say."""
        listening = list(self._listening.values())
        if not listening:
            return
        found = await self._unwanted_of([each.holder for each in listening])
        for listener in listening:
            if found.get(listener.holder.worker_id, NONE) - listener.heard:
                listener.woken.set()

    def close(self) -> None:
        """Those who wait go away, and whoever comes does not wait."""
        self._closed = True
        for listener in self._listening.values():
            listener.end()

    async def _read(self, holders: list[Holder]) -> list[Unwanted | FleetError]:
        found = await self._unwanted_of(holders)
        return [found.get(holder.worker_id, NONE) for holder in holders]

    async def _unwanted_of(self, holders: list[Holder]) -> dict[WorkerId, Unwanted]:
        async with self._central.control_tx(read_only=True) as tx:
            return await dispatch.unwanted_leases(tx, holders)
