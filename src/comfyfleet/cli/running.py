"""How a command reaches the verbs: settings, a house, an event loop."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from comfyfleet.api.logs import configure_logs
from comfyfleet.bootstrap import open_house, require_current_schema
from comfyfleet.house import House
from comfyfleet.settings import load_settings

T = TypeVar("T")


def in_house(work: Callable[[House], Awaitable[T]], *, any_schema: bool = False) -> T:
    """Open the house, check that its databases fit this code, do the work, close it again.

    Only what brings a schema along makes a house where there is none: a command in the wrong folder says so.
    """
    settings = load_settings()
    configure_logs(settings.log_format, "warning")

    async def opened() -> T:
        async with open_house(settings, makes_home=any_schema) as house:
            if not any_schema:
                await require_current_schema(house)
            return await work(house)

    return asyncio.run(opened())
