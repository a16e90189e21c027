"""The parts. Each is a module with `figures(quick)`, plain or async, that gives numbers by name."""

import importlib
import inspect
from collections.abc import Awaitable, Callable
from typing import cast

import uvloop

PARTS = ("hashing", "frames", "pool")
Figures = dict[str, float | None]


def measure_part(name: str, *, quick: bool) -> Figures:
    module = importlib.import_module(f"bench.comfy.{name}")
    measure = cast(Callable[[bool], Figures | Awaitable[Figures]], module.figures)
    found = measure(quick)
    return uvloop.run(_awaited(found)) if inspect.isawaitable(found) else found


async def _awaited(found: Awaitable[Figures]) -> Figures:
    return await found
