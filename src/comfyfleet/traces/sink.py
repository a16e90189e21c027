"""Where spans go. This one is off: it begins no trace, records nothing, and loads nothing of OpenTelemetry."""

from types import TracebackType
from typing import Self

from comfyfleet.kernel.traceparent import TraceContext
from comfyfleet.traces.span import JobSpan


class TraceSink:
    """`with` it: at the end what was recorded is sent, within a bound. No method raises or waits."""

    is_on = False

    def begin(self, traceparent: str | None = None) -> TraceContext | None:
        """A new span's ids, as a child of `traceparent` or as the root of a new trace. None: traces are off.

        Here it is decided whether the trace is sampled. Every later span follows that decision."""
        return None

    def record(self, span: JobSpan) -> None:
        """A span that is over."""

    def close(self) -> None:
        """Sends what is left."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


TRACES_OFF = TraceSink()
