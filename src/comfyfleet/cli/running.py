"""How a command reaches the verbs: settings, a house, an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from comfyfleet.cli import shown_once
from comfyfleet.cli.late import Late

if TYPE_CHECKING:
    from comfyfleet import bootstrap, settings
    from comfyfleet.api import logs
    from comfyfleet.house import House
else:
    bootstrap = Late("comfyfleet.bootstrap")
    logs = Late("comfyfleet.api.logs")
    settings = Late("comfyfleet.settings")

T = TypeVar("T")


def in_house(work: Callable[[House], Awaitable[T]], *, any_schema: bool = False, makes_secret: bool = False) -> T:
    """Open the house, check that its databases fit this code, do the work, close it again.

    Only what brings a schema along makes a house where there is none: a command in the wrong folder says so.
    `makes_secret`: one that `shown_once` shows afterwards.
    """
    loaded = settings.load_settings()
    logs.configure_logs(loaded.log_format, "warning")

    async def opened() -> T:
        async with bootstrap.open_house(loaded, makes_home=any_schema) as house:
            if not any_schema:
                await bootstrap.require_current_schema(house)
            if makes_secret:
                shown_once.require_place(loaded)
            return await work(house)

    return asyncio.run(opened())
