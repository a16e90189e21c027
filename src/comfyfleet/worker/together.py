"""Several things at once, of which the first failure is the failure of all."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def together(*wanted: Awaitable[T]) -> list[T]:
    """In their order. Comes back, or raises, only when none of them runs any more."""
    tasks = [asyncio.ensure_future(each) for each in wanted]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        await end(*tasks)
        raise


async def end(*tasks: asyncio.Future[T]) -> None:
    """Cancelled, and over: whoever is cancelled while waiting for that waits on, and is cancelled then."""
    was_cancelled = False
    for task in tasks:
        task.cancel()
    while left := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(left)
        except asyncio.CancelledError:
            was_cancelled = True
    for task in tasks:
        if not task.cancelled():
            task.exception()  # seen
    if was_cancelled:
        raise asyncio.CancelledError
