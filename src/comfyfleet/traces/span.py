"""One span of a job's trace, as a value: everything is known when it is recorded."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from comfyfleet.kernel.traceparent import TraceContext

# Those that are None are left out.
Attributes: TypeAlias = Mapping[str, str | int | float | bool | None]
ERROR_CHARS_MAX = 300


class SpanRole(StrEnum):
    """OpenTelemetry's span kinds, those that we use."""

    INTERNAL = "internal"
    SERVER = "server"
    CLIENT = "client"
    PRODUCER = "producer"
    CONSUMER = "consumer"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpan:
    """`began_s`, `ended_s`: seconds since 1970. `error_type`: the failure class; with it the span counts as an error,
    and `error` says more, in words that a user may read."""

    name: str
    context: TraceContext
    parent_id: str | None
    began_s: float
    ended_s: float = field(default_factory=time.time)
    role: SpanRole = SpanRole.INTERNAL
    error_type: str | None = None
    error: str | None = None
    attributes: Attributes = field(default_factory=dict)
