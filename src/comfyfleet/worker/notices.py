"""While the worker holds leases, one call stays open that the control plane answers at once: a cancel, a drain.

The heartbeat tells the same, seconds later: nothing depends on this call, and a control plane without it is left alone.
"""

import asyncio
import random
import time
from collections.abc import Callable
from uuid import UUID

import structlog

from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.control import CallRefused, ControlClient, ControlUnreachable
from comfyfleet.worker.leases import LeaseBook, Word

WAIT_S = 25.0
QUICK_S = 0.5  # an answer that came sooner is no reason to ask again at once
REFUSED_S = 60.0
RETRY_FIRST_S, RETRY_MAX_S = 0.5, 10.0
HEARD_MAX = 1000

log = structlog.get_logger()


class NoticeLoop:
    """`answers` is set while a lease is held whose control plane answers this call."""

    def __init__(
        self,
        control: ControlClient,
        book: LeaseBook,
        *,
        is_leaving: Callable[[], bool],
        on_draining: Callable[[], None],
        wait_s: float = WAIT_S,
    ) -> None:
        self._control, self._book = control, book
        self._is_leaving, self._on_draining = is_leaving, on_draining
        self._wait_s = wait_s
        self._heard: set[UUID] = set()
        self._failures = 0
        self.answers = asyncio.Event()

    async def run(self) -> None:
        """Raises Superseded."""
        while True:
            await self.answers.wait()
            began = time.monotonic()
            try:
                reply = await self._control.notices(self._said())
            except ControlUnreachable:
                self._failures += 1
                chance = random.random()  # noqa: S311
                pause_s = backoff_s(self._failures, chance=chance, base_s=RETRY_FIRST_S, ceiling_s=RETRY_MAX_S)
            except CallRefused as refused:
                log.info("notices.refused", problem=refused.message)
                pause_s = REFUSED_S
            else:
                self._failures = 0
                self._pass_on(reply)
                pause_s = max(0.0, QUICK_S - (time.monotonic() - began))
            await asyncio.sleep(pause_s)

    def _said(self) -> wire.Notices:
        self._heard = {each for each in self._heard if each in self._book}
        return wire.Notices(
            worker_id=self._control.session.worker_id,
            wait_seconds=self._wait_s,
            heard=sorted(self._heard)[:HEARD_MAX],
            draining=self._is_leaving(),
        )

    def _pass_on(self, reply: wire.NoticesReply) -> None:
        for dispatch_id in reply.cancel_requested:
            self._book.tell(dispatch_id, Word.CANCEL)
            self._heard.add(dispatch_id)
        if reply.draining:
            self._on_draining()
