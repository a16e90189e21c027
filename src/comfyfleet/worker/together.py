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
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
