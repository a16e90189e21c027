"""So many at the same time, and of one owner half of them at most: whoever takes long keeps nobody else waiting."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from uuid import UUID
from weakref import WeakValueDictionary


class Turns:
    """Of one process."""

    def __init__(self, at_once: int) -> None:
        self._all = asyncio.Semaphore(at_once)
        self._each = max(1, at_once // 2)
        # An owner is remembered as long as it has a turn, or waits for one.
        self._own: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def take(self, owner: UUID | None, *, within_s: float) -> AsyncIterator[None]:
        """Raises TimeoutError if none is free in this time. Without an owner it counts against nobody's half."""
        async with AsyncExitStack() as held:
            async with asyncio.timeout(within_s):
                if owner is not None:
                    await held.enter_async_context(self._of(owner))
                await held.enter_async_context(self._all)
            yield

    def _of(self, owner: UUID) -> asyncio.Semaphore:
        own = self._own.get(owner)
        if own is None:
            own = self._own[owner] = asyncio.Semaphore(self._each)
        return own
