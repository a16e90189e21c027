"""When what is hit: a function of the seed and of the time that it lasts."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    WORKER_KILLED = "worker killed, started again on its journal"
    WORKER_DRAINED = "worker told to leave, started again"
    ENGINE_KILLED = "engine killed while it ran something"
    ENGINE_RESTARTED = "engine stopped and started"
    ENGINE_CUT = "sockets between worker and engine cut"
    CONTROL_CUT = "sockets between worker and control plane cut"
    CONTROL_AWAY = "control plane out of a worker's reach for longer than a lease lives"
    DOOR_CUT = "sockets of users and files cut"
    REPLICA_KILLED = "replica killed"


# Of all blows, so many are of this kind; and of each there is at least one.
SHARES = {
    Kind.WORKER_KILLED: 20,
    Kind.WORKER_DRAINED: 16,
    Kind.ENGINE_KILLED: 14,
    Kind.ENGINE_RESTARTED: 10,
    Kind.ENGINE_CUT: 12,
    Kind.CONTROL_CUT: 14,
    Kind.CONTROL_AWAY: 3,
    Kind.DOOR_CUT: 5,
    Kind.REPLICA_KILLED: 6,
}
# Not before there is something to hurt, nor when nothing is left of it.
EARLIEST, LATEST = 0.05, 0.93


@dataclass(frozen=True, slots=True)
class Blow:
    at_s: float
    kind: Kind
    target: float  # from 0 to 1: which of those there are
    length: float  # from 0 to 1: how long it hurts


def plan_blows(seed: str, count: int, *, lasts_s: float) -> list[Blow]:
    chance = random.Random(f"{seed}/blows")
    blows = [
        Blow(chance.uniform(EARLIEST, LATEST) * lasts_s, kind, chance.random(), chance.random())
        for kind in _kinds(count, chance)
    ]
    return sorted(blows, key=lambda blow: blow.at_s)


def _kinds(count: int, chance: random.Random) -> Iterator[Kind]:
    yield from list(Kind)[:count]
    yield from chance.choices(list(SHARES), weights=list(SHARES.values()), k=max(0, count - len(Kind)))
