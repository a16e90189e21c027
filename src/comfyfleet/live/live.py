"""Live events of one process: what its workers report, who reads here, and the other processes. Owned by the house."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec
import structlog

from comfyfleet.db import Database
from comfyfleet.fleet import FleetRules
from comfyfleet.kernel.errors import DatabaseUnavailable, LimitReached
from comfyfleet.kernel.ids import JobId, RunId, TenantId, UserId, new_id
from comfyfleet.kernel.secret import Secret
from comfyfleet.live.actions import Actions
from comfyfleet.live.hub import Hub
from comfyfleet.live.link import Link
from comfyfleet.live.model import OFFERS, PEOPLE, PROGRESS, SCALING, WALLET, Followed, Progress, Replica
from comfyfleet.live.outbox import Outbox, Send
from comfyfleet.live.progress import says_the_same, standing
from comfyfleet.live.replicas import ReplicaSigner, announce_replica, remove_replica
from comfyfleet.live.states import States
from comfyfleet.live.subscription import Subscription

ANNOUNCE_EVERY_S = 2.0
LOOK_EVERY_S = 1.0
PASSED_WITHIN_S = 0.25
CAUGHT_UP_WITHIN_S = 1.0
ASKED_WITHIN_S = 0.25
STREAMS_PER_USER_MAX = 20
RETRY_AFTER_S = 5

log = structlog.get_logger()
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker said of a job."""

    job_id: JobId
    kind: str
    data: bytes  # JSON
    ago_s: float = 0.0


class Live:
    def __init__(
        self,
        central: Database,
        pools: Mapping[str, Database],
        *,
        url: str,
        signing_key: Secret,
        fleet_rules: FleetRules,
    ) -> None:
        self.central, self.pools = central, pools
        self.me = Replica(new_id(), url)
        self.signer = ReplicaSigner(signing_key)
        self.hub = Hub(self.me.origin)
        self.hub.on_interest = self._tell_interest
        self.states = States(central, pools, rules=fleet_rules, tell=self.hub.tell_state)
        self.actions = Actions(central, self.hub)
        self._links: dict[UUID, tuple[Link, asyncio.Task[None]]] = {}
        self._outboxes: set[Outbox] = set()
        self._readers: dict[Subscription, UserId] = {}
        self._chores: list[asyncio.Task[None]] = []

    # ── what comes in ──

    async def publish(self, reports: Sequence[Report]) -> None:
        """Back when they have reached all who read them, here and elsewhere, or a moment has passed.

        A worker sends its next report after the answer to this one, perhaps to another process: so they stay in order.
        """
        ears = set()
        for report in reports:
            ears |= self.hub.report(report.job_id, report.kind, report.data, ago_s=report.ago_s)
        prompt = [box for box in self._outboxes if box in ears and box.is_prompt]
        if not prompt:
            return
        arrivals = {box.arrival(): box for box in prompt}
        _, late = await asyncio.wait(arrivals, timeout=PASSED_WITHIN_S)
        for arrival in late:
            arrivals[arrival].is_prompt = False

    def taken(self, job_id: JobId, *, attempt: int) -> None:
        """A worker has it. What an earlier attempt said of its progress does not hold any more."""
        if attempt > 1:
            self.hub.report(job_id, PROGRESS, _encode({"fraction": 0.0, "attempt": attempt}))
        self.changed(job_id)

    def note_progress(self, job_id: JobId, data: Mapping[str, Any]) -> bool:
        """Said with a heartbeat: nobody waits until it has arrived. False: that was known already."""
        log = self.hub.logs.get(job_id)
        if log is not None and says_the_same(log.latest.get(PROGRESS), data["fraction"], data["node"]):
            return False
        self.hub.report(job_id, PROGRESS, _encode(data))
        return True

    def changed(self, job_id: JobId, *, user_id: UserId | None = None) -> None:
        """A job was made, began or ended. Nothing is lost without this: those who watch look every two seconds."""
        self.hub.changed([job_id] if user_id is None else [job_id, user_id])
        self.states.hint(job_id)

    def credited(self, user_id: UserId) -> None:
        """Whoever looks at this wallet looks again."""
        self.hub.report(user_id, WALLET, _encode({}))
        self.people_changed()

    def workers_changed(self) -> None:
        """A worker came or left, or has other weights or nodes: those who look at effects, here and at other replicas,
        look again."""
        self.hub.changed([OFFERS])

    def scaling_changed(self) -> None:
        """A fleet's scaling was decided anew, or its machines changed: operators who look at it look again."""
        self.hub.changed([SCALING])

    def people_changed(self) -> None:
        """Operators who look at tenants, their users and their wallets look again."""
        self.hub.changed([PEOPLE])

    def delivered(self, tenant_id: TenantId) -> None:
        """A webhook of this tenant went out, or failed to: whoever looks at its deliveries looks again."""
        self.hub.changed([tenant_id])

    def changed_runs(self, run_ids: Collection[RunId], *, user_id: UserId | None = None) -> None:
        """Something of these runs may be new. `user_id`: whose, of one that was made just now."""
        self.hub.changed(run_ids if user_id is None else [*run_ids, user_id])

    def _hear_hint(self, topic: UUID) -> None:
        self.hub.hear_hint(topic)
        self.states.hint(JobId(topic))

    # ── who reads ──

    @contextmanager
    def reading(self, reader: Subscription, user_id: UserId) -> Iterator[Subscription]:
        """For as long as the stream lasts."""
        self._readers[reader] = user_id
        try:
            yield reader
        finally:
            del self._readers[reader]
            for topic in list(reader.topics):
                self.unfollow(reader, JobId(topic))

    @contextmanager
    def noticing(self, notices: Mapping[UUID, str]) -> Iterator[Subscription]:
        """For a reader who follows no job."""
        reader = Subscription(notices=notices)
        for topic in notices:
            self.hub.listen(reader, topic)
        try:
            yield reader
        finally:
            for topic in notices:
                self.hub.leave(reader, topic)

    def require_room(self, user_id: UserId) -> None:
        """Raises LimitReached: one user's streams must not be everybody's memory."""
        if sum(owner == user_id for owner in self._readers.values()) >= STREAMS_PER_USER_MAX:
            raise LimitReached(retry_after_s=RETRY_AFTER_S)

    def follow(self, reader: Subscription, job: Followed) -> None:
        if job.job_id not in reader.topics:
            self.states.follow(job)
            self.hub.listen(reader, job.job_id)

    def unfollow(self, reader: Subscription, job_id: JobId) -> None:
        if job_id in reader.topics:
            self.states.unfollow(job_id)
            self.hub.leave(reader, job_id)

    def _tell_interest(self, topic: UUID, wanted: bool) -> None:
        for link, _ in self._links.values():
            link.want(topic, wanted)

    async def catch_up(self, *, within_s: float = CAUGHT_UP_WITHIN_S) -> None:
        """Until the others have sent what they know of what is watched here; not for long."""
        awaited = [future for link, _ in self._links.values() if (future := link.catch_up()) is not None]
        if awaited:
            await asyncio.wait(awaited, timeout=within_s)

    def knows(self, origin: str) -> bool:
        """Is this process here, or can it be asked?"""
        open_links = (other for other, (link, _) in self._links.items() if link.is_open)
        return origin == self.me.origin or any(Replica(other, "").origin == origin for other in open_links)

    async def progress_of(self, job_ids: Collection[JobId]) -> dict[JobId, Progress]:
        """How far running jobs are, whichever process their workers report to. Lives in memory only: after a restart
        nothing is known until they report again."""
        if not job_ids:
            return {}
        reader = Subscription(previews=False, kinds=frozenset())
        try:
            for job_id in job_ids:
                self.hub.listen(reader, job_id)
            await self.catch_up(within_s=ASKED_WITHIN_S)
        finally:
            for job_id in job_ids:
                self.hub.leave(reader, job_id)
        logs = {job_id: log for job_id in job_ids if (log := self.hub.logs.get(job_id)) is not None}
        return {job_id: found for job_id, log in logs.items() if (found := standing(log.latest)) is not None}

    # ── other processes ──

    def open_outbox(self, send: Send) -> Outbox:
        box = Outbox(self.hub, send)
        self._outboxes.add(box)
        return box

    def close_outbox(self, box: Outbox) -> None:
        box.close()
        self._outboxes.discard(box)

    @property
    def links_open(self) -> int:
        return sum(link.is_open for link, _ in self._links.values())

    async def meet(self) -> None:
        """Be seen, and see who else is there. One that left is forgotten with its row; its link ends by itself."""
        async with self.central.control_tx() as tx:
            others = {other.id: other for other in await announce_replica(tx, self.me)}
        for gone in [each for each, (link, _) in self._links.items() if each not in others and not link.is_open]:
            await self._part(gone)
        for other in others.values():
            if other.id not in self._links:
                link = Link(self.hub, self.me, other, self.signer, on_hint=self._hear_hint)
                self._links[other.id] = (link, asyncio.create_task(link.run(), name=f"live link {other.id}"))

    async def _part(self, replica_id: UUID) -> None:
        _, task = self._links.pop(replica_id)
        await _end(task)

    # ── while the server runs ──

    def start(self) -> None:
        self._chores = [
            asyncio.create_task(self.states.run(), name="live states"),
            asyncio.create_task(_always(self.actions.look_if_wanted, every_s=LOOK_EVERY_S), name="live actions"),
        ]
        if self._has_company:
            self._chores.append(asyncio.create_task(_always(self.meet, every_s=ANNOUNCE_EVERY_S), name="live replicas"))

    @property
    def _has_company(self) -> bool:
        """The processes that share a PostgreSQL share their events. A SQLite file has one server."""
        return self.central.engine.dialect.name == "postgresql"

    def close_streams(self) -> None:
        """The server stops: all who read are told, and go elsewhere."""
        for reader in self._readers:
            reader.close()

    async def stop(self) -> None:
        self.close_streams()
        for task in self._chores:
            await _end(task)
        met = self._has_company and bool(self._chores)
        self._chores = []
        for other in list(self._links):
            await self._part(other)
        if met:
            with suppress(DatabaseUnavailable):
                async with self.central.control_tx() as tx:
                    await remove_replica(tx, self.me)


async def _always(act: Callable[[], Awaitable[None]], *, every_s: float) -> None:
    """Until it is cancelled."""
    while True:
        try:
            await act()
        except DatabaseUnavailable as problem:
            log.warning("live.put_off", what=act.__name__, problem=str(problem))
        except Exception:
            log.exception("live.failed", what=act.__name__)
        await asyncio.sleep(every_s)


async def _end(task: "asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
