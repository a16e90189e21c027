"""One table of moves per entity. Python, the SQL guard, the diagram and the test read the same lines."""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Generic, TypeVar

from comfyfleet.kernel.errors import IllegalMove

S = TypeVar("S", bound=StrEnum)
E = TypeVar("E", bound=StrEnum)


class Lifecycle(Generic[S, E]):
    """What may happen to a noun, and what becomes of it."""

    def __init__(self, noun: str, *, initial: S, moves: Mapping[tuple[S, E], S]) -> None:
        self.noun = noun
        self.initial = initial
        self.moves = dict(moves)
        self.states = type(initial)
        self._targets: dict[E, S] = {}
        for (_, event), target in self.moves.items():
            # If the target depends, it is two events, and choosing between them is a pure function.
            if self._targets.setdefault(event, target) != target:
                raise ValueError(f"{noun}: {event!r} leads to both {self._targets[event]!r} and {target!r}")

    def next(self, state: S, event: E) -> S:
        try:
            return self.moves[state, event]
        except KeyError:
            raise IllegalMove(self.noun, state=state, event=event) from None

    def sources(self, event: E) -> list[S]:
        """The states an UPDATE for this event must find: its WHERE."""
        return [state for state, name in self.moves if name == event]

    def target(self, event: E) -> S:
        """The state an UPDATE for this event writes: its SET."""
        return self._targets[event]

    @property
    def events(self) -> list[E]:
        return list(self._targets)

    @cached_property
    def terminal(self) -> list[S]:
        return [state for state in self.states if not any(source == state for source, _ in self.moves)]

    def mermaid(self) -> str:
        lines = ["stateDiagram-v2", f"    [*] --> {self.initial}"]
        lines += [f"    {source} --> {target}: {event}" for (source, event), target in self.moves.items()]
        lines += [f"    {state} --> [*]" for state in self.terminal]
        return "\n".join(lines)
