"""Measurements side by side."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from rich.progress import Progress

T = TypeVar("T")
Measure = Callable[[], Awaitable[T]]


async def interleaved(
    progress: Progress, what: str, measures: Mapping[str, Measure[T]], *, repetitions: int
) -> dict[str, list[T]]:
    """Each in turn, over and over, there and back: what disturbs the machine disturbs all of them."""
    found: dict[str, list[T]] = defaultdict(list)
    task = progress.add_task(what, total=repetitions * len(measures))
    for repetition in range(repetitions):
        names = list(measures) if repetition % 2 == 0 else list(measures)[::-1]
        for name in names:
            progress.update(task, description=f"{what}: {name}")
            found[name].append(await measures[name]())
            progress.advance(task)
    progress.update(task, description=what)
    return found
