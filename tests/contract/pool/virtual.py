"""A loop whose clock jumps to the next timer instead of waiting for it: minutes of cooldown take no time."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

STUCK_S = 20.0  # of real time, with nothing to do and no timer: a deadlock


class JumpingSelector(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000.0
        self.threads_count = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.threads_count:  # time stands still for them: they are not part of the story
            return super().select(0.05)
        if timeout is None:  # only a thread can wake the loop now
            ready = super().select(STUCK_S)
            if not ready:
                raise RuntimeError("everybody waits and nothing is due")
            return ready
        if timeout > 0:
            self.now += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> "asyncio.Future[T]":
        self._jumping.threads_count += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._thread_ended)
        return future

    def _thread_ended(self, _: object) -> None:
        self._jumping.threads_count -= 1


def run_virtual(story: Callable[[], Coroutine[Any, Any, T]]) -> T:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(story())


def loop_now() -> float:
    return asyncio.get_running_loop().time()
