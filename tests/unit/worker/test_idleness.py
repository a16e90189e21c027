"""A worker that takes no work says why: soon, again, and when it is over."""

import structlog

from comfyfleet.worker.idleness import TOLD_AFTER_S, TOLD_AGAIN_S, Idleness
from comfyfleet.worker.status_port import judge
from comfyfleet.worker.telemetry import Phase, Telemetry
from tests.conftest import ManualClock


def test_it_is_said_after_a_moment_again_after_a_minute_and_at_the_end() -> None:
    clock, telemetry = ManualClock(), Telemetry()
    idleness = Idleness(telemetry, clock.read)
    with structlog.testing.capture_logs() as said:
        idleness.look("no server is ready")
        clock.advance(TOLD_AFTER_S - 1)
        idleness.look("no server is ready")
        assert said == []
        clock.advance(1)
        for _ in range(int(TOLD_AGAIN_S) + 1):
            idleness.look("no server is ready")
            clock.advance(1)
        assert telemetry.seen().takes_no_work == "no server is ready"
        idleness.look(None)
        idleness.look(None)
    assert [each["event"] for each in said] == ["worker.takes_no_work"] * 2 + ["worker.takes_work_again"]
    assert [each.get("for_s", each.get("after_s")) for each in said] == [10, 70, 71]
    assert telemetry.seen().takes_no_work is None


def test_a_short_pause_is_nobodys_business() -> None:
    clock = ManualClock()
    idleness = Idleness(Telemetry(), clock.read)
    with structlog.testing.capture_logs() as said:
        for reason in ("a", None, "b", None):
            idleness.look(reason)
            clock.advance(TOLD_AFTER_S - 1)
    assert said == []


def test_the_status_port_tells_it_although_the_worker_is_well() -> None:
    telemetry = Telemetry()
    telemetry.phase_is(Phase.POLLING)
    telemetry.server_is("comfy", ready=True)
    telemetry.takes_no_work("an operator drained it")
    status, body = judge(telemetry.seen())
    assert (status, body["problem"], body["takes_no_work"]) == (200, None, "an operator drained it")
