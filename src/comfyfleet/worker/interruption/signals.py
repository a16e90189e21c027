"""SIGTERM and SIGINT: the first drains, the second leaves at once, the third is the system's."""

import asyncio
import signal
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

import structlog

from comfyfleet.worker.interruption.model import Notice

WATCHED = (signal.SIGTERM, signal.SIGINT)

log = structlog.get_logger()


class Signals:
    def __init__(self, tell: Callable[[Notice], None], *, drain_s: float) -> None:
        self._tell = tell
        self._drain_s = drain_s
        self._came = 0

    def __enter__(self) -> Self:
        loop = asyncio.get_running_loop()
        for each in WATCHED:
            loop.add_signal_handler(each, partial(self._hear, each))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._let_go()

    def _hear(self, which: signal.Signals) -> None:
        self._came += 1
        name = which.name.lower()
        log.info("worker.signal", signal=name, count=self._came)
        if self._came > 1:
            self._let_go()
            self._tell(Notice(name, seconds_left=0.0))
        else:
            self._tell(Notice(name, seconds_left=self._drain_s))

    def _let_go(self) -> None:
        for each in WATCHED:
            asyncio.get_running_loop().remove_signal_handler(each)
