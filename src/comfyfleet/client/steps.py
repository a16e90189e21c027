"""A flow says what is to be done next; whoever performs it hands back what came of it. No flow touches a socket.

So everything that is decided (what to send, whether to try again, when to go over to polling) is written once, and
performed by two short programs: one that blocks, and one that awaits.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar

from comfyfleet.client.events import Event
from comfyfleet.client.source import Piece

MIB = 1024**2
T = TypeVar("T")

CALL_S = 30.0
ANSWER_BYTES_MAX = 16 * MIB


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `url` is a path of the API, or a signed URL, which is its own permission: no key goes with it.

    `idle_s`: how long nothing may come. Everything that is sent can be sent again: that is what the keys are for.
    """

    method: str
    url: str = field(repr=False)
    params: Mapping[str, str | int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Piece | None = field(default=None, repr=False)
    is_signed: bool = False
    idle_s: float = CALL_S


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    host: str


@dataclass(frozen=True, slots=True)
class Broken:
    """No answer, or half of one."""

    host: str
    problem: str
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Send:
    """→ Answer | Broken"""

    call: Call


@dataclass(frozen=True, slots=True)
class Open:
    """→ Answer | Broken. With a status below 300 its body is empty, and comes by `Read`. One is open at a time."""

    call: Call


@dataclass(frozen=True, slots=True)
class Read:
    """→ bytes | None (the end) | Broken"""


@dataclass(frozen=True, slots=True)
class Close:
    """→ None"""


@dataclass(frozen=True, slots=True)
class Pause:
    """→ None"""

    seconds: float


@dataclass(frozen=True, slots=True)
class Work:
    """Something that blocks for a moment, such as a write to a disk → what it returns, or raises."""

    work: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Tell:
    """Somebody may want to know → None"""

    event: Event


Step: TypeAlias = Send | Open | Read | Close | Pause | Work | Tell
Flow: TypeAlias = Generator[Step, Any, T]


class Play(Generic[T]):
    """A flow under way."""

    def __init__(self, flow: Flow[T]) -> None:
        self._flow = flow
        self._ended: tuple[T] | None = None
        self.step: Step | None = None
        self._go(lambda: next(flow))

    @property
    def result(self) -> T:
        if self._ended is None:
            raise RuntimeError("it has not ended")
        return self._ended[0]

    def take(self, outcome: Any) -> None:
        self._go(lambda: self._flow.send(outcome))

    def fail(self, error: BaseException) -> None:
        self._go(lambda: self._flow.throw(error))

    def close(self) -> None:
        self._flow.close()

    def _go(self, advance: Callable[[], Step]) -> None:
        try:
            self.step = advance()
        except StopIteration as end:
            self.step, self._ended = None, (end.value,)
