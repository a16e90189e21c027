"""Which server is kept from which workflow, and until when.

A strategy is state without I/O and without a clock: the time comes in, what changed comes out. The pool tells it every
success and failure, asks it before each choice, and wakes it when something is due.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from comfyfleet.comfy.model import FailureClass
from comfyfleet.pool.failures import POLICIES

EVERY_WORKFLOW = "*"  # in the place of a structure hash: the server as a whole is put aside
COUNTED_MAX = 10_000  # pairs of one server that are remembered; the longest untouched is forgotten first


@dataclass(frozen=True, slots=True)
class Blocked:
    server: str
    structure_hash: str
    until: float
    failure_count: int
    failure: FailureClass


@dataclass(frozen=True, slots=True)
class Unblocked:
    server: str
    structure_hash: str
    reason: Literal["expired", "succeeded", "removed"]


BlockChange: TypeAlias = Blocked | Unblocked


class FailoverStrategy(Protocol):
    def skips(self, server: str, structure_hash: str, *, now: float) -> bool:
        """Whether this server is to be passed over for this workflow. Asked often: changes nothing. Here and below
        `structure_hash` has `@` and the scope behind it where the pool was given `blocks_by`."""
        ...

    def record_failure(
        self, server: str, structure_hash: str, failure: FailureClass, *, now: float
    ) -> tuple[BlockChange, ...]: ...

    def record_success(self, server: str, structure_hash: str, *, now: float) -> tuple[BlockChange, ...]: ...

    def expire(self, *, now: float) -> tuple[BlockChange, ...]:
        """Lifts what is over by now."""
        ...

    def next_expiry(self) -> float | None:
        """When `expire` is to be called next; None: nothing is blocked, nothing needs a timer."""
        ...

    def forget_server(self, server: str) -> tuple[BlockChange, ...]: ...

    def dump(self) -> dict[str, Any]:
        """What is to survive a restart, as JSON."""
        ...

    def restore(self, kept: Mapping[str, Any], *, now: float) -> None:
        """Takes back what `dump` gave. Entries that are over, or make no sense, are left out."""
        ...


@dataclass(slots=True)
class BlockState:
    failure_count: int
    blocked_until: float | None = None


class SmartFailover:
    """Failures are counted for each (server, structure hash).

    At `max_failures_before_block` the pair is put aside for `cooldown_s`. A success deletes the entry, the end of the
    cooldown does so too: the pair begins anew. Failures that are the user's or nobody's are not counted.
    """

    def __init__(self, *, cooldown_s: float = 60.0, max_failures_before_block: int = 1) -> None:
        if cooldown_s <= 0:
            raise ValueError(f"cooldown_s must be above 0, got {cooldown_s}")
        if max_failures_before_block < 1:
            raise ValueError(f"max_failures_before_block must be at least 1, got {max_failures_before_block}")
        self.cooldown_s = cooldown_s
        self.max_failures_before_block = max_failures_before_block
        self._states: dict[str, dict[str, BlockState]] = {}

    def skips(self, server: str, structure_hash: str, *, now: float) -> bool:
        states = self._states.get(server)
        if states is None:
            return False
        return _is_blocked(states.get(structure_hash), now) or _is_blocked(states.get(EVERY_WORKFLOW), now)

    def record_failure(
        self, server: str, structure_hash: str, failure: FailureClass, *, now: float
    ) -> tuple[BlockChange, ...]:
        blocks = POLICIES[failure].blocks
        if blocks == "nothing":
            return ()
        # A broken server breaks every workflow: one such failure is enough, whatever the threshold of a pair.
        key, threshold = (EVERY_WORKFLOW, 1) if blocks == "server" else (structure_hash, self.max_failures_before_block)
        over = self._expire_pair(server, key, now)
        states = self._states.setdefault(server, {})
        count = states.pop(key, BlockState(0)).failure_count + 1
        if count < threshold:
            states[key] = BlockState(count)
            _forget_oldest(states)
            return over
        until = now + self.cooldown_s
        states[key] = BlockState(count, until)
        _forget_oldest(states)
        return (*over, Blocked(server, key, until, count, failure))

    def record_success(self, server: str, structure_hash: str, *, now: float) -> tuple[BlockChange, ...]:
        # The block of a whole server stays: what succeeds during it was begun before the fault.
        over = self._expire_pair(server, structure_hash, now)
        state = self._drop(server, structure_hash)
        if state is None or state.blocked_until is None:
            return over
        return (Unblocked(server, structure_hash, "succeeded"),)

    def expire(self, *, now: float) -> tuple[BlockChange, ...]:
        over = [(server, key) for server, key, until in self._blocks() if until <= now]
        for server, key in over:
            self._drop(server, key)
        return tuple(Unblocked(server, key, "expired") for server, key in over)

    def next_expiry(self) -> float | None:
        return min((until for _, _, until in self._blocks()), default=None)

    def forget_server(self, server: str) -> tuple[BlockChange, ...]:
        states = self._states.pop(server, {})
        return tuple(Unblocked(server, key, "removed") for key, state in states.items() if state.blocked_until)

    def dump(self) -> dict[str, Any]:
        return {
            server: {
                key: {"failure_count": state.failure_count, "blocked_until": state.blocked_until}
                for key, state in states.items()
            }
            for server, states in self._states.items()
        }

    def restore(self, kept: Mapping[str, Any], *, now: float) -> None:
        for server, states in kept.items():
            for key, entry in (states if isinstance(states, Mapping) else {}).items():
                state = _read_state(entry, now=now, latest=now + self.cooldown_s)
                if state is not None:
                    self._states.setdefault(server, {})[key] = state

    def _blocks(self) -> Iterator[tuple[str, str, float]]:
        for server, states in self._states.items():
            for key, state in states.items():
                if state.blocked_until is not None:
                    yield server, key, state.blocked_until

    def _expire_pair(self, server: str, key: str, now: float) -> tuple[BlockChange, ...]:
        state = self._states.get(server, {}).get(key)
        if state is None or state.blocked_until is None or state.blocked_until > now:
            return ()
        self._drop(server, key)
        return (Unblocked(server, key, "expired"),)

    def _drop(self, server: str, key: str) -> BlockState | None:
        states = self._states.get(server, {})
        state = states.pop(key, None)
        if not states:
            self._states.pop(server, None)
        return state


def _is_blocked(state: BlockState | None, now: float) -> bool:
    return state is not None and state.blocked_until is not None and state.blocked_until > now


def _forget_oldest(states: dict[str, BlockState]) -> None:
    while len(states) > COUNTED_MAX:
        del states[next(iter(states))]


def _read_state(entry: Any, *, now: float, latest: float) -> BlockState | None:
    if not isinstance(entry, Mapping):
        return None
    count, until = entry.get("failure_count"), entry.get("blocked_until")
    if not isinstance(count, int) or count < 1:
        return None
    if until is None:
        return BlockState(count)
    if not isinstance(until, int | float) or until <= now:
        return None
    # A clock that was put back between two runs must not make a block longer than the cooldown.
    return BlockState(count, min(float(until), latest))
