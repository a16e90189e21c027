"""What the bench says, and how its simulated workers read replies."""

import asyncio
import json
from typing import cast

from bench.dispatch.scale import QUICK
from bench.dispatch.targets import TARGETS
from bench.dispatch.wire import Line, RefusedCall, job_of
from bench.report import Report


class Wire(asyncio.WriteTransport):
    """Takes what is written and keeps it."""

    def write(self, data: object) -> None:
        pass

    def is_closing(self) -> bool:
        return False


def a_reply(body: bytes, status: int = 200) -> bytes:
    return f"HTTP/1.1 {status} OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def test_the_json_names_every_figure_measured_or_not() -> None:
    report = Report("dispatch", QUICK.name, TARGETS)
    report.ratio("lease_growth", 3.0, 2.0)
    said = json.loads(report.as_json())
    assert set(TARGETS) <= set(said)
    assert (said["lease_growth"], said["targets"]["lease_growth"]["met"]) == (1.5, False)
    assert (said["engine_vs_raw"], said["targets"]["engine_vs_raw"]["met"]) == (None, None)


def test_a_target_is_met_on_its_own_side() -> None:
    assert TARGETS["engine_vs_raw"].met(5.1)
    assert not TARGETS["engine_vs_raw"].met(4.9)
    assert TARGETS["lease_growth"].met(1.25)
    assert not TARGETS["lease_growth"].met(1.26)


async def test_replies_are_told_apart_however_they_arrive() -> None:
    line = Line()
    line.connection_made(cast(asyncio.BaseTransport, Wire()))
    first, second, third = (line.call(b"") for _ in range(3))
    text = a_reply(b'{"job":{"dispatch_id":"d1","lease_token":"1.t"}}') + a_reply(b'{"job": null}') + a_reply(b"", 409)
    for at in range(len(text)):
        line.data_received(text[at : at + 1])
    assert job_of(await first) == (b"d1", b"1.t")
    assert job_of(await second) is None
    assert isinstance(third.exception(), RefusedCall)
