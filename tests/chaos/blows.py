"""When what is hit: a function of the seed, told in shares of the jobs that are over: a slow machine is hit as well."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    WORKERS = "worker process killed"
    REPLICA = "replica killed"
    STALL = "worker process stopped for longer than a lease lives"
    TAKE_OVER = "worker process stopped, its names taken over, continued"
    CONNECTIONS = "all database connections cut"


# Neither before the drain has begun, nor when there is nothing left to hurt.
EARLIEST, LATEST = 0.03, 0.92


@dataclass(frozen=True, slots=True)
class Blow:
    at: float
    kind: Kind
    target: float  # from 0 to 1: which of those there are


def plan_blows(seed: str, kills: int) -> list[Blow]:
    """`kills` SIGKILLs, one in ten of a replica; and some blows that kill nobody."""
    chance = random.Random(f"{seed}/blows")
    kinds = [*_kills(kills), *_others(kills)]
    blows = [Blow(chance.uniform(EARLIEST, _latest(kind, kinds)), kind, chance.random()) for kind in kinds]
    return sorted(blows, key=lambda blow: blow.at)


def _latest(kind: Kind, kinds: list[Kind]) -> float:
    """What a dying replica was about to settle is due again after half a minute, in which more should happen."""
    return LATEST - 0.5 / kinds.count(kind) if kind in (Kind.REPLICA, Kind.CONNECTIONS) else LATEST


def _kills(kills: int) -> Iterator[Kind]:
    of_replicas = max(1, kills // 10)
    yield from [Kind.REPLICA] * of_replicas
    yield from [Kind.WORKERS] * (kills - of_replicas)


def _others(kills: int) -> Iterator[Kind]:
    each = max(1, kills // 20)
    yield from [Kind.STALL, Kind.TAKE_OVER, Kind.CONNECTIONS] * each
