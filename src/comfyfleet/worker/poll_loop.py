"""Asks for work while there is room for it: one call at a time, and the next as soon as something has changed."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from uuid import uuid4

import structlog

from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import FleetError, LeaseLost
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.control import CallRefused, ControlUnreachable
from comfyfleet.worker.failpoints import reached
from comfyfleet.worker.journal import Entry
from comfyfleet.worker.news import News
from comfyfleet.worker.tools import Tools
from comfyfleet.worker.under_way import UnderWay

RETRY_FIRST_S = 0.2
RETRY_MAX_S = 10.0
REFUSED_S = 30.0
# Whoever looks ahead stands there as one that is busy: not for long after that has changed.
AHEAD_WAIT_S = 2.0
ROOM_AGAIN_S = 2.0
QUICK_S = 0.1
WARM_MAX = 100

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Wish:
    """What the next poll asks for. Equal wishes are one poll."""

    providers: tuple[str, ...]
    slots: int
    load: int
    uploading: int

    @property
    def is_idle(self) -> bool:
        return self.load < self.slots


def wish_for(slots: Mapping[str, int], loads: Mapping[str, int], *, uploading: int, lease_ahead: int) -> Wish | None:
    """Of those providers that have room. None: nothing is wanted. Pure."""
    idle = tuple(sorted(each for each in slots if loads.get(each, 0) < slots[each]))
    room = tuple(sorted(each for each in slots if loads.get(each, 0) < slots[each] + lease_ahead))
    providers = idle or room
    if not providers:
        return None
    return Wish(providers, slots=sum(slots.values()), load=sum(loads.values()), uploading=uploading)


class PollLoop:
    """`lacks_room`: why nothing may be taken ahead now; None: it may. `on_draining`: an operator wants us gone."""

    def __init__(
        self,
        tools: Tools,
        under_way: UnderWay,
        *,
        lease_ahead: int,
        wait_s: float,
        news: News,
        lacks_room: Callable[[], Awaitable[str | None]],
        on_draining: Callable[[], None],
    ) -> None:
        self._tools = tools
        self._under_way = under_way
        self._lease_ahead = lease_ahead
        self._wait_s = wait_s
        self._news = news
        self._lacks_room = lacks_room
        self._told_room: str | None = None
        self._on_draining = on_draining
        self._stopping = False
        self._asked_s = 0.0

    def stop(self) -> None:
        self._stopping = True
        self._under_way.changed.set()

    async def run(self) -> None:
        """Until it is stopped. Raises Superseded."""
        tried = 0
        poll_id, asked = str(uuid4()), False
        while not self._stopping:
            if asked and self._wanted() is None:
                problem = await self._return_what_was_granted(poll_id)
                if problem is None:
                    poll_id, asked, tried = str(uuid4()), False, 0
                else:
                    tried += 1
                    await self._rest(problem, tried)
                continue
            wish = await self._wish()
            if wish is None:
                continue
            try:
                job, asked = await self._poll(wish, poll_id)
            except (ControlUnreachable, CallRefused) as problem:
                asked, tried = True, tried + 1
                await self._rest(problem, tried)
                continue
            tried = 0
            if job is None and not asked and self._asked_s < QUICK_S:
                # A server that stops sends everybody away at once.
                await asyncio.sleep(QUICK_S * (1.0 + random.random()))  # noqa: S311
            if asked:  # hung up: what was granted meanwhile comes again under the same id
                continue
            poll_id = str(uuid4())
            if job is not None:
                await self._begin(job)
        if asked:
            await self._return_what_was_granted(poll_id)

    async def _wish(self) -> Wish | None:
        """Waits for a change where nothing is wanted."""
        self._under_way.changed.clear()
        wish = self._wanted()
        if wish is not None and not wish.is_idle and await self._is_full():
            wish = None
        if wish is None and not self._stopping:
            try:
                async with asyncio.timeout(ROOM_AGAIN_S if self._told_room else None):
                    await self._under_way.changed.wait()
            except TimeoutError:
                pass
        return wish

    def _wanted(self) -> Wish | None:
        if self._stopping:
            return None
        slots = self._tools.servers.slots
        loads = {provider: len(self._under_way.of(provider)) for provider in slots}
        lease_ahead = self._lease_ahead if self._under_way.may_look_ahead else 0
        return wish_for(slots, loads, uploading=self._under_way.uploading, lease_ahead=lease_ahead)

    async def _is_full(self) -> bool:
        problem = await self._lacks_room()
        if problem is not None and problem != self._told_room:
            log.warning("poll.no_room_ahead", problem=problem)
        self._told_room = problem
        return problem is not None

    async def _poll(self, wish: Wish, poll_id: str) -> tuple[wire.Job | None, bool]:
        """The job, and whether we hung up. We hardly ever do: a job that is granted at that moment is passed around."""
        wait_s = self._wait_s if wish.is_idle else min(self._wait_s, AHEAD_WAIT_S)
        began = time.monotonic()
        said = self._said(wish, poll_id, wait_s)
        asking = asyncio.create_task(self._tools.control.poll(said))
        try:
            while not asking.done():
                changed = asyncio.create_task(self._under_way.changed.wait())
                await asyncio.wait({asking, changed}, return_when=asyncio.FIRST_COMPLETED)
                changed.cancel()
                self._under_way.changed.clear()
                if not asking.done() and self._wanted() is None:
                    return None, True
            self._tools.telemetry.polled(answered=asking.exception() is None)
            reply = asking.result()
            self._news.heard(said.capabilities)
            self._asked_s = time.monotonic() - began
            if reply.draining:
                self._on_draining()
            return reply.job, False
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    def _said(self, wish: Wish, poll_id: str, wait_s: float) -> wire.Poll:
        return wire.Poll(
            worker_id=self._tools.control.session.worker_id,
            providers=list(wish.providers),  # type: ignore[arg-type]
            current_load=wish.load,
            max_concurrency=max(1, wish.slots),
            uploading=wish.uploading,
            capabilities=self._news.unheard(),
            wait_seconds=wait_s,
            poll_id=poll_id,
            warm=list(self._tools.servers.warm)[:WARM_MAX],
        )

    async def _begin(self, job: wire.Job) -> None:
        reached("polled")
        if job.dispatch_id in self._under_way:
            return  # the reply to a poll that was sent again
        entry = Entry(job=job, leased_at=time.time())
        try:
            await self._tools.journal.write(entry)
        except OSError as problem:
            log.error("journal.not_written", problem=str(problem))
            await self._give_back(job, "the worker's disk does not take its journal")
            return
        reached("leased")
        self._under_way.begin(entry)

    async def _give_back(self, job: wire.Job, reason: str) -> None:
        said = wire.Requeue(
            worker_id=self._tools.control.session.worker_id,
            dispatch_id=job.dispatch_id,
            lease_token=job.lease_token,
            reason=reason,
        )
        try:
            await self._tools.control.requeue(said)
        except LeaseLost:
            pass  # whoever granted it saw us hang up, and has taken it back
        except FleetError as problem:
            log.warning("poll.not_given_back", problem=problem.message)
        await asyncio.sleep(ROOM_AGAIN_S)

    async def _return_what_was_granted(self, poll_id: str) -> FleetError | None:
        """The last poll was hung up, or its reply lost, and nothing is wanted any more: the worker leaves, or its
        servers are gone. A lease whose reply nobody read would run out, and cost an attempt. Why it could not be
        asked for."""
        wish = Wish(tuple(self._tools.servers.slots) or ("self_hosted",), 1, self._under_way.load, 0)
        try:
            job = (await self._tools.control.poll(self._said(wish, poll_id, 0.0))).job
        except FleetError as problem:
            return problem
        if job is not None and job.dispatch_id not in self._under_way:
            await self._give_back(job, "the worker leaves" if self._stopping else "its servers have gone")
        return None

    async def _rest(self, problem: FleetError, tried: int) -> None:
        self._tools.telemetry.polled(answered=False)
        if tried in (1, 10) or tried % 60 == 0:
            log.warning("poll.unanswered", tried=tried, problem=problem.message)
        wait_s = backoff_s(tried, chance=random.random(), base_s=RETRY_FIRST_S, ceiling_s=RETRY_MAX_S)  # noqa: S311
        if isinstance(problem, CallRefused):
            wait_s = REFUSED_S
        elif isinstance(problem, ControlUnreachable):
            wait_s = max(wait_s, min(problem.retry_after_s or 0.0, 60.0))
        ends = time.monotonic() + wait_s
        while not self._stopping and (left_s := ends - time.monotonic()) > 0:
            self._under_way.changed.clear()
            try:
                async with asyncio.timeout(left_s):
                    await self._under_way.changed.wait()
            except TimeoutError:
                return
