"""Asks for work while there is room for it: one call at a time, and the next as soon as something has changed."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from uuid import uuid4

import structlog

from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import FleetError, LeaseLost
from comfyfleet.wire import worker_v1 as wire
from comfyfleet.worker.control import CallRefused, ControlUnreachable, insist
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
# As long as a lease lives that nobody has confirmed: afterwards it is not ours to give back.
GIVE_BACK_S = 15.0
GIVE_BACK_AGAIN_S = 0.5
DRAINED_AGAIN_S = 2.0
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
    """`lacks_room`: why nothing may be taken ahead now; None: it may. `on_draining`: an operator wants us gone.
    `is_drained`: we were drained before we came, and ask only whether that has ended."""

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
        self._tried = 0
        self._problem: str | None = None  # of the latest poll
        self._poll_id = str(uuid4())
        self._asked = False  # under this id, and the answer was not heard
        self._hung_up_at_last = False
        self.is_drained = False

    def takes_no_work(self) -> str | None:
        """The reason, in words for who runs the worker. None: it asks for work, or has all that it can run."""
        if self._stopping:
            return "it leaves"
        if not self._tools.servers.slots:
            unwell = "; ".join(f"{name}: {problem}" for name, problem in self._tools.servers.unwell.items())
            return f"no server is ready ({unwell})" if unwell else "no server has answered yet"
        if self._problem is not None:
            return f"its polls fail: {self._problem}"
        if self.is_drained:
            return "an operator drained it: it gets nothing until it is approved again"
        return None

    def stop(self) -> None:
        self._stopping = True
        self._under_way.changed.set()

    async def run(self) -> None:
        """Until it is stopped. Raises Superseded."""
        while not self._stopping:
            if self._asked and self._wanted() is None:
                await self._return_what_was_granted()
            elif (wish := await self._wish()) is not None:
                await self._ask(wish)
        self._hung_up_at_last = self._asked
        with suppress(TimeoutError):
            async with asyncio.timeout(GIVE_BACK_S):
                while self._asked:
                    await self._return_what_was_granted()

    async def _ask(self, wish: Wish) -> None:
        try:
            job, hung_up = await self._poll(wish)
        except (ControlUnreachable, CallRefused) as problem:
            self._asked = True
            return await self._rest(problem)
        if job is None and self.is_drained and not hung_up:
            await self._pause(DRAINED_AGAIN_S)
        elif job is None and not hung_up and self._asked_s < QUICK_S:
            # A server that stops sends everybody away at once.
            await asyncio.sleep(QUICK_S * (1.0 + random.random()))  # noqa: S311
        if hung_up:
            self._asked, self._tried = True, 0
            return None
        self._next_poll()
        return await self._begin(job) if job is not None else None

    def _next_poll(self) -> None:
        """One that was hung up, or whose reply was lost, is sent again under the same id: what was granted meanwhile
        comes then."""
        self._asked, self._tried = False, 0
        if not self._stopping:  # the last one may be asked for once more
            self._poll_id = str(uuid4())

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

    async def _poll(self, wish: Wish) -> tuple[wire.Job | None, bool]:
        """The job, and whether we hung up. We hardly ever do: a job that is granted at that moment is passed around."""
        wait_s = self._wait_s if wish.is_idle else min(self._wait_s, AHEAD_WAIT_S)
        began = time.monotonic()
        said = self._said(wish, wait_s)
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
            self._problem = None
            self._news.heard(said.capabilities)
            self._asked_s = time.monotonic() - began
            if reply.draining:
                self._on_draining()
            else:
                self.is_drained = False
            return reply.job, False
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    def _said(self, wish: Wish, wait_s: float) -> wire.Poll:
        return wire.Poll(
            worker_id=self._tools.control.session.worker_id,
            providers=list(wish.providers),  # type: ignore[arg-type]
            current_load=wish.load,
            max_concurrency=max(1, wish.slots),
            uploading=wish.uploading,
            capabilities=self._news.unheard(),
            wait_seconds=wait_s,
            poll_id=self._poll_id,
            warm=list(self._tools.servers.warm)[:WARM_MAX],
            # Every place is asked for when its type and size are known.
            wants_output_url="wants_output_url" not in self._tools.control.session.takes,
            tells_begin="tells_begin" in self._tools.control.session.takes,
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
            await asyncio.sleep(ROOM_AGAIN_S)
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
            async with asyncio.timeout(GIVE_BACK_S):
                await insist(lambda: self._tools.control.requeue(said), what="requeue")
        except LeaseLost:
            pass  # whoever granted it saw us hang up, and has taken it back
        except (FleetError, TimeoutError) as problem:
            log.warning("poll.not_given_back", problem=str(problem) or "nobody answered")

    async def _return_what_was_granted(self) -> None:
        """The worker leaves, or its servers have gone: nothing is wanted any more. A lease whose reply nobody read
        would run out, and cost an attempt."""
        wish = Wish(tuple(self._tools.servers.slots) or ("self_hosted",), 1, self._under_way.load, 0)
        try:
            job = (await self._tools.control.poll(self._said(wish, 0.0))).job
        except ControlUnreachable as problem:
            return await (asyncio.sleep(GIVE_BACK_AGAIN_S) if self._stopping else self._rest(problem))
        except CallRefused:
            return self._next_poll()
        self._next_poll()
        if job is not None and job.dispatch_id not in self._under_way:
            await self._give_back(job, "the worker leaves" if self._stopping else "its servers have gone")
        return None

    async def return_what_came_late(self) -> None:
        """After it was stopped."""
        if self._hung_up_at_last:
            await self._return_what_was_granted()

    async def _rest(self, problem: FleetError) -> None:
        self._tried += 1
        self._problem = problem.message
        tried = self._tried
        self._tools.telemetry.polled(answered=False)
        log.warning("poll.unanswered", tried=tried, problem=problem.message)
        wait_s = backoff_s(tried, chance=random.random(), base_s=RETRY_FIRST_S, ceiling_s=RETRY_MAX_S)  # noqa: S311
        if isinstance(problem, CallRefused):
            wait_s = REFUSED_S
        elif isinstance(problem, ControlUnreachable):
            wait_s = max(wait_s, min(problem.retry_after_s or 0.0, 60.0))
        await self._pause(wait_s)

    async def _pause(self, wait_s: float) -> None:
        """No longer than until it is stopped."""
        ends = time.monotonic() + wait_s
        while not self._stopping and (left_s := ends - time.monotonic()) > 0:
            self._under_way.changed.clear()
            try:
                async with asyncio.timeout(left_s):
                    await self._under_way.changed.wait()
            except TimeoutError:
                return
