"""An event loop whose time stands still while anything can be done, and leaps to the next timer when nothing can."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _LeapingSelector(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise RuntimeError("Nothing is left that could ever happen: a wait without an end.")
        self.now_s += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._leaping = _LeapingSelector()
        super().__init__(self._leaping)

    def time(self) -> float:
        return self._leaping.now_s


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Hours in milliseconds. Real sockets and threads have no place in it."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
