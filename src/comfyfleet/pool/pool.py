"""Many ComfyUI servers as one: give it graphs, it finds the servers.

    Pool ── submit ──► queue ──► Router (which job, which server) ──► Attempt (on that server)
      ▲                  ▲                                                │
      └── result, events └──────── judge (complete, retry, give up) ◄─────┘

Nothing is polled: the routing loop sleeps until a job, a server or the end of a block wakes it.
"""

import asyncio
import random
import time
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import structlog

from comfyfleet.comfy.graph.load import Source
from comfyfleet.kernel.errors import AlreadyExists
from comfyfleet.pool.blocks import Blocks
from comfyfleet.pool.conduct import Conductor
from comfyfleet.pool.errors import PoolClosed
from comfyfleet.pool.events import PoolEvent
from comfyfleet.pool.failover import FailoverStrategy, SmartFailover
from comfyfleet.pool.inputs import GivenInput
from comfyfleet.pool.model import Job, JobResult, NodeInput, PoolState, QueuedJob, ServerView
from comfyfleet.pool.prepare import prepare_job
from comfyfleet.pool.presence import Presence
from comfyfleet.pool.queue import MemoryQueue, QueueAdapter
from comfyfleet.pool.roster import Member, Roster
from comfyfleet.pool.run import JobHandle
from comfyfleet.pool.servers import DEPTH, GivenServer, open_server
from comfyfleet.pool.subscribe import BUFFER, Feed, Subscription, Told, Where

log = structlog.get_logger()

GRACE_S = 60.0  # what runs may take this long to end when a pool closes

ROUTE_AGAIN_S = 1.0

Finish = Literal["running", "all"]


class Pool:
    """`async with Pool(["http://a:8188", "http://b:8188"]) as pool: result = await pool.run(graph)`."""

    def __init__(
        self,
        servers: Sequence[GivenServer] = (),
        *,
        strategy: FailoverStrategy | None = None,
        queue: QueueAdapter | None = None,
        state_path: Path | str | None = None,
        blocks_by: str | None = None,
        outputs: Path | str | None = None,
        depth: int = DEPTH,
        attempts_max: int = 3,
        deadline_s: float = 3600.0,
        reconnect_grace_s: float = 2.0,
        now: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`outputs`: the folder for all jobs' files, one folder each in it; without it results are references.

        `state_path`: a file that keeps the blocks over a restart. `blocks_by`: a key of the jobs' metadata, `tenant_id`
        say: a pair that fails for one of its values is blocked for that value only.
        """
        self._given = tuple(servers)
        self._blocks_by = blocks_by
        self._depth = depth
        self._attempts_max = attempts_max
        self._deadline_s = deadline_s
        self._now = now
        self._feed = Feed()
        self._roster = Roster()
        self._queue = queue or MemoryQueue()
        self._blocks = Blocks(
            strategy or SmartFailover(),
            path=None if state_path is None else Path(state_path),
            now=now,
            tell=self._feed.tell,
            lifted=self._wake,
        )
        self._presence = Presence(
            grace_s=reconnect_grace_s, now=now, chance=chance, tell=self._tell_of_server, ready=self._wake
        )
        self._conductor = Conductor(
            queue=self._queue,
            roster=self._roster,
            blocks=self._blocks,
            presence=self._presence,
            feed=self._feed,
            outputs=None if outputs is None else Path(outputs),
            now=now,
            chance=chance,
            freed=self._wake,
        )
        self._awake = asyncio.Event()
        self._routing: asyncio.Task[None] | None = None
        self._open = False
        self._stopping = False
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> "Pool":
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(grace_s=GRACE_S if kind is None else 0.0)

    async def open(self) -> None:
        await self._blocks.open()
        self._queue.attach(self._wake)
        self._open = True
        try:
            for given in self._given:
                await self.add_server(given)
        except BaseException:
            await self.close(grace_s=0.0)
            raise
        self._routing = asyncio.create_task(self._route(), name="pool routing")
        self._wake()

    async def close(self, *, finish: Finish = "running", grace_s: float = GRACE_S) -> tuple[QueuedJob, ...]:
        """Takes no more jobs, lets those that run finish for `grace_s`, and gives back the rest.

        `finish="all"` runs what waits, too. What an in-memory queue is left with comes back; other queues keep it.
        """
        if not self._open:
            return ()
        self._open = False
        if finish == "all":
            await self._conductor.drained()
        await self._stop_routing()
        left = await self._conductor.close(grace_s=grace_s)
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._presence.close()
        await asyncio.gather(*(self._disconnect(member) for member in self._roster))
        await self._blocks.close()
        self._feed.close()
        return left

    async def run(
        self,
        graph: Source,
        *,
        priority: int = 0,
        metadata: Mapping[str, Any] | None = None,
        inputs: Mapping[NodeInput, GivenInput] | None = None,
        output_node: str | None = None,
        save_to: Path | str | None = None,
        servers: Collection[str] | None = None,
        deadline_s: float | None = None,
        attempts_max: int | None = None,
    ) -> JobResult:
        """Runs it somewhere, and comes back with its result. Cancelling the caller cancels the job."""
        handle = await self.submit(
            graph,
            priority=priority,
            metadata=metadata,
            inputs=inputs,
            output_node=output_node,
            save_to=save_to,
            servers=servers,
            deadline_s=deadline_s,
            attempts_max=attempts_max,
        )
        try:
            return await handle.result()
        except asyncio.CancelledError:
            self._spawn(self.cancel(handle.id, reason="its caller was cancelled"))
            raise

    async def submit(
        self,
        graph: Source,
        *,
        priority: int = 0,
        metadata: Mapping[str, Any] | None = None,
        inputs: Mapping[NodeInput, GivenInput] | None = None,
        output_node: str | None = None,
        save_to: Path | str | None = None,
        servers: Collection[str] | None = None,
        deadline_s: float | None = None,
        attempts_max: int | None = None,
    ) -> JobHandle:
        """Queues it. `graph`: API format, as a mapping, JSON text, or a file's path. `inputs`: files for (node, input).

        `servers`: the names of those it may run on.
        """
        self._check_open()
        job = await prepare_job(
            graph,
            priority=priority,
            metadata=metadata,
            inputs=inputs,
            output_node=output_node,
            save_to=None if save_to is None else Path(save_to),
            servers=servers,
            deadline_s=self._deadline_s if deadline_s is None else deadline_s,
            attempts_max=self._attempts_max if attempts_max is None else attempts_max,
            now=self._now(),
            blocks_by=self._blocks_by,
        )
        self._check_open()
        return JobHandle(await self._conductor.accept(job), self)

    async def cancel(self, job_id: str, *, reason: str = "asked for") -> bool:
        """Comes back when it is over. False: it had ended, or it completed before the server heard of it."""
        return await self._conductor.cancel(job_id, reason=reason)

    def events(
        self, *names: str, job_id: str | None = None, where: Where | None = None, buffer: int = BUFFER
    ) -> Subscription:
        """All events from now on, or those named. A reader that is too slow loses the oldest: `dropped_count`."""
        subscription = self._feed.subscribe(names, job_id=job_id, where=where, buffer=buffer)
        if job_id is not None and not self._conductor.knows(job_id):
            subscription.close()
        return subscription

    def on(self, name: str, told: Told) -> Callable[[], None]:
        """Calls `told(event)` for each event of that name. What comes back ends it."""
        return self._feed.on(name, told)

    async def add_server(self, given: GivenServer) -> ServerView:
        self._check_open()
        server = open_server(given, depth=self._depth)
        try:
            member = self._roster.add(server.connector, name=server.name, depth=server.depth)
        except AlreadyExists:
            await server.connector.close()
            raise
        self._presence.follow(member)
        return member.view()

    async def remove_server(self, name: str, *, grace_s: float = GRACE_S) -> None:
        """It gets no more jobs. Those it has may finish within `grace_s`; then they are run elsewhere."""
        member = self._roster[name]
        self._presence.leave(member)
        await self._conductor.clear_out(member, grace_s=grace_s)
        if name in self._roster and self._roster[name] is member:  # somebody else may have been quicker
            self._roster.remove(name)
            self._presence.remove(member)
            self._blocks.forget_server(name)
            await self._disconnect(member)

    @property
    def servers(self) -> tuple[ServerView, ...]:
        return tuple(member.view() for member in self._roster)

    @property
    def state(self) -> PoolState:
        """Servers and jobs at this moment, with what each job waits for."""
        return PoolState(self.servers, self.jobs)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """Those that wait or run."""
        return self._conductor.jobs()

    async def drained(self) -> None:
        """Comes back when nothing waits and nothing runs."""
        await self._conductor.drained()

    async def _route(self) -> None:
        while not self._stopping:
            await self._awake.wait()
            self._awake.clear()
            try:
                while not self._stopping and await self._conductor.start_next():
                    pass
                self._look_again(self._conductor.level())
                await self._conductor.look_at_those_that_wait()
            except Exception:
                # A queue of somebody else's that does not answer: it is asked again, and not in a hurry.
                log.exception("pool.routing_failed")
                self._look_again(ROUTE_AGAIN_S)

    def _look_again(self, wait_s: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if wait_s is None else asyncio.get_running_loop().call_later(wait_s, self._wake)

    async def _stop_routing(self) -> None:
        self._stopping = True
        self._look_again(None)
        self._wake()
        if self._routing is not None:
            await asyncio.wait([self._routing], timeout=ROUTE_AGAIN_S)
            self._routing.cancel()
            await asyncio.gather(self._routing, return_exceptions=True)

    async def _disconnect(self, member: Member) -> None:
        member.unfollow()
        await member.uploads.close()
        await member.connector.close()

    def _tell_of_server(self, event: PoolEvent) -> None:
        self._feed.tell(event)
        self._wake()  # a job may have waited for it

    def _wake(self) -> None:
        self._awake.set()

    def _check_open(self) -> None:
        if not self._open:
            raise PoolClosed

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
