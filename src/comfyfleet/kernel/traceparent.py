"""W3C trace context: which trace a job belongs to, and which span is the parent of what follows. Pure.

It travels as text, `00-<trace id>-<span id>-<flags>`: in the header `traceparent`, in columns, in a lease.
"""

import hashlib
import re
import secrets
from typing import Self

from msgspec import Struct

_TEXT = re.compile(r"(?P<version>[0-9a-f]{2})-(?P<trace>[0-9a-f]{32})-(?P<span>[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})")
_SAMPLED = 1
TRACEPARENT_CHARS = 55


class TraceContext(Struct, frozen=True):
    """`is_sampled`: spans of this trace are recorded. Where it is false, no process records any."""

    trace_id: str
    span_id: str
    is_sampled: bool = True

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """None for anything that is no traceparent: a stranger's header must not fail a request."""
        if text is None:
            return None
        # Later versions may append fields; the first four keep their meaning.
        found = _TEXT.fullmatch(text) or (_TEXT.match(text) if text[TRACEPARENT_CHARS:].startswith("-") else None)
        if found is None or found["version"] == "ff" or (found["version"] == "00" and len(text) > TRACEPARENT_CHARS):
            return None
        if not int(found["trace"], 16) or not int(found["span"], 16):
            return None
        return cls(found["trace"], found["span"], bool(int(found["flags"], 16) & _SAMPLED))

    @classmethod
    def new(cls, parent: Self | None, *, is_sampled: bool) -> Self:
        return cls(parent.trace_id if parent else _random_id(16), _random_id(8), is_sampled)

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{int(self.is_sampled):02x}"

    def child(self) -> "TraceContext":
        return TraceContext(self.trace_id, _random_id(8), self.is_sampled)

    def named_child(self, *names: object) -> "TraceContext":
        """The same names give the same span: processes that never speak to each other agree on its id."""
        text = ":".join([str(self), *map(str, names)])
        span_id = hashlib.sha256(text.encode()).hexdigest()[:16]
        return TraceContext(self.trace_id, span_id, self.is_sampled)


def attempt_context(traceparent: str | None, epoch: int) -> TraceContext | None:
    """The span of one attempt at a job: `traceparent` is the job's own. None where the job has no trace."""
    root = TraceContext.parse(traceparent)
    return None if root is None else root.named_child("attempt", epoch)


def trace_id_of(traceparent: str | None) -> str | None:
    """For a log line, a link or an exemplar; None where nothing is recorded."""
    found = TraceContext.parse(traceparent)
    return found.trace_id if found is not None and found.is_sampled else None


def _random_id(size: int) -> str:
    while True:
        found = secrets.token_hex(size)
        if int(found, 16):
            return found
