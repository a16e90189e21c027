"""Whether each server is there. Connectors tell, nobody is asked in a loop; timers run only in a grace or a rest."""

import asyncio
from collections.abc import Callable
from functools import partial

import structlog

from comfyfleet.kernel.errors import FleetError
from comfyfleet.pool.events import ClientState, PoolEvent
from comfyfleet.pool.model import ServerState
from comfyfleet.pool.roster import Member, rest_s

REFUSED = "it does not run: its port refuses connections"

log = structlog.get_logger()


class Presence:
    def __init__(
        self,
        *,
        grace_s: float,
        now: Callable[[], float],
        chance: Callable[[], float],
        tell: Callable[[PoolEvent], None],
        ready: Callable[[], None],
    ) -> None:
        self._grace_s = grace_s
        self._now = now
        self._chance = chance
        self._tell = tell
        self._ready = ready
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._seen: set[str] = set()  # servers that have been online before

    def follow(self, member: Member) -> None:
        member.unfollow = member.connector.follow(partial(self._heard, member))
        if member.connector.online:
            self._heard(member, True)

    def leave(self, member: Member) -> None:
        """It gets no more jobs; those it has go on."""
        self._stop_timer(member)
        self._change(member, ServerState.LEAVING, None)

    def remove(self, member: Member) -> None:
        member.unfollow()
        self._seen.discard(member.name)
        self._change(member, ServerState.OFFLINE, "removed")

    def rest(self, member: Member, problem: str) -> None:
        """It failed at something that is not the job's fault. It gets no job for a while, a longer one each time."""
        member.trouble_count += 1
        if member.state in (ServerState.ONLINE, ServerState.RECOVERING):
            self._recover(member, rest_s(member.trouble_count, chance=self._chance()), problem)

    async def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        for task in tuple(self._asking):
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    def _heard(self, member: Member, online: bool) -> None:
        if member.state is ServerState.LEAVING:
            return
        if not online:
            self._stop_timer(member)
            self._change(member, ServerState.OFFLINE, REFUSED if member.connector.refused else "no connection")
        elif member.state in (ServerState.CONNECTING, ServerState.OFFLINE):
            self._came(member)

    def _came(self, member: Member) -> None:
        member.uploads.forget()
        task = asyncio.create_task(self._describe(member))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)
        if member.name in self._seen and self._grace_s > 0:
            self._recover(member, self._grace_s, "back; not for long yet")
        else:
            self._seen.add(member.name)
            self._set_online(member)

    def _recover(self, member: Member, wait_s: float, problem: str) -> None:
        self._stop_timer(member)
        member.ready_at = self._now() + wait_s
        self._timers[member.name] = asyncio.get_running_loop().call_later(wait_s, self._set_online, member)
        self._change(member, ServerState.RECOVERING, problem)

    def _set_online(self, member: Member) -> None:
        self._stop_timer(member)
        member.ready_at = min(member.ready_at, self._now())
        self._change(member, ServerState.ONLINE, None)
        self._ready()

    def _stop_timer(self, member: Member) -> None:
        timer = self._timers.pop(member.name, None)
        if timer is not None:
            timer.cancel()

    def _change(self, member: Member, state: ServerState, problem: str | None) -> None:
        before, was, member.state, member.problem = member.state, member.problem, state, problem
        if state is before and (problem == was or state is not ServerState.OFFLINE):
            return
        if state is ServerState.OFFLINE and problem != "removed":
            log.warning("pool.server_offline", server=member.name, problem=problem)
        self._tell(ClientState(member.name, self._now(), state, before, problem))

    async def _describe(self, member: Member) -> None:
        """What card it has matters to a job that ran out of memory; without an answer all are alike."""
        try:
            member.facts = await member.connector.describe()
        except FleetError as error:
            log.info("pool.server_not_described", server=member.name, problem=error.message)
