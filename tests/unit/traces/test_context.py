"""W3C trace context, and the spans that processes agree on without speaking to each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comfyfleet.kernel.traceparent import TraceContext, attempt_context, trace_id_of

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TEXT = f"00-{TRACE}-{SPAN}-01"


@given(
    st.integers(1, 2**128 - 1).map(lambda each: f"{each:032x}"),
    st.integers(1, 2**64 - 1).map(lambda each: f"{each:016x}"),
    st.booleans(),
)
def test_what_is_written_is_read_again(trace: str, span: str, is_sampled: bool) -> None:
    context = TraceContext(trace, span, is_sampled)
    assert TraceContext.parse(str(context)) == context


@given(st.text(max_size=80))
def test_a_strangers_header_fails_nothing(text: str) -> None:
    assert TraceContext.parse(text) is None


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        TEXT.upper(),
        TEXT[:-1],
        TEXT + "-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f" {TEXT}",
        f"{TEXT}\n",
        f"0x-{TRACE}-{SPAN}-01",
    ],
)
def test_what_is_no_traceparent_is_left_out(text: str | None) -> None:
    assert TraceContext.parse(text) is None
    assert trace_id_of(text) is None
    assert attempt_context(text, 1) is None


def test_a_later_version_may_append_and_only_the_lowest_flag_counts() -> None:
    assert TraceContext.parse(f"01-{TRACE}-{SPAN}-01-more") == TraceContext(TRACE, SPAN, True)
    assert TraceContext.parse(f"00-{TRACE}-{SPAN}-02") == TraceContext(TRACE, SPAN, False)
    assert TraceContext.parse(f"00-{TRACE}-{SPAN}-03") == TraceContext(TRACE, SPAN, True)


def test_each_attempt_has_a_span_of_its_own_and_everybody_knows_it() -> None:
    first, again, second = (attempt_context(TEXT, epoch) for epoch in (1, 1, 2))
    assert first == again
    assert first is not None
    assert second is not None
    assert first.trace_id == second.trace_id == TRACE
    assert len({first.span_id, second.span_id, SPAN}) == 3


def test_a_trace_that_is_not_sampled_is_told_to_nobody() -> None:
    assert trace_id_of(TEXT) == TRACE
    assert trace_id_of(f"00-{TRACE}-{SPAN}-00") is None
