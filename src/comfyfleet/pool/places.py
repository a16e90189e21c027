"""Places on servers, for whoever steers its prompts itself: the pool's presence and choice, without its queue.

A place is taken before a prompt is posted and given up when it has ended. A server has a few of them: one prompt runs,
the next stands behind it.
"""

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.model import ServerFacts
from comfyfleet.pool.choose import Candidate, choose
from comfyfleet.pool.events import ClientState, PoolEvent
from comfyfleet.pool.model import QueuedJob, ServerState, ServerView
from comfyfleet.pool.presence import Presence
from comfyfleet.pool.roster import Member, Roster
from comfyfleet.pool.servers import DEPTH, GivenServer, open_server


@dataclass(eq=False, slots=True)
class Place:
    server: str
    connector: Connector
    _give_up: Callable[["Place"], None]

    def give_up(self) -> None:
        """Twice does no harm."""
        self._give_up(self)


@dataclass(eq=False, slots=True)
class _Waiter:
    structure_hash: str
    provider: str
    found: "asyncio.Future[Place]"


class Places:
    def __init__(
        self,
        servers: Sequence[GivenServer],
        *,
        depth: int = DEPTH,
        reconnect_grace_s: float = 2.0,
        now: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """`changed` is called whenever a server comes, goes, or is put aside."""
        self._given = tuple(servers)
        self._depth = depth
        self._now = now
        self._changed = changed
        self._roster = Roster()
        self._presence = Presence(
            grace_s=reconnect_grace_s, now=now, chance=chance, tell=self._heard, ready=self._serve_all
        )
        self._taken: dict[str, set[Place]] = {}
        self._aside: dict[str, str] = {}
        self._waiters: list[_Waiter] = []
        self._turns = 0
        self._last: dict[str, tuple[int, str]] = {}  # turn and structure, by server

    def open(self) -> None:
        """Connects; servers that are not there yet may come later. From now on the connectors are ours to close."""
        for given in self._given:
            server = open_server(given, depth=self._depth)
            member = self._roster.add(server.connector, name=server.name, depth=server.depth)
            self._taken[server.name] = set()
            self._presence.follow(member)

    async def close(self) -> None:
        for waiter in self._waiters:
            waiter.found.cancel()
        await self._presence.close()
        for member in self._roster:
            member.unfollow()
        await asyncio.gather(*(member.connector.close() for member in self._roster))

    # ── places ──

    async def take(self, structure_hash: str, *, provider: str) -> Place:
        """Waits until a server has one; who came first is served first."""
        waiter = _Waiter(structure_hash, provider, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        self._serve_all()
        try:
            return await waiter.found
        except asyncio.CancelledError:
            if waiter.found.done() and not waiter.found.cancelled():
                waiter.found.result().give_up()
            raise
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def take_back(self, server: str, structure_hash: str) -> Place:
        """For a prompt that is on that server already, whether it is full, there, or well. Raises NotFound."""
        return self._seat(self._roster[server], structure_hash)

    def _serve_all(self) -> None:
        for waiter in tuple(self._waiters):
            member = self._find(waiter)
            if member is not None and not waiter.found.done():
                self._waiters.remove(waiter)
                waiter.found.set_result(self._seat(member, waiter.structure_hash))
        self._changed()

    def _find(self, waiter: _Waiter) -> Member | None:
        job = QueuedJob("", {}, waiter.structure_hash, "")
        fitting = [self._candidate(each) for each in self._roster if each.connector.provider == waiter.provider]
        name = choose(job, fitting, ran_last_on=None, skips=self._is_aside, now=self._now())
        return None if name is None else self._roster[name]

    def _candidate(self, member: Member) -> Candidate:
        turn, last_hash = self._last.get(member.name, (0, None))
        return replace(member.candidate(), load=len(self._taken[member.name]), last_chosen=turn, last_hash=last_hash)

    def _seat(self, member: Member, structure_hash: str) -> Place:
        place = Place(member.name, member.connector, self._vacate)
        self._taken[member.name].add(place)
        self._turns += 1
        self._last[member.name] = (self._turns, structure_hash)
        return place

    def _vacate(self, place: Place) -> None:
        if place in self._taken.get(place.server, ()):
            self._taken[place.server].discard(place)
            self._serve_all()

    def _is_aside(self, server: str, _structure_hash: str) -> bool:
        return server in self._aside

    # ── servers ──

    def put_aside(self, server: str, problem: str) -> None:
        """It gets no more prompts until it has gone and come back: a process that is broken does not heal."""
        if server not in self._aside:
            self._aside[server] = problem
            self._changed()

    @property
    def aside(self) -> Mapping[str, str]:
        return self._aside

    def rest(self, server: str, problem: str) -> None:
        """It failed at something that was not the prompt's fault: it gets none for a while, longer each time."""
        self._presence.rest(self._roster[server], problem)

    def did_well(self, server: str) -> None:
        self._roster[server].trouble_count = 0

    def connector(self, server: str) -> Connector | None:
        return self._roster[server].connector if server in self._roster else None

    def facts(self, server: str) -> ServerFacts | None:
        return self._roster[server].facts

    @property
    def views(self) -> tuple[ServerView, ...]:
        """A server that was put aside is shown as recovering."""
        return tuple(self._view(member) for member in self._roster)

    def _view(self, member: Member) -> ServerView:
        view = replace(member.view(), load=len(self._taken[member.name]))
        problem = self._aside.get(member.name)
        if problem is None or view.state is ServerState.OFFLINE:
            return view
        return replace(view, state=ServerState.RECOVERING, problem=problem)

    @property
    def warm(self) -> tuple[str, ...]:
        """The structures that servers ran last: their models are loaded."""
        return tuple({last_hash for _, last_hash in self._last.values()})

    def _heard(self, event: PoolEvent) -> None:
        if isinstance(event, ClientState):
            if event.state is ServerState.OFFLINE:
                self._aside.pop(event.server, None)
                self._last.pop(event.server, None)
            self._changed()
