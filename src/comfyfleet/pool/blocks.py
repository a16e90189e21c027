"""The failover strategy at work: its changes told, its timer set only while something is blocked, its state kept."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import structlog

from comfyfleet.comfy.model import FailureClass
from comfyfleet.pool.events import ClientBlockedWorkflow, ClientUnblockedWorkflow, PoolEvent
from comfyfleet.pool.failover import BlockChange, Blocked, FailoverStrategy
from comfyfleet.pool.keep import read_blocks, write_blocks
from comfyfleet.pool.model import unscoped

log = structlog.get_logger()

TIMER_FLOOR_S = 0.001  # the wall clock and the loop's may differ: never spin on a moment that will not quite come


class Blocks:
    def __init__(
        self,
        strategy: FailoverStrategy,
        *,
        path: Path | None,
        now: Callable[[], float],
        tell: Callable[[PoolEvent], None],
        lifted: Callable[[], None],
    ) -> None:
        self._strategy = strategy
        self._path = path
        self._now = now
        self._tell = tell
        self._lifted = lifted
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._unwritten = False
        self.changes = 0

    async def open(self) -> None:
        if self._path is not None:
            self._strategy.restore(await asyncio.to_thread(read_blocks, self._path), now=self._now())
        self._set_timer()

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._writing is not None:
            await self._writing

    def skips(self, server: str, structure_hash: str) -> bool:
        return self._strategy.skips(server, structure_hash, now=self._now())

    def record_failure(self, server: str, structure_hash: str, failure: FailureClass) -> None:
        self._apply(self._strategy.record_failure(server, structure_hash, failure, now=self._now()))

    def record_success(self, server: str, structure_hash: str) -> None:
        self._apply(self._strategy.record_success(server, structure_hash, now=self._now()))

    def forget_server(self, server: str) -> None:
        self._apply(self._strategy.forget_server(server))

    def _apply(self, changes: tuple[BlockChange, ...]) -> None:
        at = self._now()
        for change in changes:
            self._tell(_event(change, at))
        if changes:
            self.changes += 1
            self._set_timer()
            self._keep()
            self._lifted()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._strategy.next_expiry()
        if due is not None:
            wait_s = max(TIMER_FLOOR_S, due - self._now())
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._expire)

    def _expire(self) -> None:
        changes = self._strategy.expire(now=self._now())
        if changes:
            self._apply(changes)
        else:
            self._set_timer()

    def _keep(self) -> None:
        if self._path is None:
            return
        self._unwritten = True
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write(self._path))

    async def _write(self, path: Path) -> None:
        while self._unwritten:
            self._unwritten = False
            try:
                await asyncio.to_thread(write_blocks, path, self._strategy.dump())
            except OSError as error:
                log.warning("pool.blocks_not_kept", path=str(path), problem=str(error))


def _event(change: BlockChange, at: float) -> PoolEvent:
    structure_hash, scope = unscoped(change.structure_hash)
    if isinstance(change, Blocked):
        return ClientBlockedWorkflow(
            change.server, at, structure_hash, change.until, change.failure_count, change.failure, scope
        )
    return ClientUnblockedWorkflow(change.server, at, structure_hash, change.reason, scope)
