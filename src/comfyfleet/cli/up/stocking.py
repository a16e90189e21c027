"""Which of the demo's effects the ComfyUI of `up` can run: it is asked, until it answers."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from comfyfleet.cli.up.first_start import furnish_effects
from comfyfleet.comfy.client import ComfyClient
from comfyfleet.demo.choose import Choice, choose_effects
from comfyfleet.house import House
from comfyfleet.kernel.durations import seconds_text
from comfyfleet.kernel.errors import FleetError

ASKED_WITHIN_S = 15.0
AGAIN_S = 3.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Asked:
    """`choice`: None while the server does not answer; `problem` says why."""

    choice: Choice | None = None
    problem: str | None = None


async def ask_server(url: str) -> Asked:
    try:
        async with asyncio.timeout(ASKED_WITHIN_S), ComfyClient(url) as client:
            devices = (await client.system_stats()).devices
            has_gpu = any(each.type != "cpu" for each in devices)
            return Asked(choose_effects(await client.object_info(), has_gpu=has_gpu))
    except FleetError as problem:
        return Asked(problem=problem.message)
    except TimeoutError:
        return Asked(problem=f"{url} did not answer within {seconds_text(ASKED_WITHIN_S)}")


async def stock_later(house: House, home: Path, url: str, *, tell: Callable[[Choice], None]) -> Choice:
    """Until it answers."""
    while True:
        asked = await ask_server(url)
        if asked.choice is not None:
            await furnish_effects(house, home, asked.choice)
            log.info("demo.effects_made", effects=[each.slug for each in asked.choice.effects])
            tell(asked.choice)
            return asked.choice
        await asyncio.sleep(AGAIN_S)
