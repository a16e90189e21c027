"""Turns are shared: nobody has more than half of them, and none is lost."""

import asyncio
import gc
from contextlib import AsyncExitStack
from uuid import uuid4

import pytest

from comfyfleet.kernel.turns import Turns


async def test_one_owner_has_half_of_them_and_another_finds_the_rest_free() -> None:
    turns, mine, yours = Turns(4), uuid4(), uuid4()
    async with AsyncExitStack() as held:
        for owner in (mine, mine, yours, yours):
            await held.enter_async_context(turns.take(owner, within_s=5))
        for owner in (mine, yours, uuid4(), None):
            with pytest.raises(TimeoutError):
                await held.enter_async_context(turns.take(owner, within_s=0.01))
    # Who gave up has taken nothing along, and nobody is remembered.
    async with turns.take(mine, within_s=5), turns.take(mine, within_s=5):
        pass
    gc.collect()
    assert len(turns._own) == 0


async def test_who_is_called_off_while_it_waits_gives_back_what_it_had() -> None:
    turns, mine = Turns(2), uuid4()

    async def hold() -> None:
        async with turns.take(mine, within_s=60):
            await asyncio.Event().wait()

    async with turns.take(None, within_s=5), turns.take(None, within_s=5):
        waiting = asyncio.ensure_future(hold())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    async with turns.take(mine, within_s=5):
        pass
