"""Which server a job goes to. Pure: all it needs to know comes in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from comfyfleet.pool.model import QueuedJob, ServerState

Skips: TypeAlias = Callable[[str, str], bool]  # server, structure hash
Warmth = Literal[0, 1, 2]


@dataclass(frozen=True, slots=True)
class Candidate:
    """`load` is what it has of us, `depth` how much it may have: the next prompt waits before the current one ends."""

    name: str
    state: ServerState
    load: int
    depth: int
    ready_at: float = 0.0  # the end of the grace after it came back
    last_hash: str | None = None  # the structure it was given last
    last_chosen: int = 0  # a counter: the longest unused goes first among equals
    vram_total_bytes: int = 0


def is_free(candidate: Candidate, *, now: float) -> bool:
    """Online, not busy, past the grace."""
    return candidate.state is ServerState.ONLINE and candidate.load < candidate.depth and candidate.ready_at <= now


def choose(
    job: QueuedJob, candidates: Iterable[Candidate], *, ran_last_on: str | None, skips: Skips, now: float
) -> str | None:
    """The best of the servers that may run it now; None: it waits.

    A server that is empty beats one that is warm, so that no server waits; among the equally loaded the warm one wins.
    """
    allowed = [each for each in candidates if may_run(job, each, skips=skips)]
    # A failed job waits for a server it has not failed on, if there is one, even when that one is busy now.
    fresh = [each for each in allowed if each.name not in job.failed_on]
    free = [each for each in fresh or allowed if is_free(each, now=now)]
    if not free:
        return None
    return min(free, key=lambda each: _rank(job, each, ran_last_on)).name


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job whose prompt stands in a server's own queue, behind another of ours."""

    job: QueuedJob
    server: str
    since: float


def pick_move(
    waiting: Iterable[Waiting], candidates: Iterable[Candidate], *, skips: Skips, now: float
) -> Waiting | None:
    """The prompt that a server with nothing to do could run instead: highest priority, then longest waiting."""
    empty = [each for each in candidates if each.load == 0 and is_free(each, now=now)]
    movable = [
        each
        for each in waiting
        if any(may_run(each.job, server, skips=skips) and server.name not in each.job.failed_on for server in empty)
    ]
    return min(movable, key=lambda each: (-each.job.priority, each.since), default=None)


def may_run(job: QueuedJob, candidate: Candidate, *, skips: Skips) -> bool:
    return (
        candidate.state is ServerState.ONLINE
        and (job.servers is None or candidate.name in job.servers)
        and candidate.name not in job.refused_by
        and not skips(candidate.name, job.block_key)
    )


def waits_for(job: QueuedJob, candidates: Iterable[Candidate], *, skips: Skips) -> str | None:
    """What keeps it from being started, in words. None: a server may run it, and it waits for its turn there."""
    named = [each for each in candidates if job.servers is None or each.name in job.servers]
    left = [each for each in named if each.name not in job.refused_by]
    if any(may_run(job, each, skips=skips) for each in left):
        return None
    if not left:
        return f"a server named {' or '.join(sorted(job.servers))}" if job.servers else "a server"
    if blocked := [each.name for each in left if each.state is ServerState.ONLINE]:
        return f"the end of its block on {', '.join(sorted(blocked))}"
    return "a server that is there: " + ", ".join(sorted(f"{each.name} is {each.state}" for each in left))


def warmth(job: QueuedJob, candidate: Candidate, ran_last_on: str | None) -> Warmth:
    """2: what it was given last has this structure, so models and caches are there. 1: it was the last to run it."""
    if candidate.last_hash == job.structure_hash:
        return 2
    return 1 if candidate.name == ran_last_on else 0


def _rank(job: QueuedJob, candidate: Candidate, ran_last_on: str | None) -> tuple[float, ...]:
    memory = -candidate.vram_total_bytes if job.wants_memory else 0
    return (memory, candidate.load, -warmth(job, candidate, ran_last_on), candidate.last_chosen)
