"""The servers of a pool: who is there, how much each has to do, what each did last."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.model import ServerFacts
from comfyfleet.kernel.backoff import backoff_s
from comfyfleet.kernel.errors import AlreadyExists, NotFound
from comfyfleet.pool.attempt import Attempt
from comfyfleet.pool.choose import Candidate
from comfyfleet.pool.inputs import Uploads
from comfyfleet.pool.model import QueuedJob, ServerState, ServerView

REST_CEILING_S = 60.0
RAN_LAST_MAX = 10_000  # structures whose last server is remembered
COLLECTING_MAX = 4  # jobs of one server whose files are on their way while it runs others


@dataclass(slots=True, eq=False)
class Member:
    """One server. Only the pool changes it."""

    name: str
    connector: Connector
    depth: int
    uploads: Uploads
    state: ServerState = ServerState.CONNECTING
    problem: str | None = None
    ready_at: float = 0.0
    trouble_count: int = 0  # failures in a row that were the server's or the network's
    last_hash: str | None = None
    last_chosen: int = 0
    facts: ServerFacts | None = None
    attempts: set[Attempt] = field(default_factory=set)
    collecting: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(COLLECTING_MAX))
    quiet: asyncio.Event = field(default_factory=asyncio.Event)  # set: no attempt is under way
    unfollow: Callable[[], None] = lambda: None

    def candidate(self) -> Candidate:
        return Candidate(
            self.name,
            self.state,
            load=len(self.attempts),
            depth=self.depth,
            ready_at=self.ready_at,
            last_hash=self.last_hash,
            last_chosen=self.last_chosen,
            vram_total_bytes=self.facts.vram_total_bytes if self.facts else 0,
        )

    def view(self) -> ServerView:
        return ServerView(
            self.name,
            self.connector.provider,
            self.state,
            load=len(self.attempts),
            depth=self.depth,
            vram_total_bytes=self.facts.vram_total_bytes if self.facts else 0,
            version=self.facts.version if self.facts else None,
            problem=self.problem,
        )


class Roster:
    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._ran_last: OrderedDict[str, str] = OrderedDict()
        self._turns = 0

    def __iter__(self) -> Iterator[Member]:
        return iter(tuple(self._members.values()))

    def __getitem__(self, name: str) -> Member:
        try:
            return self._members[name]
        except KeyError:
            raise NotFound("server", name) from None

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def add(self, connector: Connector, *, name: str, depth: int) -> Member:
        if name in self._members:
            raise AlreadyExists("server", name)
        member = Member(name, connector, depth, Uploads(connector))
        member.quiet.set()
        self._members[name] = member
        return member

    def remove(self, name: str) -> None:
        del self._members[name]

    def candidates(self) -> list[Candidate]:
        return [member.candidate() for member in self._members.values()]

    def ran_last_on(self, structure_hash: str) -> str | None:
        return self._ran_last.get(structure_hash)

    def hosts(self, job: QueuedJob) -> set[str]:
        """The servers a job may run on, now or soon."""
        gone = (ServerState.OFFLINE, ServerState.LEAVING)
        return {
            member.name
            for member in self._members.values()
            if member.state not in gone and (job.servers is None or member.name in job.servers)
        }

    def occupy(self, member: Member, attempt: Attempt) -> None:
        self._turns += 1
        member.last_chosen = self._turns
        member.last_hash = attempt.job.structure_hash
        member.attempts.add(attempt)
        member.quiet.clear()
        self._ran_last[attempt.job.structure_hash] = member.name
        self._ran_last.move_to_end(attempt.job.structure_hash)
        while len(self._ran_last) > RAN_LAST_MAX:
            self._ran_last.popitem(last=False)

    def vacate(self, member: Member, attempt: Attempt) -> None:
        member.attempts.discard(attempt)
        if not member.attempts:
            member.quiet.set()


def rest_s(trouble_count: int, *, chance: float) -> float:
    """A server that fails at once would draw all jobs to itself, being always free: it rests, longer each time."""
    return backoff_s(trouble_count, chance=chance, base_s=1.0, ceiling_s=REST_CEILING_S)
